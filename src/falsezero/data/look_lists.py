"""From lists of finds and of looks that took place to `Looks`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from falsezero.data.errors import DataError, quote
from falsezero.data.labels import tidy_labels
from falsezero.data.look_checks import recorded
from falsezero.data.look_store import ListedLooks
from falsezero.data.looks import Looks
from falsezero.data.pairs import encode
from falsezero.data.survey import Listing

__all__ = ["LISTED_FROM", "looks_from"]

LISTED_FROM = 20_000_000
"""Rows x looks x columns above which looks are kept as lists; fewer are quicker as arrays."""


def looks_from(
    found: Listing,
    *,
    row: str | None,
    look: str,
    column: str | None = None,
    value: str | None = None,
    observer: str | None = None,
    variables: Sequence[str] = (),
    surveyed: Listing | None = None,
    binarize: float | None = None,
    name: str | None = None,
) -> Looks:
    """Make `Looks` of a list of detections and, where given, of the list of looks that took place.

    With `column` a line is one detection (or, with `value`, one recorded value); without it a line
    is one look and its other columns are attributes. Without `surveyed`, the looks are those that
    the list itself names: a look that found nothing is then unknown.
    """
    if row is None:
        raise DataError("look= needs row= too: name the column that says which row was looked at.")
    names = (variables,) if isinstance(variables, str) else tuple(variables)
    visits = _Visits(surveyed or found, row, look, observer, names)
    if column is None:
        skip = {row, look, observer, *names}
        entries = _wide(found, visits, skip, row, look)
    else:
        entries = _long(found, visits, surveyed, (row, look, column, value))
    return _filled(found, visits, entries, binarize, name)


class _Entries(NamedTuple):
    """Recorded values and their cells: positions of row, look and column."""

    at: NDArray[np.intp]
    values: NDArray[np.float64]
    columns: list[Any]
    covered: NDArray[np.intp] | None = None
    """Cells that were looked at, where the list of looks names columns; all of a look otherwise."""


class _Visits:
    """The looks that took place: which row and which look each was, and what is known of it."""

    def __init__(
        self, listing: Listing, row: str, look: str, observer: str | None, names: tuple[str, ...]
    ):
        self.listing = listing
        row_codes, self.rows = encode(listing.labels(row, "row"))
        look_codes, self.looks = encode(listing.labels(look, "look"))
        order = np.argsort(np.argsort(tidy_labels(self.looks, "look"), kind="stable"))
        self.looks = [self.looks[i] for i in np.argsort(order)]
        self.slots = (row_codes, order[look_codes])
        shape = (len(self.rows), len(self.looks))
        listing.check_size({"rows": shape[0], "looks": shape[1]}, shape[0] * shape[1])
        self.took_place = np.zeros(shape, dtype=bool)
        self.took_place[self.slots] = True
        self.observers = (
            None
            if observer is None
            else self._of_look(observer, np.array(listing.labels(observer, "observer")), shape)
        )
        self.variables = {name: self._of_look(name, listing.numbers(name), shape) for name in names}

    def _of_look(self, name: str, entries: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
        """One entry per look; the lines of a look must agree."""
        array = np.zeros(shape, dtype=entries.dtype)
        array[self.slots] = entries
        kept = array[self.slots]
        differ = (entries != kept) & ~((entries != entries) & (kept != kept))
        if differ.any():
            first = int(np.argmax(differ))
            raise DataError(
                f"{self.listing.place(first)} gives a look another {quote(name)} "
                f"({quote(entries[first].item())}) than a later line "
                f"({quote(kept[first].item())}); a look has one."
            )
        return array

    def find(self, rows: list[Any], looks: list[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Positions of rows and looks that took place; -1 for others.

        Labels are compared as text: a list may write 7 where the other writes "7".
        """
        places = []
        for labels, known in ((rows, self.rows), (looks, self.looks)):
            place = {str(label): position for position, label in enumerate(known)}
            codes, names = encode(labels)
            found = [place.get(str(label), -1) for label in names]
            places.append(np.array(found, dtype=np.intp)[codes])
        n, j = places
        took_place = (n >= 0) & (j >= 0) & self.took_place[n, j]
        return np.where(took_place, n, -1), np.where(took_place, j, -1)

    def named(self, name: str | None) -> dict[str, Any]:
        """Arguments for `Looks`."""
        return {
            "rows": self.rows,
            "looks": self.looks,
            "observers": self.observers,
            "variables": self.variables,
            "name": name,
        }


def _long(
    found: Listing,
    visits: _Visits,
    surveyed: Listing | None,
    names: tuple[str, str, str, str | None],
) -> _Entries:
    """One line per detection or recorded value."""
    row, look, column, value = names
    rows, looks = found.labels(row, "row"), found.labels(look, "look")
    codes, columns = encode(found.labels(column, "column"))
    n, j = visits.find(rows, looks)
    unknown, covered = n < 0, None
    if surveyed is not None and column in surveyed.columns:
        known, columns = encode([*columns, *surveyed.labels(column, "column")])
        covered = np.column_stack([*visits.slots, known[len(known) - len(surveyed) :]])
        shape = (*visits.took_place.shape, len(columns))
        cells = np.ravel_multi_index(covered.T, shape)
        unknown |= ~np.isin((n * shape[1] + j) * shape[2] + codes, cells)
    if unknown.any():
        entry = int(np.argmax(unknown))
        raise DataError(
            f"{found.place(entry)} reports {quote(columns[codes[entry]])} on look "
            f"{quote(looks[entry])} of row {quote(rows[entry])}, which is not in the list of "
            "looks; add the look to surveyed= or remove the line."
        )
    values = np.ones(len(found)) if value is None else found.numbers(value)
    at = np.column_stack([n, j, codes])
    repeated = _first_contradiction(at, values)
    if repeated is not None:
        before, entry = repeated
        raise DataError(
            f"{found.place(entry)} gives {quote(columns[codes[entry]])} on look "
            f"{quote(looks[entry])} of row {quote(rows[entry])} another value "
            f"({values[entry]:g}) than {found.place(before)} ({values[before]:g}); keep one of "
            "them."
        )
    return _Entries(at, values, columns, covered)


def _first_contradiction(at: NDArray[Any], values: NDArray[Any]) -> tuple[int, int] | None:
    """The first entry with another value than the one before it in the same cell, and that one."""
    order = np.lexsort(at.T)
    same = (np.diff(at[order], axis=0) == 0).all(axis=1)
    before, after = values[order[:-1]], values[order[1:]]
    differ = np.flatnonzero(same & (before != after) & ~(np.isnan(before) & np.isnan(after)))
    if not len(differ):
        return None
    first = differ[np.argmin(order[differ + 1])]
    return int(order[first]), int(order[first + 1])


def _wide(found: Listing, visits: _Visits, skip: set[Any], row: str, look: str) -> _Entries:
    """One line per look, one column per attribute."""
    columns = [column for column in found.columns if column not in skip]
    if not columns:
        raise DataError(
            f"{found.source} has no attributes beside the columns that describe a look."
        )
    rows, looks = found.labels(row, "row"), found.labels(look, "look")
    n, j = visits.find(rows, looks)
    first: dict[Any, int] = {}
    for entry, slot in enumerate(zip(n.tolist(), j.tolist(), strict=True)):
        if slot[0] < 0:
            raise DataError(
                f"{found.place(entry)} is look {quote(looks[entry])} of row {quote(rows[entry])}, "
                "which is not in the list of looks; add it to surveyed= or remove the line."
            )
        if slot in first:
            raise DataError(
                f"{found.place(entry)} repeats look {quote(looks[entry])} of row "
                f"{quote(rows[entry])} (first: {found.place(first[slot])}); give every look a name "
                "of its own."
            )
        first[slot] = entry
    parts, kept = [], []
    for t, column in enumerate(columns):
        values = found.numbers(column)
        some = np.flatnonzero(values != 0)
        parts.append(np.column_stack([n[some], j[some], np.full(len(some), t)]))
        kept.append(values[some])
    return _Entries(np.concatenate(parts), np.concatenate(kept), columns)


def _filled(
    found: Listing,
    visits: _Visits,
    entries: _Entries,
    binarize: float | None,
    name: str | None,
) -> Looks:
    """Looks of all entries: as lists where they are many and a look covers all columns."""
    at, values, columns, covered = entries
    if binarize is not None:
        values = np.where(np.isnan(values), values, values > binarize)
    shape = (*visits.took_place.shape, len(columns))
    is_listed = covered is None and np.prod(shape, dtype=float) > LISTED_FROM
    n_rows, n_looks, n_columns = shape
    numbers = n_rows * (n_looks + n_columns) if is_listed else n_rows * n_looks * n_columns
    found.check_size({"rows": n_rows, "looks": n_looks, "columns": n_columns}, numbers)
    if is_listed:
        recorded(values, at)
        missed, ones = np.isnan(values), values == 1
        store = ListedLooks(at[ones], visits.took_place, len(columns), at[missed])
        return Looks.from_store(store, columns=columns, **visits.named(name))
    array = np.full(shape, np.nan)
    if covered is None:
        array[visits.took_place] = 0.0
    else:
        array[tuple(covered.T)] = 0.0
    array[tuple(at.T)] = values
    return Looks(array, columns=columns, **visits.named(name))
