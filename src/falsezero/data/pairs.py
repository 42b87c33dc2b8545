"""Long tables: one line per pair of row and column, turned into a matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from falsezero.data.checks import Raw
from falsezero.data.errors import DataError, quote, suggest
from falsezero.data.labels import spelling_warning, tidy_labels

__all__ = ["DUPLICATES", "Pairs", "check_dropped", "encode", "no_label", "pairs_to_raw"]

DUPLICATES = ("error", "max", "sum")


class Pairs(NamedTuple):
    """Entries of a long table: codes into `rows` and `columns`, and a value each.

    `place(entry)` names the line an entry came from.
    """

    row_codes: NDArray[np.intp]
    column_codes: NDArray[np.intp]
    values: NDArray[np.float64]
    rows: NDArray[Any]
    columns: NDArray[Any]
    source: str
    place: Callable[[int], str]

    def label(self, entry: int) -> str:
        """Name the pair of one entry."""
        row = self.rows[self.row_codes[entry]].item()
        return f"({quote(row)}, {quote(self.columns[self.column_codes[entry]].item())})"


def encode(labels: Iterable[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """Number labels in the order in which they first appear.

    >>> encode(["b", "a", "b"])
    (array([0, 1, 0]), ['b', 'a'])
    """
    known: dict[Any, int] = {}
    codes = [known.setdefault(label, len(known)) for label in labels]
    return np.array(codes, dtype=np.intp), list(known)


def no_label(place: str, column: object) -> str:
    """What to say of a line without a row or column label."""
    return (
        f"{place} has no label in column {quote(column)}; pass drop='' to leave such lines out "
        "(a row that was searched in vain stays if surveyed= lists it)."
    )


def check_dropped(
    source: str,
    drop: Iterable[str],
    found: Iterable[str],
    known: Iterable[Any],
    what: str = "row or column",
) -> None:
    """Refuse names to leave out that were not found; `known` are those to point at."""
    for name in drop:
        if name not in found:
            remedy = suggest(name, known, f"its {what.split()[-1]}s")
            raise DataError(f"{source} has no {what} {quote(name)} to drop; {remedy}")


def pairs_to_raw(pairs: Pairs, duplicates: str = "error") -> Raw:
    """Spread a long table out into a matrix; pairs that are not listed are zeros."""
    if duplicates not in DUPLICATES:
        remedy = suggest(duplicates, DUPLICATES, "choose one of")
        raise DataError(f"duplicates={duplicates!r} is not known; {remedy}")
    n_columns = max(len(pairs.columns), 1)
    key = pairs.row_codes * n_columns + pairs.column_codes
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(key[order]) != 0]) if key.size else key
    if starts.size < key.size and duplicates == "error":
        raise DataError(_listed_twice(pairs, order, starts))
    values = _merge(pairs.values[order], starts, duplicates)
    first = order[starts]
    shape = (len(pairs.rows), len(pairs.columns))
    coordinates = (pairs.row_codes[first], pairs.column_codes[first])
    matrix: Any = sp.coo_array((values, coordinates), shape=shape)

    def place(row: int, column: int) -> str:
        entry = int(first[np.searchsorted(key[first], row * n_columns + column)])
        return f"{pairs.place(entry)}, pair {pairs.label(entry)},"

    rows, columns = tidy_labels(pairs.rows, "row"), tidy_labels(pairs.columns, "column")
    for names, axis in ((rows, "row"), (columns, "column")):
        message = spelling_warning(pairs.source, names, axis)
        if message is not None:
            warnings.warn(message, stacklevel=2)
    return Raw(matrix, rows, columns, pairs.source, place)


def _merge(values: NDArray[Any], starts: NDArray[Any], duplicates: str) -> NDArray[Any]:
    if starts.size == values.size:
        return values
    if duplicates == "max":
        return np.asarray(np.fmax.reduceat(values, starts))
    total = np.add.reduceat(np.nan_to_num(values), starts)
    known = np.add.reduceat(~np.isnan(values), starts, dtype=np.intp)
    return np.where(known > 0, total, np.nan)


def _listed_twice(pairs: Pairs, order: NDArray[Any], starts: NDArray[Any]) -> str:
    repeat = np.setdiff1d(np.arange(order.size), starts, assume_unique=True)
    second = repeat[np.argmin(order[repeat])]
    one, two = int(order[second - 1]), int(order[second])
    return (
        f"{pairs.place(two)} lists the pair {pairs.label(two)} again (first: "
        f"{pairs.place(one)}); keep one of them, or pass duplicates='max' to count the "
        "pair once or duplicates='sum' to add them up."
    )
