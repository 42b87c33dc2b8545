"""The last check at the door: what a cell may hold, and what a found value is turned into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from falsezero.data.errors import DataError, quote, suggest
from falsezero.data.labels import as_labels
from falsezero.data.table import Table, canonical, cell_of
from falsezero.data.values import binarized, is_unfit

__all__ = ["KINDS", "Raw", "only_ones_and_gaps", "to_table"]

KINDS = ("binary", "count", "real")


class Raw(NamedTuple):
    """What a reader found, before its values are judged.

    `source` names it in messages and `place(row, column)` names one cell; `hint(column, value)` may
    add ways to handle a bad value.
    """

    values: Any
    rows: Any = None
    columns: Any = None
    source: str = "The table"
    place: Callable[[int, int], str] | None = None
    hint: Callable[[int, float], list[str]] = lambda column, value: []


def to_table(
    raw: Raw, *, kind: str = "binary", binarize: float | None = None, name: str | None = None
) -> Table:
    """Make a `Table` of what a reader found, after checking it.

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
        matrix = canonical(binarized(matrix, binarize))
    bad = is_unfit(matrix.data, kind)
    if bad.any():
        entry = int(np.argmax(bad))
        row, column = cell_of(matrix, entry)
        value = float(matrix.data[entry])
        raise DataError(_sentence(place(row, column), value, kind, raw.hint(column, value)))
    return Table(matrix, rows, columns, name)


def only_ones_and_gaps(values: Any) -> bool:
    """Whether cells are unknown or count something, none zero: unknown may well mean absent."""
    if not sp.issparse(values) or values.nnz < np.prod(values.shape):
        return False
    known = values.data[~np.isnan(values.data)]
    counts = bool(np.all((known > 0) & (known == np.floor(known))))
    return 0 < known.size < values.data.size and counts


def _sentence(place: str, value: float, kind: str, hints: list[str]) -> str:
    need, remedies = "counts are whole numbers from 0 up", ["kind='real' to keep any number"]
    if kind == "binary":
        need = "a binary table needs 0 or 1"
        if value >= 0 and value == np.floor(value):
            remedies = ["kind='count' to keep counts"]
        remedies = ["binarize=0 (or a higher threshold) to make values above it ones", *remedies]
    return f"{place} holds {value:.6g}, but {need}: pass {', or '.join([*remedies, *hints])}."


def _by_label(rows: NDArray[Any], columns: NDArray[Any]) -> Callable[[int, int], str]:
    def place(row: int, column: int) -> str:
        return f"The cell in row {quote(rows[row].item())}, column {quote(columns[column].item())}"

    return place
