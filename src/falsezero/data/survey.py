"""Lists of looks in files and data frames: who was seen, where, on which look."""

from __future__ import annotations

import math
import os
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from falsezero.data.cells import CellNumbers, NotANumber
from falsezero.data.errors import DataError, quote, suggest
from falsezero.data.formats.text import whole_or_text
from falsezero.data.labels import tidy_labels
from falsezero.data.layout import ReadOptions
from falsezero.data.limits import EXPANSION, FREE, allowed_bytes
from falsezero.data.lines import TextFile
from falsezero.data.looks import Looks
from falsezero.data.pairs import check_dropped, encode

__all__ = ["holds_looks", "looks_from", "read_looks"]


class Listing(NamedTuple):
    """A file or frame as named columns of entries; `place(entry)` names one line of it."""

    source: str
    columns: dict[str, list[Any]]
    place: Callable[[int], str]
    cells: CellNumbers
    allowed: int
    """Bytes that its looks may take in memory."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def column(self, name: str) -> list[Any]:
        """The entries of a column, or which names come close."""
        if name not in self.columns:
            remedy = suggest(name, self.columns, "its columns")
            raise DataError(f"{self.source} has no column {quote(name)}; {remedy}")
        return self.columns[name]

    def without(self, drop: Sequence[str], labelled: tuple[str | None, ...]) -> Listing:
        """The list without some columns, and without lines whose labels are among `drop`."""
        columns = {name: each for name, each in self.columns.items() if name not in drop}
        labels = [columns[name] for name in labelled if name is not None and name in columns]
        known = {str(label).strip() for each in labels for label in each}
        check_dropped(self.source, drop, {*self.columns, *known}, sorted(known))
        lines = zip(*labels, strict=True) if labels else [()] * len(self)
        kept = [
            entry
            for entry, line in enumerate(lines)
            if not any(str(label).strip() in drop for label in line)
        ]
        picked = {name: [each[entry] for entry in kept] for name, each in columns.items()}

        def place(entry: int) -> str:
            return self.place(kept[entry])

        return Listing(self.source, picked, place, self.cells, self.allowed)

    def labels(self, name: str, axis: str) -> list[Any]:
        """Entries that name something: none may be missing."""
        entries = [
            str(entry).strip() if isinstance(entry, str) else entry for entry in self.column(name)
        ]
        for position, entry in enumerate(entries):
            if entry is None or entry == "" or entry != entry:
                raise DataError(
                    f"{self.place(position)} has no {axis} in column {quote(name)}; "
                    "every look needs one."
                )
        tidy: list[Any] = whole_or_text([str(entry) for entry in entries]).tolist()
        return tidy

    def check_size(self, *shape: int) -> None:
        """Refuse so many rows, looks and columns where they would take far too much memory."""
        needed = 16 * math.prod(shape)
        if needed > self.allowed:
            raise DataError(
                f"{self.source} names {shape[0]} rows, {shape[1]} looks and {shape[2]} columns, "
                f"which together take {needed / 1e9:.1f} GB of memory; number the looks of every "
                "row from 1, so that rows share them, or pass max_gigabytes= to read."
            )

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Entries as numbers, NaN where there is none."""
        numbers = np.empty(len(self))
        for position, entry in enumerate(self.column(name)):
            try:
                numbers[position] = self.cells.parse(entry)
            except NotANumber:
                raise DataError(
                    f"{self.place(position)}, column {quote(name)} holds {quote(entry)} where "
                    "a number belongs."
                ) from None
        return numbers


def holds_looks(path: Any) -> bool:
    """Whether a file is one that `Looks.save` wrote."""
    if Path(path).suffix.lower() != ".npz" or not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return {"ones.npy", "tries.npy", "looks.npy"} <= set(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        # Damaged; the reader will report it.
        return False


def read_looks(
    path: Any, options: ReadOptions, *, look: str | None, surveyed: Any, name: Any, **named: Any
) -> Looks:
    """Read a file that `Looks.save` wrote, or a list of looks in any format that holds columns."""
    from falsezero.data.files import find_file, load_whole
    from falsezero.data.formats.npz import open_archive

    file = find_file(path)
    name = name or file.name.removesuffix(".gz").rsplit(".", 1)[0]
    if look is None:
        with open_archive(file, options.max_gigabytes) as archive:
            parts = load_whole(file, ".npz", lambda: dict(archive))
        return Looks.from_arrays(parts, str(file), name)
    labels: dict[str, Any] = {
        "row": options.row,
        "column": options.column,
        "value": options.value,
        "look": look,
    }
    took_place = None if surveyed is None else listing_of(surveyed)
    found = listing_of(file, options).without(options.drop, (options.row, options.column))
    return looks_from(found, surveyed=took_place, name=name, **labels, **named)


def listing_of(obj: Any, options: ReadOptions | None = None) -> Listing:
    """Read a file that holds lines, or a data frame, as named columns."""
    from falsezero.data.files import find_file
    from falsezero.data.formats.parquet import arrow_table
    from falsezero.data.frames import as_frame

    source = "The frame"
    if isinstance(obj, str | os.PathLike):
        file = find_file(obj)
        if file.suffix.lower() not in (".parquet", ".pq"):
            return _file_listing(file, options or ReadOptions())
        obj, source = arrow_table(file)[0], str(file)
    frame = as_frame(obj)
    if frame is None:
        raise DataError(
            f"Looks are listed in a file or a data frame, not in a {type(obj).__name__}."
        )
    columns = {str(name): frame[name].to_list() for name in frame.columns}
    allowed = max(FREE, EXPANSION * 8 * len(frame) * len(columns))
    return Listing(source, columns, lambda entry: f"{source} row {entry}", CellNumbers(), allowed)


def _file_listing(file: Path, options: ReadOptions) -> Listing:
    """A text file with the numbers of its lines, or the lines of a workbook or an archive."""
    from falsezero.data.formats import format_of
    from falsezero.data.formats.text import FORMAT, text_file

    kind = format_of(file)
    if kind is FORMAT:
        return _text_listing(text_file(file, replace(options, header=True)))
    if kind.first_lines is None:
        raise DataError(
            f"{file} holds a matrix, but looks are listed one per line, as in a CSV file."
        )
    names, lines = kind.first_lines(file, options, sys.maxsize)
    columns = {name: [line[at] for line in lines] for at, name in enumerate(names)}
    allowed = allowed_bytes(file, options.max_gigabytes)
    cells = CellNumbers(options.marks)
    return Listing(str(file), columns, lambda entry: f"{file} row {entry + 1}", cells, allowed)


def _text_listing(file: TextFile) -> Listing:
    records = file.records()
    _, head = next(records)
    names = [name.strip() for name in head]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(
            f"{file.path} uses the column name {quote(twice)} twice; give every column a name of "
            "its own."
        )
    columns: dict[str, list[Any]] = {name: [] for name in names}
    lines = []
    for line, fields in records:
        if len(fields) != len(names):
            raise DataError(
                f"{file.path} line {line} has {len(fields)} fields where the header has "
                f"{len(names)}."
            )
        lines.append(line)
        for name, field in zip(names, fields, strict=True):
            columns[name].append(field)

    def place(entry: int) -> str:
        return f"{file.path} line {lines[entry]}"

    allowed = allowed_bytes(file.path, file.max_gigabytes)
    return Listing(str(file.path), columns, place, file.cells(), allowed)


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
        return _wide(found, visits, skip, row, look, binarize, name)
    return _long(found, visits, surveyed, (row, look, column, value), binarize, name)


class _Visits:
    """The looks that took place: which row and which look each was, and what is known of it."""

    def __init__(
        self, listing: Listing, row: str, look: str, observer: str | None, names: tuple[str, ...]
    ):
        self.listing = listing
        rows, looks = listing.labels(row, "row"), listing.labels(look, "look")
        row_codes, self.rows = encode(rows)
        look_codes, self.looks = encode(looks)
        order = np.argsort(np.argsort(tidy_labels(self.looks, "look"), kind="stable"))
        self.looks = [self.looks[i] for i in np.argsort(order)]
        look_codes = order[look_codes]
        self.slot_of = {
            key: (int(n), int(j))
            for key, n, j in zip(zip(rows, looks, strict=True), row_codes, look_codes, strict=True)
        }
        self.slots = (row_codes, look_codes)
        shape = (len(self.rows), len(self.looks))
        listing.check_size(*shape, 1)
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
        for position, (entry, kept) in enumerate(zip(entries, array[self.slots], strict=True)):
            if entry != kept and not (entry != entry and kept != kept):
                raise DataError(
                    f"{self.listing.place(position)} gives a look another {quote(name)} "
                    f"({quote(entry.item())}) than a later line ({quote(kept.item())}); a look "
                    "has one."
                )
        return array

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
    binarize: float | None,
    name: str | None,
) -> Looks:
    row, look, column, value = names
    rows, looks = found.labels(row, "row"), found.labels(look, "look")
    labels = found.labels(column, "column")
    codes, columns = encode(labels)
    by_cell = surveyed is not None and column in surveyed.columns
    if by_cell and surveyed is not None:
        known, more = encode([*columns, *surveyed.labels(column, "column")])
        codes, columns, looked = codes, more, known[len(columns) :]
    values = np.ones(len(found)) if value is None else found.numbers(value)
    found.check_size(len(visits.rows), len(visits.looks), len(columns))
    array = np.full((len(visits.rows), len(visits.looks), len(columns)), np.nan)
    array[visits.took_place] = 0.0
    if by_cell:
        array[:] = np.nan
        array[(*visits.slots, looked)] = 0.0
    filled = np.full(array.shape, -1)
    slot_of = _tolerant(visits.slot_of)
    for entry, (key, t) in enumerate(zip(zip(rows, looks, strict=True), codes, strict=True)):
        slot = slot_of.get((str(key[0]), str(key[1])))
        if slot is None or (by_cell and np.isnan(array[(*slot, t)]) and filled[(*slot, t)] < 0):
            raise DataError(
                f"{found.place(entry)} reports {quote(columns[t])} on look {quote(key[1])} of row "
                f"{quote(key[0])}, which is not in the list of looks; add the look to surveyed= or "
                "remove the line."
            )
        cell = (*slot, int(t))
        before = int(filled[cell])
        if before >= 0 and not _same(values[before], values[entry]):
            raise DataError(
                f"{found.place(entry)} gives {quote(columns[t])} on look {quote(key[1])} of row "
                f"{quote(key[0])} another value ({values[entry]:g}) than {found.place(before)} "
                f"({values[before]:g}); keep one of them."
            )
        filled[cell] = entry
        array[cell] = values[entry]
    return Looks(_binarized(array, binarize), columns=columns, **visits.named(name))


def _wide(
    found: Listing,
    visits: _Visits,
    skip: set[Any],
    row: str,
    look: str,
    binarize: float | None,
    name: str | None,
) -> Looks:
    columns = [column for column in found.columns if column not in skip]
    if not columns:
        raise DataError(
            f"{found.source} has no attributes beside the columns that describe a look."
        )
    found.check_size(*visits.took_place.shape, len(columns))
    array = np.full((*visits.took_place.shape, len(columns)), np.nan)
    if visits.listing is not found:
        array[visits.took_place] = 0.0
    slot_of = _tolerant(visits.slot_of)
    values = np.stack([found.numbers(column) for column in columns], axis=1)
    first: dict[Any, int] = {}
    keys = zip(found.labels(row, "row"), found.labels(look, "look"), strict=True)
    for entry, key in enumerate(keys):
        slot = slot_of.get((str(key[0]), str(key[1])))
        if slot is None:
            raise DataError(
                f"{found.place(entry)} is look {quote(key[1])} of row {quote(key[0])}, which "
                "is not in the list of looks; add it to surveyed= or remove the line."
            )
        if slot in first:
            raise DataError(
                f"{found.place(entry)} repeats look {quote(key[1])} of row {quote(key[0])} (first: "
                f"{found.place(first[slot])}); give every look a name of its own."
            )
        first[slot] = entry
        array[slot] = values[entry]
    return Looks(_binarized(array, binarize), columns=columns, **visits.named(name))


def _tolerant(slot_of: dict[Any, Any]) -> dict[Any, Any]:
    """Labels compared as text: a list may write 7 where the other writes "7"."""
    return {(str(row), str(look)): slot for (row, look), slot in slot_of.items()}


def _same(one: float, other: float) -> bool:
    return one == other or (np.isnan(one) and np.isnan(other))


def _binarized(array: NDArray[Any], threshold: float | None) -> NDArray[Any]:
    if threshold is None:
        return array
    return np.where(np.isnan(array), array, array > threshold)
