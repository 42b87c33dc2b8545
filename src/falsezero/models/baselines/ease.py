"""EASE: every column predicted linearly from all others, in closed form."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import linalg

from falsezero.base._sklearn import Interval
from falsezero.base.scorer import CellScorer, Scoring
from falsezero.data.arrays import as_dense
from falsezero.data.blocks import Block, Blocks

__all__ = ["EASE"]


class EASE(CellScorer):
    """Item-item ridge regression with a zero diagonal (Steck 2019), a strong recommender.

    The weights B minimise ||X - X B||² + λ ||B||² with diag(B) = 0 (eqs. 3 and 4). With
    P = (X'X + λ I)^-1 the solution is B_st = -P_st / P_tt for s != t (eq. 8), and the score of a
    cell is (X B)_nt (eq. 2): no column predicts itself. A cell not observed counts as the rate
    of its column, in the fit and in the rows that are scored.

    The inverse costs O(T³) time and some 24 T² bytes for T columns, whatever the number of rows;
    a sparse table is never made dense.

    Parameters
    ----------
    ridge : float, default=5.0
        λ = ridge * sqrt(m), with m the mean of the diagonal of X'X (the ones of a column, on
        average): counts vary by about their square root, so one setting serves tables of any size.
    binarize : float or None, default=None
        Values above become ones; by default the table must be 0/1.

    Attributes
    ----------
    weights_ : array of shape (n_columns, n_columns)
        B; column t holds the weights of the other columns in the prediction of t.
    rates_ : array of shape (n_columns,)
        Share of ones among the observed cells of each column.
    link_ : ScoreLink
        From scores to probabilities.

    References
    ----------
    H. Steck. Embarrassingly shallow autoencoders for sparse data. WWW 2019.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(100, 20, 2, random_state=0).table
    >>> fz.EASE().fit(table).reconstruct(table).shape
    (100, 20)
    """

    _parameter_constraints = {
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "binarize": [Real, None],
    }

    def __init__(self, ridge: float = 5.0, *, binarize: float | None = None):
        self.ridge = ridge
        self.binarize = binarize

    def _learn(self, blocks: Blocks) -> None:
        ones, observed = blocks.column_counts
        self.rates_ = ones / np.maximum(observed, 1)
        gram = np.zeros((len(ones), len(ones)))
        for block in blocks:
            known = _completed(block, self.rates_)
            gram += as_dense(known.T @ known)
        penalty = self.ridge * np.sqrt(max(np.diag(gram).mean(), 1.0))
        self.weights_ = ease_weights(gram, penalty)

    def _scoring(self) -> Scoring:
        return lambda block: as_dense(_completed(block, self.rates_) @ self.weights_)

    def _is_whole(self) -> bool:
        width = self.n_features_in_
        return self.weights_.shape == (width, width) and self.rates_.shape == (width,)


def ease_weights(gram: np.ndarray, penalty: float) -> np.ndarray:
    """B of eq. 8, from the Gram matrix X'X.

    >>> ease_weights(np.array([[2.0, 1], [1, 3]]), 1.0).round(3)
    array([[0.   , 0.333],
           [0.25 , 0.   ]])
    """
    gram.flat[:: len(gram) + 1] += penalty
    inverse = linalg.inv(gram, overwrite_a=True)
    weights: np.ndarray = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return weights


def _completed(block: Block, rates: np.ndarray) -> Any:
    """The block's values, with the rate of the column where a cell was not observed."""
    if block.missing is None:
        return block.values
    return block.values + block.missing * rates
