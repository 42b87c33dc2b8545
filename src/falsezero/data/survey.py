"""Lists of looks in files and data frames: who was seen, where, on which look."""

from __future__ import annotations

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
from falsezero.data.layout import ReadOptions
from falsezero.data.limits import EXPANSION, FREE, allowed_bytes
from falsezero.data.lines import TextFile
from falsezero.data.look_files import is_looks_file, looks_of
from falsezero.data.looks import Looks
from falsezero.data.pairs import check_dropped

__all__ = ["Listing", "holds_looks", "listing_of", "read_looks"]


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

    def check_size(self, sizes: dict[str, int], n_numbers: int) -> None:
        """Refuse so many rows, looks and columns where they would take far too much memory."""
        needed = 16 * n_numbers
        if needed > self.allowed:
            named = [f"{size} {what}" for what, size in sizes.items()]
            raise DataError(
                f"{self.source} names {', '.join(named[:-1])} and {named[-1]}, which together take "
                f"{needed / 1e9:.1f} GB of memory; number the looks of every row from 1, so that "
                "rows share them, or pass max_gigabytes= to read."
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
            return is_looks_file({name.removesuffix(".npy") for name in archive.namelist()})
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        # Damaged; the reader will report it.
        return False


def read_looks(
    path: Any, options: ReadOptions, *, look: str | None, surveyed: Any, name: Any, **named: Any
) -> Looks:
    """Read a file that `Looks.save` wrote, or a list of looks in any format that holds columns."""
    from falsezero.data.files import find_file, load_whole
    from falsezero.data.formats.npz import open_archive
    from falsezero.data.look_lists import looks_from

    file = find_file(path)
    name = name or file.name.removesuffix(".gz").rsplit(".", 1)[0]
    if look is None:
        with open_archive(file, options.max_gigabytes) as archive:
            parts = load_whole(file, ".npz", lambda: dict(archive))
        return looks_of(parts, str(file), name)
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
