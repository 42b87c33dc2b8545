"""Sparse matrices of scipy and archives of NumPy arrays."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from falsezero.data.checks import Raw
from falsezero.data.errors import DataError
from falsezero.data.files import load_whole, located
from falsezero.data.formats import Format
from falsezero.data.formats.npy import read_whole
from falsezero.data.indices import check_indices
from falsezero.data.label_files import with_labels
from falsezero.data.layout import ReadOptions
from falsezero.data.limits import check_size


def read_npz(path: Path, options: ReadOptions) -> Raw:
    """Read a sparse matrix of `scipy.sparse.save_npz`, or arrays `X`, `rows` and `columns`."""
    with open_archive(path, options.max_gigabytes) as archive:
        names = list(archive.files)
        if "format" in names and "shape" in names:
            values: Any = load_whole(path, ".npz", lambda: _checked(sp.load_npz(path)))
        else:
            key = names[0] if len(names) == 1 else "X"
            if key not in names:
                listed = ", ".join(map(repr, names)) or "none"
                raise DataError(f"{path} has no array named 'X'; its arrays: {listed}.")
            values = _member(path, archive, key)
        rows, columns = (_member(path, archive, axis) for axis in ("rows", "columns"))
    raw = located(values, rows, columns, path, options.max_gigabytes)
    return with_labels(raw, options.rows, options.columns)


def open_archive(path: Path, max_gigabytes: float | None = None) -> Any:
    """An archive whose arrays together take no more memory than it may ask for."""
    declared = load_whole(path, ".npz", lambda: unpacked_bytes(path))
    check_size(path, declared, max_gigabytes)
    return load_whole(path, ".npz", lambda: _archive(path))


def unpacked_bytes(path: Path) -> int:
    """Bytes of all files in an archive."""
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def _archive(path: Path) -> Any:
    archive = np.load(path, allow_pickle=False)
    if isinstance(archive, np.ndarray):
        raise ValueError("a single array, not an archive")
    return archive


def _checked(matrix: Any) -> Any:
    return check_indices(matrix) if matrix.format in ("csr", "csc", "bsr", "coo") else matrix


def _member(path: Path, archive: Any, key: str) -> Any:
    if key not in archive.files:
        return None
    return load_whole(path, ".npz", lambda: _array(path, f"{key}.npy"))


def _array(path: Path, member: str) -> Any:
    with zipfile.ZipFile(path) as archive:
        name = member if member in archive.namelist() else member.removesuffix(".npy")
        with archive.open(name) as file:
            return read_whole(file, archive.getinfo(name).file_size)


FORMAT = Format(
    "npz",
    (".npz",),
    reader=read_npz,
    options=frozenset({"rows", "columns"}),
    description="a matrix",
)
