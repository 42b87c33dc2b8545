"""A table in files as an average and its audit see it: counts in memory, rows read when needed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from scipy import sparse

from falsezero.backends import map_shards, workers
from falsezero.backends.local import Join
from falsezero.data.blocks import Block
from falsezero.data.errors import DataError
from falsezero.data.labels import find_label, pick
from falsezero.data.shard_files import LongNames, labels_in
from falsezero.data.shards import FileBlocks, Shards
from falsezero.data.table import Table
from falsezero.data.values import is_unfit
from falsezero.models.baselines.margins import Margins

__all__ = ["TableInFiles", "stored_rows"]


class _Counts(NamedTuple):
    """What is known of all rows together."""

    ones: np.ndarray
    """By column."""
    missing: np.ndarray
    totals: np.ndarray
    """Different numbers of ones that a row has, in order."""
    rows: np.ndarray
    """How many rows have each."""


class TableInFiles:
    """`Shards` of zeros and ones with what an audit asks of a `Table`.

    It is read once, where files are worked on, for its counts. ``values[rows]`` reads the files
    that hold some rows; rows are labelled by the labels of long lists, otherwise by position.

    Parameters
    ----------
    shards : Shards
    """

    name = None

    def __init__(self, shards: Shards):
        self.shards = shards.viewed(change=_as_sparse, dtype=np.dtype(np.float32))
        self.shape = shards.shape
        (counts,) = self.map_files(_count, join=_add_counts)
        self.column_ones = counts.ones
        self.column_missing = counts.missing
        self.totals, self.rows_by_total = counts.totals, counts.rows
        self.n_ones, self.n_missing = int(counts.ones.sum()), int(counts.missing.sum())
        self.nnz = self.n_ones + self.n_missing
        observed = shards.shape[0] - counts.missing
        sums = (counts.ones, observed, self.n_ones)
        self.shards = self.shards.viewed(sums=sums)
        self._folder = None if shards.weights is None else f"{shards.weights}/audit-{_new_name()}"
        self._n_fitted = 0

    # -- as a table -----------------------------------------------------------------------------

    @property
    def values(self) -> TableInFiles:
        """What gives rows by position, as the values of a `Table` do."""
        return self

    @property
    def blocks(self) -> FileBlocks:
        """One block of rows for each file."""
        return self.shards.blocks(_checked)

    def __getitem__(self, rows: np.ndarray) -> sparse.csr_array:
        """Some rows by position, from the files that hold them."""
        (values,) = self.take(rows)
        return values

    def take(self, rows: np.ndarray, task: Any = None, *columns: Sequence[Any]) -> list[Any]:
        """What `task` returns for some rows, one below the other: a list of arrays.

        `task` takes a block, positions in it and what `columns` have for its file.
        """
        rows = np.asarray(rows)
        distinct, back = np.unique(rows, return_inverse=True)
        starts = np.asarray(self.shards.starts)
        file = np.searchsorted(starts, distinct, side="right") - 1
        which = np.unique(file).tolist() or [0]
        at = [distinct[file == i] - starts[i] for i in which]
        some = [[column[i] for i in which] for column in columns]
        blocks = self.blocks.some(which)
        with workers(None, len(blocks)) as run:
            parts = map_shards(run, task or _rows_of, blocks, at, *some)
        return [_stacked(part)[back] for part in zip(*parts, strict=True)]

    @cached_property
    def columns(self) -> np.ndarray:
        """Labels of the columns."""
        known = self.shards.columns
        return np.arange(self.shape[1]) if known is None else np.array(known)

    @property
    def rows(self) -> np.ndarray:
        """Labels of all rows."""
        if self.shards.long is None:
            return np.arange(self.shape[0])
        return self._long_rows(self.shards.long)

    def _long_rows(self, long: LongNames) -> np.ndarray:
        return np.concatenate([np.array(labels_in(f, long.row)) for f in self.shards.files])

    @cached_property
    def _row_lookup(self) -> Any:
        if self.shards.long is None:
            return range(self.shape[0])
        return {label: i for i, label in enumerate(self.rows.tolist())}

    @cached_property
    def _column_lookup(self) -> dict[Any, int]:
        return {label: i for i, label in enumerate(self.columns.tolist())}

    def row(self, label: Any) -> int:
        """Position of the row with this label."""
        return find_label(label, self._row_lookup, "row")

    def column(self, label: Any) -> int:
        """Position of the column with this label."""
        return find_label(label, self._column_lookup, "column")

    def select(self, rows: Any) -> Table:
        """Some rows (labels, positions, a slice or a mask) in memory."""
        at = pick(rows, self.rows, self._row_lookup, "row")
        return Table(self[at], self.rows[at], self.columns)

    # -- work on all files ----------------------------------------------------------------------

    def map_files(self, task: Any, *columns: Sequence[Any], join: Join | None = None) -> list[Any]:
        """What `task` returns for the block of each file, worked out where it is read."""
        blocks = self.blocks
        with workers(None, len(blocks)) as run:
            return map_shards(run, task, blocks, *columns, join=join)

    def fitted(self, estimator: Any) -> Any:
        """A member of an average, fitted to all files."""
        if isinstance(estimator, Margins):
            return estimator.fit_margins(self.column_ones, self.totals, self.rows_by_total)
        self._n_fitted += 1
        folder = None if self._folder is None else f"{self._folder}/{self._n_fitted}"
        return estimator.fit(self.shards.viewed(weights=folder))


def stored_rows(estimator: Any, starts: Sequence[int]) -> list[Any]:
    """The row weights of a fit for each file: a name where they stayed in files, else an array."""
    if hasattr(estimator, "weight_files_"):
        return list(estimator.weight_files_)
    weights = estimator.row_weights_
    return [weights[a:b] for a, b in itertools.pairwise(starts)]


def _new_name() -> str:
    return uuid4().hex[:12]


def _checked(values: Any) -> Any:
    """The values of a file, where they are zeros and ones."""
    data = values.data if sparse.issparse(values) else values
    unfit = is_unfit(data, "binary")
    if unfit.any():
        raise DataError(
            f"An audit needs zeros and ones, but a file holds {data[unfit].flat[0]:g}; write it "
            "again with ones in place of other values."
        )
    return values


def _as_sparse(values: Any, start: int) -> sparse.csr_array:
    return sparse.csr_array(values)


def _rows_of(block: Block, at: np.ndarray) -> tuple[sparse.csr_array]:
    return (block.with_missing[at],)


def _stacked(parts: Sequence[Any]) -> Any:
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)


def _count(block: Block) -> _Counts:
    ones = np.bincount(block.csr.indices, minlength=block.shape[1])
    missing = np.zeros_like(ones)
    if block.missing_csr is not None:
        missing = np.bincount(block.missing_csr.indices, minlength=block.shape[1])
    totals, rows = np.unique(np.diff(block.csr.indptr), return_counts=True)
    return _Counts(ones.astype(float), missing.astype(float), totals.astype(float), rows)


def _add_counts(parts: list[_Counts]) -> _Counts:
    totals, at = np.unique(np.concatenate([p.totals for p in parts]), return_inverse=True)
    rows = np.bincount(at, np.concatenate([p.rows for p in parts]), len(totals)).astype(int)
    ones, missing = (np.sum([part[i] for part in parts], axis=0) for i in range(2))
    return _Counts(ones, missing, totals, rows)
