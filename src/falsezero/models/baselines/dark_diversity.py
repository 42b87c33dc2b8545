"""The hypergeometric index of dark diversity: species that co-occur more than by chance."""

from __future__ import annotations

from numbers import Real

import numpy as np
from scipy.special import ndtr

from falsezero.base.scorer import CellScorer, Scoring
from falsezero.data.arrays import as_dense
from falsezero.data.blocks import Block, Blocks
from falsezero.models.baselines.pairs import ColumnPairs, count_pairs, divided

__all__ = ["DarkDiversity"]


class DarkDiversity(CellScorer):
    """The hypergeometric index of dark diversity (Carmona and Pärtel 2021).

    Of N sites let N_s have species s, N_t species t, and M_st both. If species were drawn
    independently M_st would be hypergeometric with

        mean N_s N_t / N,   variance N_s N_t (N - N_s)(N - N_t) / (N² (N - 1)),

    and the indication of t by s is the normal probability of the standardised difference,
    Φ((M_st - mean) / sd), one half where the variance is zero. The score of species t at site n is
    the mean indication over the other species found there: in [0, 1], above one half where the
    species that were found indicate t. It compares a species with its own frequency, so it is not
    the probability of the cell: a rare species in the right place scores as high as a common one.
    Pairs with a cell not observed are left out.

    Parameters
    ----------
    binarize : float or None, default=None
        Values above become ones; by default the table must be 0/1.

    Attributes
    ----------
    indication_ : array of shape (n_columns, n_columns)
        Indication of species t (column) by species s (row); the diagonal is one half.
    link_ : ScoreLink
        From scores to probabilities.

    References
    ----------
    C. P. Carmona, M. Pärtel. Estimating probabilistic site-specific species pools and dark
    diversity from co-occurrence data. Global Ecology and Biogeography 30, 2021.

    Examples
    --------
    >>> import falsezero as fz
    >>> model = fz.DarkDiversity().fit([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]])
    >>> model.score_cells([[1, 0, 0]]).round(2)
    array([[0.5 , 0.84, 0.04]])
    """

    _parameter_constraints = {"binarize": [Real, None]}

    def __init__(self, *, binarize: float | None = None):
        self.binarize = binarize

    def _learn(self, blocks: Blocks) -> None:
        self.indication_ = hypergeometric_indication(count_pairs(blocks))

    def _scoring(self) -> Scoring:
        indication = self.indication_ - 0.5

        def score(block: Block) -> np.ndarray:
            total = np.asarray(block.values.sum(axis=1), dtype=float).reshape(-1, 1)
            others = total - as_dense(block.values)
            return 0.5 + divided(as_dense(block.values @ indication), others)

        return score

    def _is_whole(self) -> bool:
        return self.indication_.shape == (self.n_features_in_, self.n_features_in_)


def hypergeometric_indication(pairs: ColumnPairs) -> np.ndarray:
    """Φ of the standardised number of rows with ones in both columns."""
    both, n = pairs.observed, np.maximum(pairs.observed, 2)
    s, t = pairs.ones, pairs.ones.T
    spread = np.sqrt(s * t * (both - s) * (both - t) / (n**2 * (n - 1)))
    indication: np.ndarray = ndtr(divided(pairs.together - s * t / n, spread))
    np.fill_diagonal(indication, 0.5)
    return indication
