"""The zeros with the highest expected values, found without visiting every cell."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from falsezero.kernels.best_cells import best_in_rows, ranked_columns

__all__ = ["BestCells", "best_zeros"]


class BestCells(NamedTuple):
    """Cells in descending order of their score."""

    rows: np.ndarray
    columns: np.ndarray
    scores: np.ndarray


def best_zeros(
    weights: np.ndarray,
    components: np.ndarray,
    table: sparse.csr_array,
    n: int,
    *,
    least: float = 0.0,
) -> BestCells:
    """The `n` zeros of a table with the largest expected values, weights @ components.

    The answer is exact, and the cost grows with the rows and the length of the list instead of the
    cells: columns whose components cannot reach the list are never looked at. For an average of
    models put their factors side by side, as in ``np.hstack([w1 / 2, w2 / 2])`` and
    ``np.vstack([f1, f2])``.

    Parameters
    ----------
    weights : array of shape (n_rows, k)
        Not negative.
    components : array of shape (k, n_columns)
        Not negative.
    table : csr_array of shape (n_rows, n_columns)
        Its stored entries, ones and NaN for "not observed" alike, are left out.
    n : int
        How many to list; fewer are returned where fewer qualify.
    least : float, default=0
        Leave out cells below this.

    Returns
    -------
    BestCells
        Rows, columns and scores; among equal scores the cells come in the order of the table.

    Examples
    --------
    >>> weights, components = np.eye(2), np.array([[0.9, 0.8, 0.1], [0.2, 0.3, 0.7]])
    >>> table = sparse.csr_array(np.array([[1.0, 0, 0], [0, 0, 0]]))
    >>> found = best_zeros(weights, components, table, 2)
    >>> found.rows.tolist(), found.columns.tolist(), found.scores.tolist()
    ([0, 1], [1, 2], [0.8, 0.7])
    """
    search = Search(components, n, least)
    search.visit(0, weights, table.sorted_indices() if not table.has_sorted_indices else table)
    return search.found()


class Search:
    """A list of the best cells, filled block by block.

    Parameters
    ----------
    components : array of shape (k, n_columns)
    n : int
        Length of the list.
    least : float
        Cells below are left out.
    """

    def __init__(self, components: np.ndarray, n: int, least: float = 0.0):
        self.least = float(least)
        self.columns = np.ascontiguousarray(components.T, dtype=float)
        self.order, self.ranked = ranked_columns(np.asarray(components, dtype=float))
        self.scores, self.cells = np.empty(n), np.empty(n, dtype=np.int64)
        self.size = 0

    def visit(
        self,
        start: int,
        kept: np.ndarray,
        ones: Any,
        holes: Any = None,
        noise: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """Add the zeros of some rows: all cells but those stored in `ones` and `holes`.

        With `noise` = (removed, weights) a zero scores the probability that removed components made
        it times that of a one by the weights `kept`, else by the latter alone.
        """
        if not len(self.scores):
            return
        none = np.zeros((len(kept), 0))
        removed, weights = (none, none) if noise is None else noise
        # Most promising rows first: the list then rejects most others without a look.
        rows = np.argsort(-(kept @ self.ranked[:-1, 0]), kind="stable")
        if holes is None:
            holes = sparse.csr_array(ones.shape)
        lists = [part.astype(np.int64) for part in (ones.indptr, holes.indptr)]
        self.size = best_in_rows(
            rows, start, kept, removed, weights, self.columns, self.order, self.ranked,
            lists[0], ones.indices, lists[1], holes.indices.astype(ones.indices.dtype, copy=False),
            self.least, self.scores, self.cells, self.size,
        )  # fmt: skip

    def found(self) -> BestCells:
        """The list so far, best first."""
        scores, cells = self.scores[: self.size], self.cells[: self.size]
        order = np.lexsort((cells, -scores))
        return BestCells(*np.divmod(cells[order], len(self.columns)), scores[order])
