"""A table in files, some rows in each: for tables that no memory should hold as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

import numpy as np
from scipy import sparse

from falsezero.data.blocks import Block, Blocks
from falsezero.data.table import sorted_out

Check = Callable[[Any], Any]
"""What makes a checked table of floats, NaN where nothing was observed, of what a file holds."""


class Shards:
    """A table in files, one below the other, of which few rows are ever in memory.

    All models but `DiscretePCA` and the samplers take it wherever they take a table: each file
    becomes one block. In one process every pass reads the files anew; within `falsezero.on_dask`
    each worker reads its own files once and keeps them, so they must be where the workers can read
    them too. (`NoisyOr` and `PLSA` do gather what is not zero in this process.)

    Parameters
    ----------
    files : sequence of paths
        Dense rows as ``numpy.save`` writes them (.npy), NaN for "not observed", or sparse rows as
        ``scipy.sparse.save_npz`` writes them (.npz). A few times as many files as there are
        workers, each a small part of a worker's memory, are about right.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns of the whole table.

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

    def __init__(self, files: Sequence[str | PathLike[str]]):
        self.files = [fspath(file) for file in files]
        if not self.files:
            raise ValueError("Shards needs at least one file, but files= is empty.")
        shapes = [_shape(file) for file in self.files]
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

    def blocks(self, check: Check) -> Blocks:
        """The rows as models see them, read when they are looked at and checked each time."""
        return FileBlocks(self.files, self.starts, self.shape[1], check)


class FileBlocks(Blocks):
    """Blocks that are read from files one at a time; where they are sent to, they are kept."""

    def __init__(self, files: list[str], starts: list[int], n_columns: int, check: Check):
        self.files, self.starts, self.check = files, starts, check
        self.dtype = np.dtype(float)
        self.shape = (starts[-1] - starts[0], n_columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return _read_all, (self.files, self.starts, self.check)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: Any) -> Any:
        """One block, read now; or some of them, still in their files."""
        if not isinstance(index, slice):
            return _read(self.files[index], self.starts[index], self.check)
        files = self.files[index]
        first = range(len(self))[index].start
        starts = self.starts[first : first + len(files) + 1]
        return FileBlocks(files, starts, self.shape[1], self.check)

    def __iter__(self) -> Iterator[Block]:
        return (_read(f, s, self.check) for f, s in zip(self.files, self.starts, strict=False))


def _read_all(files: list[str], starts: list[int], check: Check) -> list[Block]:
    return [_read(file, start, check) for file, start in zip(files, starts, strict=False)]


def _read(file: str, start: int, check: Check) -> Block:
    if file.endswith(".npy"):
        values = np.load(file, allow_pickle=False).astype(float, copy=False)
    else:
        values = sorted_out(sparse.csr_array(sparse.load_npz(file), dtype=float))
    (block,) = Blocks.cut(check(values), block_rows=values.shape[0])
    return replace(block, start=start)


def _shape(file: str) -> tuple[int, int]:
    """Rows and columns of what a file holds, without reading the rest."""
    found = np.load(file, mmap_mode="r", allow_pickle=False)
    if isinstance(found, np.ndarray):
        shape = found.shape
    else:
        with found:
            shape = tuple(found["shape"].tolist()) if "shape" in found else ()
    if len(shape) != 2 or 0 in shape or not file.endswith((".npy", ".npz")):
        raise ValueError(
            f"{file} holds no table; Shards needs .npy files of numpy.save with rows and columns, "
            "or .npz files of scipy.sparse.save_npz."
        )
    return shape
