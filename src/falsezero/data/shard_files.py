"""How the files of `Shards` are read: NumPy, sparse and Parquet, local or at an fsspec address."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from falsezero.data.errors import DataError, FileReadError
from falsezero.data.files import find_file
from falsezero.data.indices import check_indices
from falsezero.data.table import sorted_out

_ARRAYS = (".npy", ".npz")
_PARQUET = (".parquet", ".pq")


class LongNames(NamedTuple):
    """Which fields of a long list of ones hold row and column labels, and all column labels."""

    row: str
    column: str
    labels: tuple[Any, ...] = ()


def shape_of(file: str, long: LongNames | None = None) -> tuple[int, int]:
    """Rows and columns of what a file holds, without reading the rest of it."""
    if file.endswith(_PARQUET):
        return _whole(file, lambda: _parquet_shape(file, long))  # type: ignore[no-any-return]
    shape: Any = _whole(file, lambda: _array_shape(file)) if file.endswith(_ARRAYS) else ()
    if len(shape) != 2 or 0 in shape:
        raise ValueError(
            f"{file} holds no table; Shards needs .npy files of numpy.save with rows and columns, "
            ".npz files of scipy.sparse.save_npz, or .parquet files."
        )
    return shape[0], shape[1]


def read_values(file: str, long: LongNames | None = None) -> Any:
    """The rows of a file as floats: dense, or sparse and in order."""
    if file.endswith(_PARQUET):
        return _whole(file, lambda: _read_long(file, long) if long else _read_wide(file))
    return _whole(file, lambda: _read_array(file))


def _read_array(file: str) -> Any:
    with _opened(file) as stream:
        if file.endswith(".npy"):
            return np.load(stream, allow_pickle=False).astype(float, copy=False)
        matrix = check_indices(sparse.load_npz(stream))
        return sorted_out(sparse.csr_array(matrix, dtype=float))


def _whole(file: str, load: Callable[[], Any]) -> Any:
    """What `load` returns; a sentence where the file is damaged, or not there."""
    if "://" not in file:
        find_file(file)
    try:
        return load()
    except (FileNotFoundError, PermissionError, ConnectionError, TimeoutError):
        # Of a file at an address; there is nothing wrong with what it holds.
        raise
    except Exception as problem:
        if isinstance(problem, DataError):
            raise
        raise FileReadError(f"{file} is damaged or cut off, and cannot be read.") from None


def labels_in(file: str, field: str) -> Any:
    """The labels in one field of a Parquet file, in the order in which they first appear."""
    return _whole(file, lambda: _fields(file, [field]).column(0).unique().to_pylist())


def row_labels(rows: slice, file: str, long: LongNames | None) -> np.ndarray:
    """Labels of the rows of a file: those of a long list, otherwise positions in the table."""
    if long is None:
        return np.arange(rows.start, rows.stop)
    return np.array(labels_in(file, long.row))


@contextmanager
def _opened(file: str) -> Iterator[Any]:
    """A local file by its name, any other through fsspec."""
    if "://" not in file:
        yield file
        return
    try:
        import fsspec
    except ImportError:
        raise DataError(f"{file} is an address, which needs fsspec: pip install fsspec.") from None
    with fsspec.open(file, "rb") as stream:
        yield stream


def _array_shape(file: str) -> tuple[int, ...]:
    with _opened(file) as stream:
        mode: Any = "r" if isinstance(stream, str) else None
        found = np.load(stream, mmap_mode=mode, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return tuple(found.shape)
        with found:
            return tuple(found["shape"].tolist()) if "shape" in found else ()


def _pyarrow(file: str) -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise DataError(
            f"{file} is a Parquet file, which needs pyarrow: pip install falsezero[arrow]."
        ) from None
    return pq


def _parquet_shape(file: str, long: LongNames | None) -> tuple[int, int]:
    if long:
        return len(labels_in(file, long.row)), len(long.labels)
    with _opened(file) as stream:
        found = _pyarrow(file).ParquetFile(stream)
        return found.metadata.num_rows, len(found.schema_arrow.names) - len(_index_of(found))


def _index_of(found: Any) -> list[str]:
    """Names of the columns that pandas stored as index."""
    metadata = found.schema_arrow.pandas_metadata or {}
    return [entry for entry in metadata.get("index_columns", []) if isinstance(entry, str)]


def _read_wide(file: str) -> sparse.csr_array | np.ndarray:
    with _opened(file) as stream:
        found = _pyarrow(file).ParquetFile(stream)
        table = found.read().drop_columns(_index_of(found))
    columns = [table.column(name).to_numpy() for name in table.column_names]
    try:
        return np.column_stack([column.astype(float) for column in columns])
    except (TypeError, ValueError):
        raise DataError(
            f"{file} has columns that are no numbers; name the fields of a long list with row= and "
            "column=, or leave text columns out."
        ) from None


def _read_long(file: str, long: LongNames) -> sparse.csr_array:
    table = _fields(file, [long.row, long.column])
    rows = table.column(0).combine_chunks().dictionary_encode()
    place = {label: i for i, label in enumerate(long.labels)}
    found = table.column(1).combine_chunks().dictionary_encode()
    columns = np.array([place[label] for label in found.dictionary.to_pylist()], dtype=np.int64)
    at = rows.indices.to_numpy(), columns[found.indices.to_numpy()]
    shape = (len(rows.dictionary), len(long.labels))
    values: Any = sorted_out(sparse.csr_array((np.ones(len(at[0])), at), shape=shape))
    values.data[:] = 1.0
    return values


def _fields(file: str, names: list[str]) -> Any:
    with _opened(file) as stream:
        found = _pyarrow(file).ParquetFile(stream)
        for name in names:
            if name not in found.schema_arrow.names:
                known = ", ".join(found.schema_arrow.names)
                raise DataError(f"{file} has no column {name!r}; it has {known}.")
        return found.read(columns=names)
