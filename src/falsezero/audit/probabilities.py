"""Probabilities of all cells of a table, computed by rows when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from falsezero.data.labels import pick
from falsezero.data.table import Table

__all__ = ["Probabilities"]

_KEPT_CELLS = 1 << 22
_BLOCK_CELLS = 1 << 20


class Probabilities:
    """Probabilities of all cells of a table, with its labels; a large one is never held whole.

    ``probabilities[rows]`` gives some rows (labels, positions, a slice or a mask) as a `Table`.

    >>> import numpy as np
    >>> table = Table(np.eye(2), rows=["a", "b"])
    >>> half = Probabilities(table, lambda rows: np.full((len(rows), 2), 0.5))
    >>> half["b"].to_numpy(), half.shape
    (array([[0.5, 0.5]]), (2, 2))
    """

    def __init__(
        self,
        table: Table,
        of_rows: Callable[[np.ndarray], np.ndarray],
        of_cells: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    ):
        self._labels = table
        self._of_rows = of_rows
        self._of_cells = of_cells
        self._whole: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self._labels.shape

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """A plain array for some rows by position."""
        if self._whole is None and self.shape[0] * self.shape[1] <= _KEPT_CELLS:
            parts = [self._of_rows(some) for some in _blocks(self.shape)]
            self._whole = np.concatenate(parts)
        return self._of_rows(rows) if self._whole is None else self._whole[rows]

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Probabilities of single cells, by position."""
        if self._of_cells is not None:
            return self._of_cells(rows, columns)
        distinct, at = np.unique(rows, return_inverse=True)
        found = np.empty(len(rows))
        step = max(1, _BLOCK_CELLS // self.shape[1])
        for i in range(0, len(distinct), step):
            inside = (at >= i) & (at < i + step)
            found[inside] = self.of_rows(distinct[i : i + step])[at[inside] - i, columns[inside]]
        return found

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Positions of consecutive rows, some at a time, with their probabilities."""
        for rows in _blocks(self.shape):
            yield rows, self.of_rows(rows)

    def __getitem__(self, rows: Any) -> Table:
        table = self._labels
        at = pick(rows, table.rows, table._row_lookup, "row")
        return Table(self.of_rows(at), table.rows[at], table.columns, table.name)

    def to_table(self) -> Table:
        """All of it as a `Table`."""
        return self[:]

    def to_numpy(self) -> np.ndarray:
        """All of it as an array."""
        return self.of_rows(np.arange(self.shape[0]))

    def to_pandas(self) -> Any:
        """All of it as a pandas data frame."""
        return self.to_table().to_pandas()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.to_numpy().astype(dtype or np.float64, copy=bool(copy))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"Probabilities of {rows} rows × {columns} columns; [rows] gives some as a Table"


def _blocks(shape: tuple[int, int]) -> Iterator[np.ndarray]:
    step = max(1, _BLOCK_CELLS // max(1, shape[1]))
    for start in range(0, shape[0], step):
        yield np.arange(start, min(start + step, shape[0]))
