"""Beals smoothing: how often a species occurs together with those found at a site."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from falsezero.base._sklearn import StrOptions
from falsezero.base.capabilities import Capabilities, TableKind
from falsezero.base.scorer import CellScorer, Scoring
from falsezero.data.arrays import as_dense
from falsezero.data.blocks import Block, Blocks
from falsezero.models.baselines.pairs import divided

__all__ = ["Beals"]

_CHOICES = {"neither": "", "joint": "j", "mean": "m", "both": "jm"}


class Beals(CellScorer):
    """Beals smoothing (Beals 1984), the ecologist's probability of occurrence.

    The score of species t at site n is the mean over the species s found there of how often t is
    present where s is (McCune 1994):

        score_nt = sum_s x_ns P(t | s) / sum_s x_ns,   P(t | s) = M_st / M_ss,

    with M_st the number of sites that have both. Scores lie in [0, 1] and equal those of R's
    `vegan::beals` (types 0 to 3 in the order of `abundance` below; `include_self` is its
    `include`, whose default there is TRUE). They are an average of conditional probabilities, not
    the probability of the cell: `reconstruct` gives that. Pairs with a cell not observed are left
    out of P, and so are cells of a site that were not observed.

    Parameters
    ----------
    abundance : {"neither", "joint", "mean", "both"}, default="neither"
        Where amounts (non-negative numbers) are used instead of zeros and ones: nowhere, in
        P(t | s), in the mean over s, or in both.
    include_self : bool, default=False
        Whether a species found at a site counts in its own score. Scores of absent species do
        not depend on it.
    binarize : float or None, default=None
        Values above become ones; by default the table must be 0/1 where abundance="neither".

    Attributes
    ----------
    conditional_ : array of shape (n_columns, n_columns)
        P(t | s) in row s and column t.
    link_ : ScoreLink
        From scores to probabilities.

    References
    ----------
    E. W. Beals. Bray-Curtis ordination. Advances in Ecological Research 14, 1984.
    B. McCune. Improving community analysis with the Beals smoothing function. Ecoscience 1, 1994.
    M. De Cáceres, P. Legendre. Beals smoothing revisited. Oecologia 156, 2008.

    Examples
    --------
    >>> import falsezero as fz
    >>> model = fz.Beals(include_self=True).fit([[1, 1, 0], [1, 0, 1], [1, 1, 1]])
    >>> model.score_cells([[1, 1, 0]]).round(3)
    array([[1.   , 0.833, 0.583]])
    """

    _parameter_constraints = {
        "abundance": [StrOptions(set(_CHOICES))],
        "include_self": ["boolean"],
        "binarize": [Real, None],
    }

    def __init__(
        self,
        abundance: str = "neither",
        *,
        include_self: bool = False,
        binarize: float | None = None,
    ):
        self.abundance = abundance
        self.include_self = include_self
        self.binarize = binarize

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        """What the model can do; it takes amounts unless they would be ignored."""
        is_binary = self.abundance == "neither" or self.binarize is not None
        table: TableKind = "binary" if is_binary else "weight"
        return Capabilities(table, link=None, row_score=None, sparse=True)

    def _learn(self, blocks: Blocks) -> None:
        n_columns = blocks.shape[1]
        together = np.zeros((n_columns, n_columns))
        amounts = np.zeros((n_columns, 1))
        hidden = np.zeros_like(together)
        for block in blocks:
            found = _presence(block.values)
            amount = block.values if "j" in _CHOICES[self.abundance] else found
            together += as_dense(amount.T @ found)
            amounts += np.asarray(amount.sum(axis=0)).reshape(-1, 1)
            if block.missing is not None:
                hidden += as_dense(amount.T @ block.missing.astype(float))
        self.conditional_ = divided(together, amounts - hidden)

    def _scoring(self) -> Scoring:
        conditional = self.conditional_.copy()
        if not self.include_self:
            np.fill_diagonal(conditional, 0.0)

        def score(block: Block) -> np.ndarray:
            has_amounts = "m" in _CHOICES[self.abundance]
            weights: Any = block.values if has_amounts else _presence(block.values)
            total = np.asarray(weights.sum(axis=1), dtype=float).reshape(-1, 1)
            top = as_dense(weights @ conditional)
            return divided(top, total if self.include_self else total - as_dense(weights))

        return score

    def _is_whole(self) -> bool:
        return self.conditional_.shape == (self.n_features_in_, self.n_features_in_)


def _presence(values: Any) -> Any:
    """One where something was found."""
    if not sparse.issparse(values):
        return (values > 0).astype(float)
    found = values.copy()
    found.data = (found.data > 0).astype(float)
    return found
