"""Row neighbours: a cell is scored by the same column in the most similar rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from falsezero.base._sklearn import Interval
from falsezero.base.scorer import CellScorer, Scoring
from falsezero.data.arrays import as_dense
from falsezero.data.blocks import Block, Blocks
from falsezero.models.baselines.pairs import divided

__all__ = ["RowNeighbours"]

_DENSE_SHARE = 0.05
"""Share of ones above which products with a dense table are faster."""


_AS_GOOD = 1 - 1e-12
"""Similarities this close to the last that counts are equal but for rounding."""


class RowOnes(NamedTuple):
    """The rows of a table as column numbers of their ones and of their cells not observed."""

    n_rows: int
    ones_start: np.ndarray
    ones: np.ndarray
    missing_start: np.ndarray
    missing: np.ndarray


class RowNeighbours(CellScorer):
    """Nearest rows by cosine similarity; the score of a cell is its column's mean over them.

    With w_nm the cosine of rows n and m over cells observed in both, and the sum over the
    `n_neighbors` rows m most similar to n (and all that are as similar as the last of them) in
    which column t was observed,

        score_nt = (sum_m w_nm x_mt + shrinkage * rate_t) / (sum_m w_nm + shrinkage),

    so that a row without neighbours gets the column rates. A row does not count as its own
    neighbour: of the fitted rows that are identical to it, one is left out.

    The fitted rows are kept. Scoring compares every row with all of them, O(N²) for a table of N
    rows, block by block.

    Parameters
    ----------
    n_neighbors : int, default=20
        Number of neighbours of each row.
    shrinkage : float, default=1.0
        Weight of the column's rate, in units of one identical row.
    binarize : float or None, default=None
        Values above become ones; by default the table must be 0/1.

    Attributes
    ----------
    rows_ : RowOnes
        The fitted rows.
    rates_ : array of shape (n_columns,)
        Share of ones among the observed cells of each column.
    link_ : ScoreLink
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
        missing = [
            sparse.csr_array(block.shape) if block.missing_csr is None else block.missing_csr
            for block in blocks
        ]
        known = sparse.vstack([block.csr for block in blocks], format="csr")
        hidden = sparse.vstack(missing, format="csr")
        self.rows_ = RowOnes(
            blocks.shape[0], known.indptr, known.indices, hidden.indptr, hidden.indices
        )

    def _scoring(self) -> Scoring:
        fitted = _Fitted(self.rows_, self.n_features_in_)
        count = min(self.n_neighbors, self.rows_.n_rows)

        def score(block: Block) -> np.ndarray:
            weights = fitted.neighbours(block, count)
            scores: np.ndarray = as_dense(weights @ fitted.ones) + self.shrinkage * self.rates_
            scores /= fitted.observed_weight(weights) + self.shrinkage
            return scores

        return score

    def _width(self, values: Any) -> int:
        rows: RowOnes | None = getattr(self, "rows_", None)
        return max(super()._width(values), 1 if rows is None else rows.n_rows)

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

    def __init__(self, rows: RowOnes, width: int):
        shape = (rows.n_rows, width)
        self.counts = np.diff(rows.ones_start).astype(float)
        self.ones = _pattern(rows.ones_start, rows.ones, shape)
        self.gaps = np.diff(rows.missing_start).astype(float)
        self.missing = None
        if len(rows.missing):
            self.missing = _pattern(rows.missing_start, rows.missing, shape)

    def neighbours(self, block: Block, count: int) -> sparse.csr_array:
        """Cosines of the block's rows with their nearest fitted ones, over cells seen in both."""
        together: Any = block.values @ self.ones.T
        totals = np.asarray(block.values.sum(axis=1), dtype=float).ravel()
        if sparse.issparse(together) and self.missing is None and block.missing is None:
            return _nearest_sparse(together, totals, self.counts, count)
        return _nearest_dense(self._cosines(block, as_dense(together), totals[:, None]), count)

    def _cosines(self, block: Block, together: np.ndarray, totals: np.ndarray) -> np.ndarray:
        alike = (together == totals) & (together == self.counts) & self._same_gaps(block)
        values: Any = block.values
        ours, theirs = totals, self.counts[None, :]
        if self.missing is not None:
            ours = ours - as_dense(values @ self.missing.T)
        if block.missing is not None:
            theirs = theirs - as_dense(block.missing.astype(float) @ self.ones.T)
        cosines = divided(together, np.sqrt(ours * theirs))
        itself = alike.argmax(axis=1)
        found = np.flatnonzero(alike.any(axis=1))
        cosines[found, itself[found]] = 0.0
        return cosines

    def _same_gaps(self, block: Block) -> np.ndarray:
        """Whether the same cells were not observed in a row of the block and in a fitted row."""
        ours = block.shape[1] - block.observed[:, None]
        shared: Any = 0.0
        if self.missing is not None and block.missing is not None:
            shared = as_dense(block.missing.astype(float) @ self.missing.T)
        same: np.ndarray = (ours == shared) & (self.gaps == shared)
        return same

    def observed_weight(self, weights: sparse.csr_array) -> Any:
        """Sum of the neighbours' weights, over those in which a column was observed."""
        total = np.asarray(weights.sum(axis=1)).reshape(-1, 1)
        return total if self.missing is None else total - as_dense(weights @ self.missing)


def _pattern(start: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Any:
    """Ones at the given places, dense where that multiplies faster."""
    pattern = sparse.csr_array((np.ones(len(columns)), columns, start), shape=shape)
    return pattern.toarray() if len(columns) > _DENSE_SHARE * shape[0] * shape[1] else pattern


def _nearest_dense(cosines: np.ndarray, count: int) -> sparse.csr_array:
    """The largest entries of each row and their equals, as a sparse array."""
    least = np.partition(cosines, -count, axis=1)[:, -count] * _AS_GOOD
    return sparse.csr_array(np.where(cosines >= least[:, None], cosines, 0.0))


def _nearest_sparse(
    together: sparse.csr_array, totals: np.ndarray, counts: np.ndarray, count: int
) -> sparse.csr_array:
    """The same from numbers of common ones, visiting only rows that have some."""
    rows = np.repeat(np.arange(len(totals)), np.diff(together.indptr))
    others, data = counts[together.indices], together.data
    cosines = data / np.sqrt(totals[rows] * others)
    alike = np.flatnonzero((data == totals[rows]) & (data == others))
    cosines[alike[np.unique(rows[alike], return_index=True)[1]]] = 0.0
    least = np.zeros(len(totals))
    for i in np.flatnonzero(np.diff(together.indptr) > count):
        part = cosines[together.indptr[i] : together.indptr[i + 1]]
        least[i] = np.partition(part, -count)[-count]
    cosines[cosines < least[rows] * _AS_GOOD] = 0.0
    nearest = sparse.csr_array((cosines, together.indices, together.indptr), shape=together.shape)
    nearest.eliminate_zeros()
    return nearest
