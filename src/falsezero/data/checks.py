"""The last check of a table that was read: the values of its cells."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from falsezero.data.errors import DataError, quote, suggest
from falsezero.data.labels import as_labels
from falsezero.data.levels import levels_of
from falsezero.data.roles import is_total
from falsezero.data.table import Table, canonical, cell_of
from falsezero.data.values import binarized, is_unfit

__all__ = ["KINDS", "Hints", "Raw", "empty_or_absent", "only_ones_and_gaps", "to_table"]

KINDS = ("binary", "count", "real")

_ENOUGH = 10
"""Minimum number of rows for judging that a column never repeats a number."""


Hints = tuple[list[str], list[str]]


class Raw(NamedTuple):
    """A table as read from a file, before its values are checked.

    `source` names it in messages and `place(row, column)` names one cell; `hint(row, column,
    value)` may add ways to handle a bad value, to be named before and after the usual ones.
    """

    values: Any
    rows: Any = None
    columns: Any = None
    source: str = "The table"
    place: Callable[[int, int], str] | None = None
    hint: Callable[[int, int, float], Hints] = lambda row, column, value: ([], [])
    asks_of_empty: bool = False
    """Whether the file has empty cells that may mean absent."""


def to_table(
    raw: Raw, *, kind: str = "binary", binarize: float | None = None, name: str | None = None
) -> Table:
    """Make a `Table` of a raw table, after checking it.

    >>> to_table(Raw([[0, 3]], columns=["a", "b"]), binarize=1).to_numpy()
    array([[0., 1.]])
    >>> to_table(Raw([[0, 3]], columns=["a", "b"]))
    Traceback (most recent call last):
    ...
    falsezero.data.errors.DataError: The cell in row 0, column 'b' holds 3, but a binary table \
needs 0 or 1: pass binarize=0 (or a higher threshold) to make values above it ones, or \
kind='count' to keep counts.
    """
    if kind not in KINDS:
        raise DataError(f"kind={kind!r} is not known; {suggest(kind, KINDS, 'choose one of')}")
    matrix: Any = canonical(raw.values)
    for axis, size in zip(("rows", "columns"), matrix.shape, strict=True):
        if size == 0:
            raise DataError(f"{raw.source} has no {axis}, so there is nothing to read.")
    rows = as_labels(raw.rows, matrix.shape[0], "row")
    columns = as_labels(raw.columns, matrix.shape[1], "column")
    place = raw.place or _by_label(rows, columns)
    infinite = np.isinf(matrix.data)
    if infinite.any():
        where = place(*cell_of(matrix, int(np.argmax(infinite))))
        raise DataError(f"{where} is infinite; leave a cell that was not observed empty (NaN).")
    if binarize is not None:
        if not np.isfinite(binarize):
            raise DataError(
                f"binarize={binarize} is no threshold; give a number, as in binarize=0."
            )
        if raw.asks_of_empty and only_ones_and_gaps(matrix, whole=False):
            raise DataError(empty_or_absent(raw.source))
        _warn_of_measurements(matrix, binarize, raw, columns)
        matrix = canonical(binarized(matrix, binarize))
    bad = is_unfit(matrix.data, kind)
    if bad.any():
        entry = int(np.argmax(bad))
        row, column = cell_of(matrix, entry)
        value = float(matrix.data[entry])
        raise DataError(_sentence(place(row, column), value, kind, raw.hint(row, column, value)))
    table = Table(matrix, rows, columns, name)
    return table._with_levels(levels_of(raw.rows), levels_of(raw.columns))


def _warn_of_measurements(matrix: Any, threshold: float, raw: Raw, names: NDArray[Any]) -> None:
    """Warn of columns that are no part of the table: totals, and measurements such as a height.

    A total is known by its name; a measurement hardly ever holds the same number twice.
    """
    n_rows = matrix.shape[0]
    if n_rows < _ENOUGH or raw.place is None:
        return
    by_column = matrix.tocsc()
    filled = np.diff(by_column.indptr) == n_rows
    totals = [t for t, name in enumerate(names.tolist()) if is_total(str(name))]
    filled[totals] = False
    for name in (quote(names[t].item()) for t in totals):
        warnings.warn(
            f"{raw.source}, column {name} is called like a sum of others; pass drop={name} if it "
            "is one.",
            stacklevel=3,
        )
    for t in np.flatnonzero(filled):
        values = by_column.data[by_column.indptr[t] : by_column.indptr[t + 1]]
        are_ids = t == 0 and np.all(values == np.floor(values))
        if not are_ids and np.all(values > threshold) and 10 * np.unique(values).size > 9 * n_rows:
            name = quote(names[t].item())
            warnings.warn(
                f"{raw.source}, column {name} is above {threshold:g} in every row and hardly twice "
                f"the same; pass drop={name} if it measures something else.",
                stacklevel=3,
            )


def empty_or_absent(source: str) -> str:
    """The question about a file with empty cells and no zeros."""
    return (
        f"{source} has empty cells but not a single 0: pass marks={{'': 0}} if an empty cell means "
        "absent, or marks={'': None} if nobody looked there."
    )


def only_ones_and_gaps(values: Any, whole: bool = True) -> bool:
    """Whether cells are unknown or count something, none zero: unknown may well mean absent."""
    if not sp.issparse(values) or values.nnz < np.prod(values.shape):
        return False
    known = values.data[~np.isnan(values.data)]
    counts = bool(np.all(known > 0) and (not whole or np.all(known == np.floor(known))))
    return 0 < known.size < values.data.size and counts


def _sentence(place: str, value: float, kind: str, hints: Hints) -> str:
    need, remedies = "counts are whole numbers from 0 up", ["kind='real' to keep any number"]
    if kind == "binary":
        need = "a binary table needs 0 or 1"
        if value >= 0 and value == np.floor(value):
            remedies = ["kind='count' to keep counts"]
        remedies = ["binarize=0 (or a higher threshold) to make values above it ones", *remedies]
    ways = ", or ".join([*hints[0], *remedies, *hints[1]])
    return f"{place} holds {value:.12g}, but {need}: pass {ways}."


def _by_label(rows: NDArray[Any], columns: NDArray[Any]) -> Callable[[int, int], str]:
    def place(row: int, column: int) -> str:
        return f"The cell in row {quote(rows[row].item())}, column {quote(columns[column].item())}"

    return place
