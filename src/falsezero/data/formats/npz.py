"""Sparse matrices of scipy and archives of NumPy arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from falsezero.data.checks import Raw
from falsezero.data.errors import DataError
from falsezero.data.files import load_whole, located
from falsezero.data.formats import Format
from falsezero.data.layout import ReadOptions


def read_npz(path: Path, options: ReadOptions) -> Raw:
    """Read a sparse matrix of `scipy.sparse.save_npz`, or arrays `X`, `rows` and `columns`."""
    with load_whole(path, ".npz", lambda: _archive(path)) as archive:
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
    return located(values, rows, columns, path)


def _archive(path: Path) -> Any:
    archive = np.load(path, allow_pickle=False)
    if isinstance(archive, np.ndarray):
        raise ValueError("a single array, not an archive")
    return archive


def _checked(matrix: Any) -> Any:
    if matrix.format in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)
    return matrix


def _member(path: Path, archive: Any, key: str) -> Any:
    return load_whole(path, ".npz", lambda: archive[key]) if key in archive.files else None


FORMAT = Format("npz", (".npz",), reader=read_npz, description="a matrix")
