"""Data frames of pandas, polars and pyarrow, wide or long, through narwhals."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from falsezero.data.cells import CellNumbers, NotANumber
from falsezero.data.checks import Hints, Raw, only_ones_and_gaps
from falsezero.data.errors import DataError, quote, suggest
from falsezero.data.labels import are_row_numbers, ids_warning, may_be_ids, tidy_labels
from falsezero.data.layout import Layout
from falsezero.data.levels import levels_of
from falsezero.data.pairs import Pairs, check_dropped, encode, no_label, pairs_to_raw

__all__ = ["as_frame", "frame_to_raw", "is_text", "long_frame", "stored_index", "wide_frame"]

_IN_MEMORY = "The frame"


def as_frame(obj: Any) -> nw.DataFrame[Any] | None:
    """Wrap a data frame of any library, or give None when it is something else."""
    try:
        frame = nw.from_native(obj, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = list(obj.columns)
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"The frame uses the column name {quote(twice)} twice; give every column a name of its "
            "own."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        return frame.collect()
    if isinstance(frame, nw.DataFrame):
        return frame
    return _query_result(obj)


def _query_result(cursor: Any) -> nw.DataFrame[Any] | None:
    """What a query found, where this is the cursor of a database (or a connection of DuckDB)."""
    described = getattr(cursor, "description", None)
    if not described or not callable(getattr(cursor, "fetchall", None)):
        return None
    lines = cursor.fetchall()
    columns = {str(field[0]): [line[at] for line in lines] for at, field in enumerate(described)}
    backend: Any = next(each for each in ("pandas", "polars", "pyarrow") if find_spec(each))
    return nw.from_dict(columns, backend=backend)


def stored_index(frame: Any) -> str | None:
    """The column of an Arrow table that pandas stored as index."""
    metadata = getattr(getattr(frame, "schema", None), "pandas_metadata", None) or {}
    named = [entry for entry in metadata.get("index_columns", []) if isinstance(entry, str)]
    return named[0] if len(named) == 1 else None


def wide_frame(frame: nw.DataFrame[Any], index: Any, source: str = _IN_MEMORY) -> Raw:
    """Read a frame with one column per attribute.

    The row labels are the column named by `index`; else a pandas index that is not the default
    one, or that an Arrow table stores; else the first column when it holds text or counts the
    rows; else the positions.
    """
    if index is None:
        index = stored_index(nw.to_native(frame))
    series = dict(zip(frame.columns, frame.iter_columns(), strict=True))
    rows = _pandas_index(frame)
    label_column = _label_column(series, index, rows is not None, source)
    if label_column is not None:
        rows = _labels(series.pop(label_column), source)
    values = _pandas_sparse(frame, list(series))
    if values is None:
        columns = [_numbers(column, source, rows) for column in series.values()]
        values = _stack(columns, len(frame))
    if only_ones_and_gaps(values):
        warnings.warn(
            f"{source} holds ones and cells not observed but not a single 0; if an empty cell "
            "means absent, fill it with 0 first, as in frame.fillna(0).",
            stacklevel=5,
        )

    def hint(row: int, column: int, value: float) -> Hints:
        may_name = column == 0 and index is None and rows is None
        first = next(iter(series))
        return [], [f"index={quote(first)} if that column names the rows"] * may_name

    index_of_rows = nw.maybe_get_index(frame)
    labels = index_of_rows if label_column is None and levels_of(index_of_rows) else rows
    return Raw(values, labels, _column_labels(frame, list(series)), source, hint=hint)


def _column_labels(frame: nw.DataFrame[Any], names: list[Any]) -> Any:
    """Names of columns, as a MultiIndex where the frame has one."""
    given: Any = getattr(nw.to_native(frame), "columns", None)
    if levels_of(given) is None:
        return names
    return given[[name in names for name in given]]


def long_frame(
    frame: nw.DataFrame[Any],
    row: str,
    column: str,
    value: str | None,
    source: str = _IN_MEMORY,
    drop: Sequence[str] = (),
) -> Pairs:
    """Read a frame that lists pairs, one per line, except those with a label in `drop`."""
    for name in (row, column, value):
        if name is not None and name not in frame.columns:
            remedy = suggest(name, frame.columns, "its columns")
            raise DataError(f"{source} has no column {quote(name)}; {remedy}")
    if drop:
        frame = _without_labels(frame, (row, column), drop, source)
    row_codes, rows = encode(_labels(frame[row], source).tolist())
    column_codes, columns = encode(_labels(frame[column], source).tolist())
    values = np.ones(len(frame)) if value is None else _numbers(frame[value], source, None)

    def place(entry: int) -> str:
        return f"{source} row {entry}"

    known = tidy_labels(rows, "row"), tidy_labels(columns, "column")
    return Pairs(row_codes, column_codes, values, *known, source, place)


def _without_labels(
    frame: nw.DataFrame[Any], names: tuple[str, str], drop: Sequence[str], source: str
) -> nw.DataFrame[Any]:
    """The lines whose labels are all wanted; no label is called ""."""
    labels = [["" if x is None or x != x else str(x) for x in frame[n].to_list()] for n in names]
    check_dropped(source, drop, {*labels[0], *labels[1]}, dict.fromkeys([*labels[0], *labels[1]]))
    wanted = [not {a, b} & {*drop} for a, b in zip(*labels, strict=True)]
    return frame.filter(wanted)


def _pandas_index(frame: nw.DataFrame[Any]) -> NDArray[Any] | None:
    index = nw.maybe_get_index(frame)
    if index is None or _is_default(index):
        return None
    return tidy_labels(index.to_numpy(), "row")


def _is_default(index: Any) -> bool:
    is_range = type(index).__name__ == "RangeIndex"
    return is_range and index.start == 0 and index.step == 1 and index.name is None


def _label_column(
    series: dict[Any, nw.Series[Any]], index: Any, has_index: bool, source: str
) -> Any:
    if index is False or not series:
        return None
    if index is not None and index not in series:
        remedy = suggest(index, series, "its columns")
        raise DataError(f"{source} has no column {quote(index)} for index=; {remedy}")
    first = next(iter(series))
    names_rows = not has_index and (is_text(series[first]) or _numbers_rows(series[first]))
    if index is None and not has_index and not names_rows and _may_be_ids(series[first]):
        warnings.warn(ids_warning(source, first), stacklevel=6)
    return index if index is not None else (first if names_rows else None)


def is_text(series: nw.Series[Any]) -> bool:
    """Whether a column holds text, and so may name the rows."""
    if series.dtype == nw.Object:
        return any(isinstance(entry, str) for entry in series.to_list())
    return series.dtype in (nw.String, nw.Categorical, nw.Enum)


def _numbers_rows(series: nw.Series[Any]) -> bool:
    return series.dtype.is_integer() and not series.null_count() and are_row_numbers(series)


def _may_be_ids(series: nw.Series[Any]) -> bool:
    return series.dtype.is_integer() and not series.null_count() and may_be_ids(series.to_list())


def _labels(series: nw.Series[Any], source: str) -> NDArray[Any]:
    listed = series.to_list()
    for position, label in enumerate(listed):
        if label is None or label != label:
            if source == _IN_MEMORY:
                raise DataError(
                    f"{source} row {position} has no label in column {quote(series.name)}; leave "
                    "such rows out first."
                )
            raise DataError(no_label(f"{source} row {position}", series.name))
    return tidy_labels(listed)


def _numbers(series: nw.Series[Any], source: str, rows: Any) -> NDArray[np.float64]:
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        filled = series.cast(nw.Float64)
        return np.asarray(filled.to_numpy(), dtype=np.float64)
    cells = CellNumbers()
    numbers = np.empty(len(series))
    for position, entry in enumerate(series.to_list()):
        try:
            numbers[position] = cells.parse(entry)
        except NotANumber:
            row = position if rows is None else rows[position].item()
            raise DataError(
                f"{source} row {quote(row)}, column {quote(series.name)} holds {quote(entry)} "
                "where a number belongs; leave a cell that was not observed empty, or pass "
                f"index={quote(series.name)} if that column names the rows, or row= and column= if "
                "every line is one pair."
            ) from None
    return numbers


def _pandas_sparse(frame: nw.DataFrame[Any], names: list[Any]) -> Any:
    native = nw.to_native(frame)
    if not hasattr(native, "dtypes") or not hasattr(native, "iloc") or not names:
        return None
    chosen = native[names]
    fills = [getattr(dtype, "fill_value", None) for dtype in chosen.dtypes]
    return chosen.sparse.to_coo() if all(fill is not None and fill == 0 for fill in fills) else None


def _stack(columns: list[NDArray[np.float64]], n_rows: int) -> Any:
    where = [np.flatnonzero(column) for column in columns]
    indptr = np.cumsum([0, *(len(rows) for rows in where)])
    if not columns:
        return np.empty((n_rows, 0))
    data = np.concatenate([column[rows] for column, rows in zip(columns, where, strict=True)])
    return sp.csc_array((data, np.concatenate(where), indptr), shape=(n_rows, len(columns)))


def frame_to_raw(obj: Any, layout: Layout, source: str = _IN_MEMORY) -> Raw:
    """Read a data frame of any library, wide or long."""
    frame = as_frame(obj)
    if frame is None:
        if not hasattr(obj, "__array__"):
            raise DataError(
                f"{type(obj).__name__!r} is not a type of table; give an array, a sparse matrix, "
                "a data frame, a list of sets, AnnData, a graph or an xarray DataArray."
            )
        return Raw(np.asarray(obj))
    if layout.is_long and layout.row is not None and layout.column is not None:
        row, column, drop = layout.row, layout.column, layout.drop
        pairs = long_frame(frame, row, column, layout.value, source, drop)
        return pairs_to_raw(pairs, layout.duplicates)
    return wide_frame(frame, layout.index, source)
