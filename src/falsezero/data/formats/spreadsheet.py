"""Spreadsheets of Excel and LibreOffice: one sheet, read like a text file."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from falsezero.data.cells import CellNumbers
from falsezero.data.checks import Raw
from falsezero.data.errors import DataError, choices, import_for, suggest
from falsezero.data.files import load_whole
from falsezero.data.formats import FRAME_OPTIONS, Format
from falsezero.data.formats._probe import probed
from falsezero.data.formats.npz import unpacked_bytes
from falsezero.data.formats.text import first_lines, long_text, wide_text
from falsezero.data.layout import ReadOptions
from falsezero.data.limits import check_size
from falsezero.data.lines import Record
from falsezero.data.pairs import pairs_to_raw

_BYTES_A_CELL = 40


class Sheet(NamedTuple):
    """One sheet of a workbook, with what the readers of text files ask of theirs."""

    path: Path
    lines: list[list[Any]]
    header: bool
    skip: int
    marks: Mapping[str, Any]
    max_gigabytes: float | None = None
    others: tuple[str, ...] = ()
    """Sheets that might have been meant."""
    cut: str = "the edges of cells"

    def records(self) -> Iterator[Record]:
        """Walk over the lines that are not blank: line number from 1, and its fields as text."""
        for number, line in enumerate(self.lines, start=1):
            fields = [_text(value) for value in line]
            if number > self.skip and any(field.strip() for field in fields):
                yield number, fields

    def cells(self) -> CellNumbers:
        """What the texts of this sheet mean."""
        return CellNumbers(self.marks)


def read_spreadsheet(path: Path, options: ReadOptions) -> Raw:
    """Read a sheet, wide or long; the first one that is not empty unless `layer` names another."""
    is_long, sheet = options.is_long, _sheet_of(path, options)
    try:
        if is_long and options.row is not None and options.column is not None:
            row, column, drop = options.row, options.column, options.drop
            pairs = long_text(sheet, row, column, options.value, drop)
            return pairs_to_raw(pairs, options.duplicates)
        return wide_text(sheet, options.index, options.drop)
    except DataError as problem:
        if not sheet.others:
            raise
        other = choices("layer", sheet.others)
        raise DataError(
            f"{str(problem).removesuffix('.')}, or pass {other} for another sheet."
        ) from None


def _sheet_of(path: Path, options: ReadOptions) -> Sheet:
    header = options.header or options.is_long
    lines, others = _lines(path, options)
    marks, limit = options.marks, options.max_gigabytes
    return Sheet(path, lines, header, options.skip, marks, limit, others)


def _lines(path: Path, options: ReadOptions) -> tuple[list[list[Any]], tuple[str, ...]]:
    """The lines of a sheet, and the names of those that might have been meant instead."""
    with import_for(f"{path}, a spreadsheet,", "python-calamine", "falsezero[excel]"):
        import python_calamine
    if zipfile.is_zipfile(path):
        declared = load_whole(path, "spreadsheet", lambda: unpacked_bytes(path))
        check_size(path, declared, options.max_gigabytes)
    probe = probed(path, "_probe_spreadsheet.py", "spreadsheet", options.layer or "")
    if probe is not None:
        check_size(path, _BYTES_A_CELL * probe["cells"], options.max_gigabytes)
    # From its bytes the kind of a workbook is seen, whatever its name says.
    content = BytesIO(path.read_bytes())
    book = load_whole(path, "spreadsheet", lambda: python_calamine.load_workbook(content))
    name = options.layer
    if name is not None and name not in book.sheet_names:
        raise DataError(
            f"{path} has no sheet {name!r} for layer=; "
            f"{suggest(name, book.sheet_names, 'its sheets')}"
        )
    for each in [name] if name is not None else book.sheet_names:
        lines: list[list[Any]] = load_whole(path, "spreadsheet", partial(_sheet, book, each))
        if lines:
            return lines, tuple(n for n in book.sheet_names if n != each and name is None)
    raise DataError(f"{path} is empty.")


def _sheet(book: Any, name: str) -> list[list[Any]]:
    return list(book.get_sheet_by_name(name).to_python(skip_empty_area=False))


def _text(value: Any) -> str:
    """A cell as somebody would type it: 3 for 3.0, 1 for a ticked box."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.15g}"
    return str(value)


FORMAT = Format(
    "spreadsheet",
    (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"),
    reader=read_spreadsheet,
    options=FRAME_OPTIONS | {"marks", "header", "skip", "layer"},
    description="a spreadsheet",
    first_lines=lambda path, options, n: first_lines(_sheet_of(path, options), n),
)
