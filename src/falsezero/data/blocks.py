"""Blocks of rows: the form in which models see a table.

A block knows its rows and can show them as dense codes (for passes over every cell) or as CSR
(for passes over the ones). Nothing after this file asks whether the input was sparse or had NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from falsezero.data.arrays import as_dense
from falsezero.data.row_files import RowFiles
from falsezero.kernels.codes import UNOBSERVED

__all__ = ["UNOBSERVED", "Block", "Blocks"]

_TILE_CELLS = 131072
"""Cells in a dense tile: its few work arrays of doubles stay in a core's second-level cache."""

_CHUNK_ROWS = 128
"""Passes sum over so many rows in single precision; blocks are made of whole chunks, so that how a
table is cut does not change the sums."""

_SPARSE_BLOCKS, _BLOCK_ENTRIES = 4, 2_000_000
"""Blocks in a sparse table: few, because each brings its own sums over all columns, and more where
it has many entries, so that many workers can share them."""


@dataclass(frozen=True)
class Block:
    """Some consecutive rows of a table, with unobserved cells kept apart from the values.

    ``values`` holds what is stored and observed (ones, counts), ``missing`` the pattern of cells
    not observed (None when every cell was).
    """

    start: int
    values: sparse.csr_array | np.ndarray
    missing: sparse.csr_array | np.ndarray | None = field(default=None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only what cannot be recomputed; dense zeros and ones as bytes."""
        values: Any = self.values
        if not sparse.issparse(values) and np.isin(values, (0, 1)).all():
            return _from_bytes, (self.start, values.astype(np.uint8), self.missing, values.dtype)
        return Block, (self.start, values, self.missing)

    @cached_property
    def derived(self) -> dict[str, Any]:
        """Quantities that a model computed from the rows; kept with them but never sent."""
        return {}

    def __sizeof__(self) -> int:
        """Bytes of the rows, for schedulers that keep blocks."""
        parts = [part for part in (self.values, self.missing) if part is not None]
        dense = [part.nbytes for part in parts if isinstance(part, np.ndarray)]
        rest = [part for part in parts if not isinstance(part, np.ndarray)]
        return sum(dense) + sum(
            int(p.data.nbytes + p.indices.nbytes + p.indptr.nbytes) for p in rest
        )

    @property
    def arrays(self) -> list[np.ndarray]:
        """All that the block holds, as plain arrays."""
        parts: list[Any] = [part for part in (self.values, self.missing) if part is not None]
        return [
            array
            for part in parts
            for array in (
                (part.indptr, part.indices, part.data) if sparse.issparse(part) else (part,)
            )
        ]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the block."""
        return self.values.shape

    @property
    def rows(self) -> slice:
        """Where the block's rows lie in the table."""
        return slice(self.start, self.start + self.values.shape[0])

    @cached_property
    def observed(self) -> np.ndarray:
        """How many cells of each row are observed."""
        n_rows, n_columns = self.shape
        if self.missing is None:
            return np.full(n_rows, float(n_columns))
        return n_columns - np.asarray(self.missing.sum(axis=1), dtype=float).ravel()

    @cached_property
    def _dense_codes(self) -> np.ndarray:
        codes = np.ascontiguousarray(self.values, dtype=np.uint8)
        if self.missing is not None:
            codes[self.missing] = UNOBSERVED
        return codes

    @property
    def codes(self) -> np.ndarray:
        """0, 1 or `UNOBSERVED`, dense; kept for dense input, recomputed for sparse."""
        if isinstance(self.values, np.ndarray):
            return self._dense_codes
        codes = np.zeros(self.shape, dtype=np.uint8)
        missing = self.missing_csr
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.values.indptr))
        codes[rows, self.values.indices] = self.values.data
        if missing is not None:
            rows = np.repeat(np.arange(self.shape[0]), np.diff(missing.indptr))
            codes[rows, missing.indices] = UNOBSERVED
        return codes

    def tiles(self) -> Iterator[Block]:
        """The block in pieces small enough to be made dense in a core's cache."""
        size = _tile_rows(self.shape[1])
        if self.shape[0] <= size:
            yield self
            return
        for i in range(0, self.shape[0], size):
            missing = None if self.missing is None else self.missing[i : i + size]
            yield Block(self.start + i, self.values[i : i + size], missing)

    @cached_property
    def csr(self) -> sparse.csr_array:
        """Observed non-zero values as CSR."""
        if isinstance(self.values, np.ndarray):
            return sparse.csr_array(self.values)
        return self.values

    @property
    def with_missing(self) -> sparse.csr_array:
        """All that is stored as one CSR array, NaN in cells not observed."""
        if self.missing_csr is None:
            return self.csr
        holes = sparse.csr_array(self.missing_csr, dtype=self.csr.dtype)
        holes.data[:] = np.nan
        return sparse.csr_array(self.csr + holes)

    @cached_property
    def csc(self) -> sparse.csc_array:
        """Observed non-zero values column by column."""
        return self.csr.tocsc()

    @cached_property
    def missing_csr(self) -> sparse.csr_array | None:
        """Cells not observed as a CSR pattern, or None."""
        if self.missing is None or not isinstance(self.missing, np.ndarray):
            return self.missing
        return sparse.csr_array(self.missing)


class Blocks(Sequence[Block]):
    """A table cut into row blocks whose size depends on its shape alone.

    Sums over blocks are taken in block order, so the answer does not depend on how many threads
    work on them.

    >>> import numpy as np
    >>> blocks = Blocks.cut(np.eye(5), block_rows=2)
    >>> [block.rows for block in blocks]
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """

    row_files: RowFiles | None = None
    """Where row quantities are kept; None means in memory."""

    in_files = False
    """Whether blocks are read from files each time they are used."""

    def __init__(self, blocks: list[Block], dtype: np.dtype):
        self._blocks = blocks
        self.dtype = dtype
        self.shape = (sum(b.shape[0] for b in blocks), blocks[0].shape[1])

    @classmethod
    def cut(cls, values: np.ndarray | sparse.csr_array, block_rows: int | None = None) -> Blocks:
        """Cut a checked table (float, NaN for "not observed") into blocks."""
        n_rows, n_columns = values.shape
        size = _tile_rows(n_columns)
        split = _split_dense
        if sparse.issparse(values):
            entries = len(values.data)
            number = max(_SPARSE_BLOCKS, entries // _BLOCK_ENTRIES)
            size *= max(1, -(-n_rows // (number * size)))
            split = _split_sparse
        size = block_rows or size
        blocks = [
            Block(start, *split(_rows_of(values, start, start + size)))
            for start in range(0, n_rows, size)
        ]
        return cls(blocks, values.dtype)

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, index: Any) -> Any:
        return self._blocks[index]

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks)

    def dense_rows(self, rows: np.ndarray) -> np.ndarray:
        """Some rows of the table as floats, NaN where a cell was not observed."""
        result = np.empty((len(rows), self.shape[1]))
        for block in self:
            inside = (rows >= block.rows.start) & (rows < block.rows.stop)
            some = rows[inside] - block.start
            if len(some):
                result[inside] = self._dense(block, some)
        return result

    @staticmethod
    def _dense(block: Any, some: np.ndarray) -> np.ndarray:
        """Some rows of a block as floats, NaN where a cell was not observed."""
        values = as_dense(block.values[some])
        if block.missing is None:
            return values
        return np.where(as_dense(block.missing[some]), np.nan, values)

    @cached_property
    def column_counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Sum of the values and number of observed cells, per column."""
        total = np.zeros(self.shape[1])
        observed = np.full(self.shape[1], float(self.shape[0]))
        for block in self:
            total += np.asarray(block.values.sum(axis=0), dtype=float).ravel()
            if block.missing is not None:
                observed -= np.asarray(block.missing.sum(axis=0), dtype=float).ravel()
        return total, observed

    @property
    def n_observed(self) -> int:
        """Number of observed cells."""
        return int(self.column_counts[1].sum())

    @property
    def nnz(self) -> int:
        """Number of observed cells that are not zero."""
        return sum(
            int(np.count_nonzero(b.values)) if isinstance(b.values, np.ndarray) else b.values.nnz
            for b in self
        )


def _from_bytes(start: int, values: np.ndarray, missing: Any, dtype: np.dtype) -> Block:
    return Block(start, values.astype(dtype), missing)


def _rows_of(values: Any, start: int, stop: int) -> Any:
    """Some consecutive rows, in the memory of the whole table."""
    if not sparse.issparse(values):
        return values[start:stop]
    pointer = values.indptr[start : stop + 1]
    inside = slice(pointer[0], pointer[-1])
    parts = values.data[inside], values.indices[inside], pointer - pointer[0]
    shape = (len(pointer) - 1, values.shape[1])
    return sparse.csr_array(parts, shape=shape, copy=False)


def _tile_rows(n_columns: int) -> int:
    """A multiple of the rows that a pass takes at a time, whatever the cut."""
    return max(1, min(32, _TILE_CELLS // max(n_columns, 1) // _CHUNK_ROWS)) * _CHUNK_ROWS


def _split_dense(values: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    missing = np.isnan(values)
    if not missing.any():
        return values, None
    return np.where(missing, 0, values).astype(values.dtype), missing


def _split_sparse(values: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array | None]:
    missing = np.isnan(values.data)
    if not missing.any():
        return values, None
    rows = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))

    def pick(which: np.ndarray, data: np.ndarray) -> sparse.csr_array:
        return sparse.csr_array((data, (rows[which], values.indices[which])), shape=values.shape)

    return pick(~missing, values.data[~missing]), pick(missing, np.ones(missing.sum(), bool))
