"""Binary and MatrixMarket files: npz, npy, mtx, Parquet, h5ad."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from falsezero.data.checks import Raw
from falsezero.data.errors import DataError, FileReadError, MissingFileError, suggest

__all__ = ["find_file", "located", "read_h5ad", "read_mtx", "read_npy", "read_npz", "read_parquet"]


def find_file(path: Any) -> Path:
    """Check that a path names a file that can be opened, and say so when it does not."""
    found = Path(path)
    if "://" in str(path):
        raise MissingFileError(f"{path} is an address, not a file; download it first.")
    if found.name == "-" or (found.exists() and not found.is_file() and not found.is_dir()):
        raise FileReadError(f"{path} is no file that can be read twice; save it to one first.")
    try:
        with open(found, "rb"):
            return found
    except FileNotFoundError:
        mend = ""
        if found.parent.is_dir():
            names = [entry.name for entry in found.parent.iterdir()]
            close = suggest(found.name, names)
            mend = f"; {close}" if close.startswith("did") else ""
        raise MissingFileError(f"There is no file {found}{mend or '.'}") from None
    except IsADirectoryError:
        raise FileReadError(f"{found} is a folder; name a file in it.") from None
    except PermissionError:
        raise FileReadError(f"{found} may not be read: permission denied.") from None
    except (OSError, ValueError):
        raise FileReadError(f"{found} cannot be opened.") from None


def read_npz(path: Path) -> Raw:
    """Read a sparse matrix of `scipy.sparse.save_npz`, or arrays `X`, `rows` and `columns`."""
    with _whole(path, ".npz", lambda: _archive(path)) as archive:
        names = list(archive.files)
        if "format" in names and "shape" in names:
            values: Any = _whole(path, ".npz", lambda: _checked(sp.load_npz(path)))
        else:
            key = names[0] if len(names) == 1 else "X"
            if key not in names:
                listed = ", ".join(map(repr, names)) or "none"
                raise DataError(f"{path} has no array named 'X'; its arrays: {listed}.")
            values = _member(path, archive, key)
        rows, columns = (_member(path, archive, axis) for axis in ("rows", "columns"))
    return located(values, rows, columns, path)


def read_npy(path: Path) -> Raw:
    """Read one dense array."""
    with open(path, "rb") as file:
        values = _whole(path, ".npy", lambda: np.lib.format.read_array(file, allow_pickle=False))
    return located(values, None, None, path)


def read_mtx(path: Path) -> Raw:
    """Read a MatrixMarket file, gzipped or not."""
    from scipy.io import mmread

    try:
        values = mmread(path, spmatrix=False)
    except Exception as problem:
        line = re.search(r"[Ll]ine (\d+)", str(problem))
        where = f" line {line[1]}" if line else ""
        raise FileReadError(
            f"{path}{where} is damaged or cut off: it is not a complete MatrixMarket file."
        ) from None
    return located(values, None, None, path)


def read_parquet(path: Path, drop: Sequence[str] = ()) -> tuple[Any, str | None]:
    """Read a Parquet file: its Arrow table, and the column that pandas stored as index."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(
            f"{path} is a Parquet file, which needs pyarrow: pip install falsezero[arrow]."
        ) from None
    table = _whole(path, "Parquet", lambda: pq.read_table(path))
    metadata = table.schema.pandas_metadata or {}
    index = [entry for entry in metadata.get("index_columns", []) if isinstance(entry, str)]
    for name in drop:
        if name not in table.column_names:
            mend = suggest(name, table.column_names, "its columns")
            raise DataError(f"{path} has no column {name!r} to drop; {mend}")
    return table.drop_columns(list(drop)), index[0] if len(index) == 1 else None


def read_h5ad(path: Path) -> Any:
    """Read an AnnData file."""
    try:
        import anndata
    except ImportError:
        raise DataError(
            f"{path} is an AnnData file, which needs anndata: pip install falsezero[anndata]."
        ) from None
    return _whole(path, ".h5ad", lambda: anndata.read_h5ad(path))


def _whole(path: Path, kind: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as problem:
        if "Object arrays" in str(problem):
            raise FileReadError(
                f"{path} holds Python objects (pickle), which are not loaded; "
                "save numbers and text arrays only."
            ) from None
        raise FileReadError(
            f"{path} is damaged or cut off: it is not a complete {kind} file."
        ) from None


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
    return _whole(path, ".npz", lambda: archive[key]) if key in archive.files else None


def located(values: Any, rows: Any, columns: Any, path: Path) -> Raw:
    """What a matrix file holds, with places that name the file."""
    if not sp.issparse(values) and values.dtype.kind not in "biuf":
        raise DataError(f"{path} holds {values.dtype.name} entries where numbers belong.")

    def place(row: int, column: int) -> str:
        row_name = row if rows is None else np.asarray(rows).tolist()[row]
        column_name = column if columns is None else np.asarray(columns).tolist()[column]
        return f"{path} row {row_name!r}, column {column_name!r}"

    return Raw(values, rows, columns, str(path), place)
