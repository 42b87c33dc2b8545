"""Row neighbours: a cell is judged by the same column in the most similar rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval

from falsezero.base.scorer import CellScorer, Scoring
from falsezero.data.blocks import Block, Blocks
from falsezero.models.baselines.pairs import as_dense, divided

__all__ = ["RowNeighbours"]

_DENSE_SHARE = 0.05
"""Share of ones above which products with a dense table are faster."""


class Rows(NamedTuple):
    """The rows of a table as column numbers of their ones and of their cells not observed."""

    n_rows: int
    ones_start: np.ndarray
    ones: np.ndarray
    missing_start: np.ndarray
    missing: np.ndarray


class RowNeighbours(CellScorer):
    """Nearest rows by cosine similarity; the score of a cell is its column's mean over them.

    With w_nm the cosine of rows n and m over cells observed in both, and the sum over the
    `n_neighbors` rows m most similar to n in which column t was observed,

        score_nt = (sum_m w_nm x_mt + shrinkage * rate_t) / (sum_m w_nm + shrinkage),

    so that a row without neighbours gets the column rates. A row does not count as its own
    neighbour: of the fitted rows with the very same ones, one is left out.

    The fitted rows are kept. Scoring compares every row with all of them, O(N²) for a table of N
    rows, block by block.

    Parameters
    ----------
    n_neighbors : int, default=20
        Rows that have a say in another.
    shrinkage : float, default=1.0
        Weight of the column's rate, in rows that are the same as the one judged.
    binarize : float or None, default=None
        Values above become ones; by default the table must be 0/1.

    Attributes
    ----------
    rows_ : Rows
        The fitted rows.
    rates_ : array of shape (n_columns,)
        Share of ones among the observed cells of each column.
    link_ : Link
        From scores to probabilities.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(100, 20, 2, random_state=0).table
    >>> fz.RowNeighbours(10).fit(table).reconstruct(table).shape
    (100, 20)
    """

    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="neither")],
        "binarize": [Real, None],
    }

    def __init__(
        self, n_neighbors: int = 20, *, shrinkage: float = 1.0, binarize: float | None = None
    ):
        self.n_neighbors = n_neighbors
        self.shrinkage = shrinkage
        self.binarize = binarize

    def _learn(self, blocks: Blocks) -> None:
        ones, observed = blocks.column_counts
        self.rates_ = ones / np.maximum(observed, 1)
        nothing = [sparse.csr_array(block.shape) for block in blocks]
        missing = [
            empty if block.missing_csr is None else block.missing_csr
            for block, empty in zip(blocks, nothing, strict=True)
        ]
        known = sparse.vstack([block.csr for block in blocks], format="csr")
        hidden = sparse.vstack(missing, format="csr")
        self.rows_ = Rows(
            blocks.shape[0], known.indptr, known.indices, hidden.indptr, hidden.indices
        )

    def _scoring(self) -> Scoring:
        fitted = _Fitted(self.rows_, self.n_features_in_)
        count = min(self.n_neighbors, self.rows_.n_rows)

        def score(block: Block) -> np.ndarray:
            weights = _nearest(fitted.similarities(block), count)
            top = as_dense(weights @ fitted.ones) + self.shrinkage * self.rates_
            return top / (fitted.observed_weight(weights) + self.shrinkage)

        return score

    def _width(self, values: Any) -> int:
        rows = getattr(self, "rows_", None)
        return max(values.shape[1], 1 if rows is None else rows.n_rows)

    def _is_whole(self) -> bool:
        rows, width = self.rows_, self.n_features_in_
        parts = [(rows.ones_start, rows.ones), (rows.missing_start, rows.missing)]
        return self.rates_.shape == (width,) and all(
            start.shape == (rows.n_rows + 1,)
            and start[0] == 0
            and (np.diff(start) >= 0).all()
            and start[-1] == len(columns)
            and (len(columns) == 0 or (columns.min() >= 0 and columns.max() < width))
            for start, columns in parts
        )


class _Fitted:
    """The fitted rows, ready to be multiplied with others."""

    def __init__(self, rows: Rows, width: int):
        shape = (rows.n_rows, width)
        self.counts = np.diff(rows.ones_start).astype(float)
        self.ones = _pattern(rows.ones_start, rows.ones, shape)
        self.missing = None
        if len(rows.missing):
            self.missing = _pattern(rows.missing_start, rows.missing, shape)

    def similarities(self, block: Block) -> np.ndarray:
        """Cosines of the block's rows with the fitted ones, over cells observed in both."""
        values: Any = block.values
        together = as_dense(values @ self.ones.T)
        theirs = np.asarray(values.sum(axis=1)).reshape(-1, 1)
        alike = (together == theirs) & (together == self.counts)
        ones, others = theirs, self.counts[None, :]
        if self.missing is not None:
            ones = ones - as_dense(values @ self.missing.T)
        if block.missing is not None:
            others = others - as_dense(block.missing.astype(float) @ self.ones.T)
        cosine = divided(together, np.sqrt(ones * others))
        itself = alike.argmax(axis=1)
        at = np.arange(len(itself))
        cosine[at[alike[at, itself]], itself[alike[at, itself]]] = 0.0
        return cosine

    def observed_weight(self, weights: sparse.csr_array) -> Any:
        """Sum of the neighbours' weights, over those in which a column was observed."""
        total = np.asarray(weights.sum(axis=1)).reshape(-1, 1)
        return total if self.missing is None else total - as_dense(weights @ self.missing)


def _pattern(start: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Any:
    """Ones at the given places, dense where that multiplies faster."""
    pattern = sparse.csr_array((np.ones(len(columns)), columns, start), shape=shape)
    return pattern.toarray() if len(columns) > _DENSE_SHARE * shape[0] * shape[1] else pattern


def _nearest(similarities: np.ndarray, count: int) -> sparse.csr_array:
    """The largest similarities of each row, as a sparse array."""
    n_rows, n_others = similarities.shape
    best = np.broadcast_to(np.arange(n_others), similarities.shape)
    if count < n_others:
        best = np.argpartition(-similarities, count - 1, axis=1)[:, :count]
    weights = np.take_along_axis(similarities, best, axis=1)
    start = np.arange(n_rows + 1) * best.shape[1]
    return sparse.csr_array((weights.ravel(), best.ravel(), start), shape=(n_rows, n_others))
