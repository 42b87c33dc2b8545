"""A table in files, some rows in each: for tables that no memory should hold as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from os import PathLike, fspath
from typing import Any

import numpy as np
from scipy import sparse

from falsezero.data.blocks import Block, Blocks
from falsezero.data.row_files import RowFiles
from falsezero.data.shard_files import LongNames, labels_in, read_values, row_labels, shape_of
from falsezero.data.table import Table

Check = Callable[[Any], Any]
"""What makes a checked table of floats, NaN where nothing was observed, of what a file holds."""

Change = Callable[[Any, int], Any]
"""What makes another table of checked rows, given where they begin in the whole."""


class Shards:
    """A table in files, one below the other, of which few rows are ever in memory.

    Models fitted by optimisation and collapsed Gibbs sampling (`DiscretePCA`) take it wherever they
    take a table: each file becomes one block. In one process every pass reads the files anew;
    within `falsezero.on_dask` each worker reads its own files once and keeps them, so they must be
    where the workers can read them too.

    Parameters
    ----------
    files : sequence of paths or fsspec addresses
        Dense rows as ``numpy.save`` writes them (.npy), NaN for "not observed", sparse rows as
        ``scipy.sparse.save_npz`` writes them (.npz), or Parquet: a column of numbers for each
        column, or, with `row` and `column`, a long list of ones. A few times as many files as there
        are workers, each a small part of a worker's memory, are about right. An address such as
        ``s3://bucket/part-0.parquet`` is opened by fsspec.
    row, column : str, optional
        For Parquet files that list ones: the fields with the labels of their rows and columns. All
        ones of a row must be in one file.
    weights : path or fsspec address, optional
        A folder that all workers can write to. What a fit knows of the rows is kept there, in a
        file for each of `files`, and not in the process that fits, whose memory then does not grow
        with the rows. `AspectBernoulli` leaves the weights of its rows there, as .npy files named
        in ``weight_files_``; ``row_weights_`` reads them when it is asked for.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns of the whole table.
    columns : tuple or None
        Labels of the columns of long lists, in the order in which they first appear.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(200, 20, 2, random_state=0).table.to_numpy()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = [os.path.join(folder, f"{i}.npy") for i in range(2)]
    ...     for file, rows in zip(files, (table[:100], table[100:])):
    ...         np.save(file, rows)
    ...     model = fz.AspectBernoulli(n_components=2, random_state=0).fit(fz.Shards(files))
    >>> model.row_weights_.shape
    (200, 2)
    """

    def __init__(
        self,
        files: Sequence[str | PathLike[str]],
        *,
        row: str | None = None,
        column: str | None = None,
        weights: str | PathLike[str] | None = None,
    ):
        self.weights = None if weights is None else fspath(weights)
        self.change: Change | None = None
        self.dtype = np.dtype(float)
        self.sums: tuple[np.ndarray, np.ndarray, int] | None = None
        self.files = [fspath(file) for file in files]
        if not self.files:
            raise ValueError("Shards needs at least one file, but files= is empty.")
        if (row is None) != (column is None):
            raise ValueError("A long list needs both row= and column=, the names of its fields.")
        self.long = None if row is None or column is None else _long_names(self.files, row, column)
        self.columns = None if self.long is None else self.long.labels
        shapes = [shape_of(file, self.long) for file in self.files]
        widths = [columns for _, columns in shapes]
        for file, width in zip(self.files, widths, strict=True):
            if width != widths[0]:
                raise ValueError(
                    f"{file} has {width} columns, but {self.files[0]} has {widths[0]}; "
                    "all files of Shards need the same columns."
                )
        self.starts = np.concatenate([[0], np.cumsum([rows for rows, _ in shapes])]).tolist()
        self.shape = (self.starts[-1], widths[0])

    def __repr__(self) -> str:
        return f"Shards({len(self.files)} files, {self.shape[0]} x {self.shape[1]})"

    def viewed(self, **settings: Any) -> Shards:
        """The same files, read in another way.

        Parameters
        ----------
        change : callable
            Applied to the checked rows of a file and the position of the first of them.
        dtype : numpy dtype
            Precision of the rows.
        sums : tuple
            Column sums, observed cells by column and number of ones, where they are known already.
        weights : path or None
        """
        view = copy(self)
        view.__dict__.update(settings)
        return view

    def to_table(self) -> Table:
        """All rows in memory."""
        parts = [sparse.csr_array(read_values(file, self.long)) for file in self.files]
        spans = zip(self.files, self.starts[:-1], self.starts[1:], strict=True)
        labels = [row_labels(slice(a, b), file, self.long) for file, a, b in spans]
        return Table(sparse.vstack(parts), np.concatenate(labels), self.columns)

    def blocks(self, check: Check) -> FileBlocks:
        """The rows as models see them, read when they are looked at and checked each time."""
        read = partial(_read, check=check, long=self.long, change=self.change, dtype=self.dtype)
        blocks = FileBlocks(self.files, self.starts, self.shape[1], read, self.dtype)
        if self.sums is not None:
            blocks._sums = self.sums
        blocks.row_files = None if self.weights is None else RowFiles(self.weights)
        return blocks


class FileBlocks(Blocks):
    """Blocks that are read from files one at a time; where they are sent to, they are kept."""

    in_files = True

    def __init__(
        self,
        files: list[str],
        starts: list[int],
        n_columns: int,
        read: Callable[[str, int], Block],
        dtype: np.dtype,
    ):
        self.files, self.starts, self.read, self.dtype = files, starts, read, dtype
        self.shape = (starts[-1] - starts[0], n_columns)
        self._runs: dict[tuple[int, int], FileBlocks] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _read_all, (self.files, self.starts, self.read)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: Any) -> Any:
        """One block, read now; or some of them, still in their files.

        The same blocks are the same object each time: whoever has read them knows them again.
        """
        if not isinstance(index, slice):
            return self.read(self.files[index], self.starts[index])
        first, stop, _ = index.indices(len(self))
        if (first, stop) not in self._runs:
            starts = self.starts[first : stop + 1]
            run = FileBlocks(self.files[first:stop], starts, self.shape[1], self.read, self.dtype)
            self._runs[first, stop] = run
        return self._runs[first, stop]

    def some(self, which: Sequence[int]) -> FileBlocks:
        """The blocks of some files, each with the position that it has in the whole table."""
        files, starts = [self.files[i] for i in which], [self.starts[i] for i in which]
        part = FileBlocks(files, starts, self.shape[1], self.read, self.dtype)
        part.shape = (sum(self.starts[i + 1] - self.starts[i] for i in which), self.shape[1])
        return part

    def __iter__(self) -> Iterator[Block]:
        return (self.read(f, s) for f, s in zip(self.files, self.starts, strict=False))

    @cached_property
    def _sums(self) -> tuple[np.ndarray, np.ndarray, int]:
        """What is asked of all files together, from one look at each of them."""
        total, observed, ones = np.zeros(self.shape[1]), np.zeros(self.shape[1]), 0
        for block in self:
            one = Blocks([block], self.dtype)
            total += one.column_counts[0]
            observed += one.column_counts[1]
            ones += one.nnz
        return total, observed, ones

    @property
    def column_counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Sum of the values and number of observed cells, per column."""
        return self._sums[:2]

    @property
    def nnz(self) -> int:
        """Number of observed cells that are not zero."""
        return self._sums[2]

    def dense_rows(self, rows: np.ndarray) -> np.ndarray:
        """Some rows of the table, from the files that have them."""
        result = np.empty((len(rows), self.shape[1]))
        files = np.searchsorted(self.starts, rows, side="right") - 1
        for i in np.unique(files):
            block = Blocks([replace(self[int(i)], start=0)], self.dtype)
            result[files == i] = block.dense_rows(rows[files == i] - self.starts[i])
        return result


def _read_all(
    files: list[str], starts: list[int], read: Callable[[str, int], Block]
) -> list[Block]:
    return [read(file, start) for file, start in zip(files, starts, strict=False)]


def _read(
    file: str,
    start: int,
    check: Check,
    long: LongNames | None,
    change: Change | None,
    dtype: np.dtype,
) -> Block:
    values = check(read_values(file, long))
    if change is not None:
        values = change(values, start)
    (block,) = Blocks.cut(values.astype(dtype, copy=False), block_rows=values.shape[0])
    return replace(block, start=start)


def _long_names(files: list[str], row: str, column: str) -> LongNames:
    """All column labels of some long lists, after a look whether rows are whole."""
    columns: dict[Any, None] = {}
    seen: dict[Any, str] = {}
    for file in files:
        columns |= dict.fromkeys(labels_in(file, column))
        for label in labels_in(file, row):
            if label in seen:
                raise ValueError(
                    f"Row {label!r} is in {seen[label]} and in {file}; all ones of a row must be "
                    "in one file of Shards."
                )
            seen[label] = file
    return LongNames(row, column, tuple(columns))
