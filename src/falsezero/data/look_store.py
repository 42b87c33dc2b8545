"""How repeated looks are kept: as whole arrays, or as lists where looks are many.

A camera trap of 400 nights finds a species on few of them. `ListedLooks` keeps which looks took
place and what they found, so that memory follows the finds and the looks, not their product with
the columns. Both stores answer the same questions, and no other module asks which one it has.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from falsezero.data.look_checks import smallest

__all__ = ["DenseLooks", "HeldCells", "ListedLooks", "Store"]

Pair = tuple[NDArray[Any], NDArray[Any]]


class HeldCells(NamedTuple):
    """Looks without the last one at some cells: which cells, and whether it had recorded a one."""

    store: Any
    rows: NDArray[Any]
    columns: NDArray[Any]
    hit: NDArray[np.bool_]


class DenseLooks:
    """Ones and tries of every row, look and column."""

    def __init__(self, ones: NDArray[Any], tries: NDArray[Any]):
        self.ones, self.tries = ones, tries
        n_rows, n_looks, n_columns = ones.shape
        self.shape = (n_rows, n_looks, n_columns)
        self.took_place: NDArray[np.bool_] = np.asarray(tries.any(axis=2))

    def counts(self) -> Pair:
        """Ones and tries of every cell, rows x columns."""
        return self.ones.sum(axis=1, dtype=int), self.tries.sum(axis=1, dtype=int)

    def look(self, at: int) -> Pair:
        """Ones and tries of one look, rows x columns."""
        return self.ones[:, at], self.tries[:, at]

    def gather(self, rows: slice, looks: NDArray[Any]) -> Pair:
        """Ones and tries of some rows at looks of their own (rows x looks)."""
        here = np.arange(self.shape[0])[rows, None]
        return self.ones[here, looks], self.tries[here, looks]

    def select(self, r: NDArray[Any], j: NDArray[Any], c: NDArray[Any]) -> DenseLooks:
        """Rows, looks and columns by position."""
        cells = np.ix_(r, j, c)
        ones, tries = self.ones[cells], self.tries[cells]
        kind = smallest(tries)
        return DenseLooks(ones.astype(kind), tries.astype(kind))

    def with_rows(self, n_more: int) -> DenseLooks:
        """The same looks and rows that nobody looked at."""
        none = np.zeros((n_more, *self.shape[1:]), dtype=self.ones.dtype)
        return DenseLooks(np.concatenate([self.ones, none]), np.concatenate([self.tries, none]))

    def without_last(self, chosen: NDArray[np.bool_], rng: Any) -> HeldCells:
        """Remove the last look from cells of the chosen rows that had two or more.

        Where a slot counts several looks, one of them is drawn.
        """
        tries, ones = self.tries.astype(int), self.ones.astype(int)
        rows, columns = np.nonzero((tries.sum(axis=1) >= 2) & chosen[:, None])
        took_place = tries[rows, :, columns] > 0
        slot = took_place.shape[1] - 1 - np.argmax(took_place[:, ::-1], axis=1)
        at = (rows, slot, columns)
        drawn = 0.5 * tries[at] if rng is None else rng.random(len(rows)) * tries[at]
        hit = drawn < ones[at]
        ones[at] -= hit
        tries[at] -= 1
        kind = smallest(tries)
        return HeldCells(DenseLooks(ones.astype(kind), tries.astype(kind)), rows, columns, hit)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a file keeps of them."""
        return {"ones": self.ones, "tries": self.tries}

    def listed(self) -> ListedLooks | None:
        """The same as lists; None where an entry sums up several looks."""
        if int(self.tries.max()) > 1:
            return None
        missed = np.argwhere((self.tries == 0) & self.took_place[..., None])
        return ListedLooks(np.argwhere(self.ones), self.took_place, self.shape[2], missed)


class ListedLooks:
    """The looks that took place, and a list of what they found; every look counts once.

    Parameters
    ----------
    found : int array of shape (n, 3)
        Row, look and column of each one.
    took_place : bool array of shape (n_rows, n_looks)
    n_columns : int
    missed : int array of shape (n, 3), optional
        Cells that a look did not cover; a look that covered nothing did not take place.
    """

    def __init__(
        self,
        found: NDArray[Any],
        took_place: NDArray[np.bool_],
        n_columns: int,
        missed: NDArray[Any] | None = None,
    ):
        n_rows, n_looks = took_place.shape
        self.shape = (n_rows, n_looks, n_columns)
        missed = np.zeros((0, 3), dtype=int) if missed is None else missed
        self._missed = self._matrix(missed)
        self.took_place: NDArray[np.bool_] = took_place & (
            np.diff(self._missed.indptr).reshape(n_rows, n_looks) < n_columns
        )
        if not np.array_equal(took_place, self.took_place):
            self._missed = self._matrix(missed[self.took_place[missed[:, 0], missed[:, 1]]])
        self._found = self._matrix(found)

    def _matrix(self, at: NDArray[Any]) -> Any:
        """Positions as a matrix of slots (a row at a look) x columns, each of them once."""
        n_rows, n_looks, n_columns = self.shape
        slots = at[:, 0].astype(np.int64) * n_looks + at[:, 1]
        marks = np.ones(len(at), dtype=np.uint8)
        matrix = sparse.csr_array((marks, (slots, at[:, 2])), shape=(n_rows * n_looks, n_columns))
        matrix.sum_duplicates()
        matrix.data[:] = 1
        return matrix

    def _positions(self, matrix: Any) -> NDArray[Any]:
        """Row, look and column of what a matrix marks, in order."""
        matrix = matrix.tocoo()
        rows, looks = np.divmod(matrix.row, self.shape[1])
        return np.column_stack([rows, looks, matrix.col]).astype(np.int32)

    @property
    def ones(self) -> NDArray[Any]:
        """Rows x looks x columns, made when asked for."""
        return np.asarray(self._found.toarray().reshape(self.shape))

    @property
    def tries(self) -> NDArray[Any]:
        """Rows x looks x columns, made when asked for."""
        covered = self._missed.toarray().reshape(self.shape) == 0
        return np.asarray(covered & self.took_place[..., None]).astype(np.uint8)

    def _by_cell(self, matrix: Any) -> NDArray[np.int64]:
        """How many looks of a row mark each column."""
        n_rows, n_looks, n_columns = self.shape
        matrix = matrix.tocoo()
        cell = matrix.row.astype(np.int64) // n_looks * n_columns + matrix.col
        return np.bincount(cell, minlength=n_rows * n_columns).reshape(n_rows, n_columns)

    def counts(self) -> Pair:
        """Ones and tries of every cell, rows x columns."""
        tries = self.took_place.sum(axis=1)[:, None] - self._by_cell(self._missed)
        return self._by_cell(self._found), tries

    def look(self, at: int) -> Pair:
        """Ones and tries of one look, rows x columns."""
        ones, tries = self.gather(slice(None), np.full((self.shape[0], 1), at))
        return ones[:, 0], tries[:, 0]

    def gather(self, rows: slice, looks: NDArray[Any]) -> Pair:
        """Ones and tries of some rows at looks of their own (rows x looks)."""
        here = np.arange(self.shape[0])[rows, None]
        slots, shape = (here * self.shape[1] + looks).ravel(), (*looks.shape, self.shape[2])
        ones, missed = (part[slots].toarray().reshape(shape) for part in self._parts)
        return ones, ((missed == 0) & self.took_place[here, looks][..., None]).astype(np.uint8)

    @property
    def _parts(self) -> tuple[Any, Any]:
        return self._found, self._missed

    def select(self, r: NDArray[Any], j: NDArray[Any], c: NDArray[Any]) -> ListedLooks:
        """Rows, looks and columns by position."""
        slots = (np.asarray(r)[:, None] * self.shape[1] + j).ravel()
        taken = self.took_place[np.ix_(r, j)]
        picked = []
        for part in self._parts:
            some = part[slots][:, c].tocoo()
            picked.append(np.column_stack([*np.divmod(some.row, len(j)), some.col]))
        return ListedLooks(picked[0], taken, len(c), picked[1])

    def with_rows(self, n_more: int) -> ListedLooks:
        """The same looks and rows that nobody looked at."""
        taken = np.concatenate([self.took_place, np.zeros((n_more, self.shape[1]), dtype=bool)])
        found, missed = (self._positions(part) for part in self._parts)
        return ListedLooks(found, taken, self.shape[2], missed)

    def without_last(self, chosen: NDArray[np.bool_], rng: Any) -> HeldCells:
        """Remove the last look from cells of the chosen rows that had two or more."""
        rows, columns = np.nonzero((self.counts()[1] >= 2) & chosen[:, None])
        earlier, look = self._earlier(), np.full(len(rows), self.shape[1])
        open_ = np.arange(len(rows))
        while len(open_):
            look[open_] = earlier[rows[open_], look[open_]]
            slots = rows[open_].astype(np.int64) * self.shape[1] + look[open_]
            open_ = open_[self._marked(self._missed, slots, columns[open_])]
        hit = self._marked(self._found, rows.astype(np.int64) * self.shape[1] + look, columns)
        held = np.column_stack([rows, look, columns])
        missed = np.concatenate([self._positions(self._missed), held])
        left = sparse.csr_array(self._found - self._found.multiply(self._matrix(held)))
        left.eliminate_zeros()
        store = ListedLooks(self._positions(left), self.took_place, self.shape[2], missed)
        return HeldCells(store, rows, columns, hit)

    def _earlier(self) -> NDArray[Any]:
        """The last look of a row that took place before each look, and before the end."""
        place = np.where(self.took_place, np.arange(self.shape[1]), -1)
        before = np.full((self.shape[0], self.shape[1] + 1), -1)
        before[:, 1:] = np.maximum.accumulate(place, axis=1)
        return before

    @staticmethod
    def _marked(matrix: Any, slots: NDArray[Any], columns: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether a matrix marks each of some cells."""
        if matrix.nnz == 0 or len(slots) == 0:
            return np.zeros(len(slots), dtype=bool)
        return np.asarray(matrix[slots, columns]).ravel() > 0

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a file keeps of them."""
        found, missed = (self._positions(part) for part in self._parts)
        return {"found": found, "took_place": self.took_place, "missed": missed}

    def listed(self) -> ListedLooks:
        """These lists."""
        return self


Store = DenseLooks | ListedLooks
