"""Column neighbours: a cell is scored by the row's entries in the most similar columns."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from falsezero.base._sklearn import Interval
from falsezero.base.scorer import CellScorer, Scoring
from falsezero.data.arrays import as_dense
from falsezero.data.blocks import Block, Blocks
from falsezero.models.baselines.pairs import count_pairs, divided

__all__ = ["ColumnNeighbours"]


class ColumnNeighbours(CellScorer):
    """Nearest columns by cosine similarity, known as item-kNN among recommenders.

    The score of cell (n, t) is the sum of sim(s, t) x_ns over the `n_neighbors` columns s most
    similar to t, with sim the cosine over rows in which both columns were observed
    (Deshpande and Karypis 2004, without normalising the row).

    Needs O(T²) memory for T columns.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours of each column.
    binarize : float or None, default=None
        Values above become ones; by default the table must be 0/1.

    Attributes
    ----------
    similarities_ : array of shape (n_columns, n_columns)
        Column t holds the similarities of t's neighbours, zero elsewhere.
    link_ : ScoreLink
        From scores to probabilities.

    References
    ----------
    M. Deshpande, G. Karypis. Item-based top-N recommendation algorithms. ACM TOIS 22, 2004.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(100, 20, 2, random_state=0).table
    >>> fz.ColumnNeighbours(5).fit(table).reconstruct(table).shape
    (100, 20)
    """

    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "binarize": [Real, None],
    }

    def __init__(self, n_neighbors: int = 10, *, binarize: float | None = None):
        self.n_neighbors = n_neighbors
        self.binarize = binarize

    def _learn(self, blocks: Blocks) -> None:
        pairs = count_pairs(blocks)
        cosine = divided(pairs.together, np.sqrt(pairs.ones * pairs.ones.T))
        np.fill_diagonal(cosine, 0.0)
        self.similarities_ = _strongest(cosine, self.n_neighbors)

    def _scoring(self) -> Scoring:
        def score(block: Block) -> np.ndarray:
            return as_dense(block.values @ self.similarities_)

        return score

    def _is_whole(self) -> bool:
        return self.similarities_.shape == (self.n_features_in_, self.n_features_in_)


def _strongest(similarities: np.ndarray, count: int) -> np.ndarray:
    """Keep the largest entries of each column."""
    if count >= len(similarities):
        return similarities
    weak = np.argpartition(-similarities, count - 1, axis=0)[count:]
    np.put_along_axis(similarities, weak, 0.0, axis=0)
    return similarities
