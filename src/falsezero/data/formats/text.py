"""CSV and TSV files, wide or long, read once from top to bottom with exact line numbers."""

from __future__ import annotations

import re
import warnings
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from falsezero.data.advice import TextCell, ragged, remedies_for_text, total_row
from falsezero.data.cells import NotANumber, is_number
from falsezero.data.checks import Hints, Raw, empty_or_absent, only_ones_and_gaps
from falsezero.data.errors import DataError, quote, suggest
from falsezero.data.formats import FRAME_OPTIONS, FirstLines, Format
from falsezero.data.labels import (
    are_row_numbers,
    first_duplicate,
    ids_warning,
    may_be_ids,
    text_array,
)
from falsezero.data.layout import ReadOptions
from falsezero.data.limits import allowed_bytes, check_size
from falsezero.data.lines import Lines, Record, TextFile
from falsezero.data.pairs import Pairs, check_dropped, no_label, pairs_to_raw
from falsezero.data.roles import is_total

__all__ = ["FORMAT", "first_lines", "long_text", "read_text", "text_file", "wide_text"]

WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")


class _Head(NamedTuple):
    """The header: the name of every field."""

    file: Lines
    line: int
    names: list[str]

    @property
    def source(self) -> str:
        """The file, for messages."""
        return str(self.file.path)

    def position(self, wanted: str) -> int:
        """Position of a name; the error suggests similar names."""
        if wanted not in self.names:
            remedy = suggest(wanted, self.names, "its columns")
            raise DataError(f"{self.source} has no column {quote(wanted)}; {remedy}")
        return self.names.index(wanted)

    def fields(self, line: int, fields: list[str]) -> list[str]:
        """The fields of a line, one for every name; empty ones beyond the last name are nothing."""
        size = len(self.names)
        if len(fields) < size or any(field.strip() for field in fields[size:]):
            place = line, len(fields), self.line
            raise DataError(ragged(self.file, self.source, self.names, place))
        return fields[:size]


def read_text(path: Path, options: ReadOptions) -> Raw:
    """Read a file of fields, wide or long."""
    is_long, file = options.is_long, text_file(path, options)
    if is_long and options.row is not None and options.column is not None:
        pairs = long_text(file, options.row, options.column, options.value, options.drop)
        return pairs_to_raw(pairs, options.duplicates)
    return wide_text(file, options.index, options.drop)


def text_file(path: Path, options: ReadOptions) -> TextFile:
    """A text file, read as asked."""
    return TextFile(
        path,
        options.delimiter,
        options.encoding,
        options.header or options.is_long,
        options.skip,
        options.marks,
        options.max_gigabytes,
    )


def first_lines(file: Lines, n: int) -> FirstLines:
    """Names of the columns and the first n lines."""
    head, records = _header(file)
    return head.names, [fields for _, fields in islice(records, n)]


def wide_text(file: Lines, index: Any = None, drop: Sequence[str] = ()) -> Raw:
    """Read a file with one line per row and one field per column."""
    head, records = _header(file)
    kept = [position for position, name in enumerate(head.names) if name not in drop]
    at = head.position(index) if isinstance(index, str) else [*kept, 0][0]
    found = _Wide(file, head, at, index, drop).scan(records)
    named = found.names_rows()
    if named:
        found.leave_out_rows()
        found.check_row_labels()
        if index is None and at and head.names[0] in drop:
            warnings.warn(
                f"{head.source} without column {head.names[0]!r} takes its row labels from column "
                f"{head.names[at]!r}; pass index=False if that column holds values.",
                stacklevel=2,
            )
    else:
        if index is None and file.header and may_be_ids(found.labels):
            warnings.warn(ids_warning(head.source, head.names[at]), stacklevel=2)
        found.add_first_column()
    names = _column_names(head, found.columns, at if named else None) if file.header else None
    found.check()
    rows = whole_or_text(found.labels) if named else None
    described = head.source, found.place, found.hint, found.asks_of_empty
    return Raw(found.matrix, rows, names, *described)


class _Wide:
    """A wide file while it is read: its labels, and its cells as a sparse matrix."""

    def __init__(self, file: Lines, head: _Head, at: int, index: Any, drop: Sequence[str]):
        self.file, self.head, self.at, self.index, self.drop = file, head, at, index, drop
        self.cells = file.cells()
        self.lines = array("q")
        self.labels: list[str] = []
        self.blank: list[bool] = []
        others = [name for position, name in enumerate(head.names) if position != at]
        self.picked = [position for position, name in enumerate(others) if name not in drop]
        self.columns = [others[position] for position in self.picked]
        self.matrix: Any = None

    def scan(self, records: Iterator[Record]) -> _Wide:
        """Read every line."""
        rest = _Sparse(len(self.columns), self.file)
        all_picked = len(self.picked) == len(self.head.names) - 1
        for line, record in records:
            fields = self.head.fields(line, record)
            label = fields.pop(self.at).strip()
            if not all_picked:
                fields = [fields[position] for position in self.picked]
            try:
                rest.append([self.cells[field] for field in fields])
            except NotANumber as bad:
                column = self.columns[fields.index(bad.args[0])]
                message = self._not_a_number(line, column, bad.args[0], label)
                raise DataError(message) from None
            self.blank.append(not label and not any(field.strip() for field in fields))
            self.lines.append(line)
            self.labels.append(label)
        known = (*self.head.names, *self.labels)
        for name in self.drop:
            if name not in known:
                remedy = suggest(name, known, "its columns and rows")
                raise DataError(
                    f"{self.head.source} has no column or row {quote(name)} to drop; {remedy}"
                )
        self.matrix = rest.matrix()
        return self

    def names_rows(self) -> bool:
        """Whether the first field of a line is the name of its row."""
        if self.index is None:
            return (
                self.head.names[self.at] == ""
                or not all(map(is_number, self.labels))
                or (all(map(WHOLE.fullmatch, self.labels)) and are_row_numbers(self.labels))
            )
        return self.index is not False

    def leave_out_rows(self) -> None:
        """Leave out rows that are not wanted, and lines in which there is nothing."""
        rows = enumerate(zip(self.labels, self.blank, strict=True))
        kept = [row for row, (label, blank) in rows if not blank and label not in self.drop]
        if len(kept) < len(self.labels):
            self.matrix = self.matrix[kept]
            self.labels = [self.labels[row] for row in kept]
            self.lines = array("q", [self.lines[row] for row in kept])

    def check_row_labels(self) -> None:
        """Check that every row has a name of its own."""
        source, labels, lines = self.head.source, self.labels, self.lines
        if "" in labels:
            line, name = lines[labels.index("")], self.head.names[self.at]
            raise DataError(f"{source} line {line} has no row label in column {quote(name)}.")
        twice = first_duplicate(text_array(labels))
        if twice is not None:
            one, two = twice
            remedy = "" if self.index else ", or pass index=False if the first column holds values"
            raise DataError(
                f"{source} line {lines[two]} repeats the row label {quote(labels[two])} of line "
                f"{lines[one]}; give every row a name of its own{remedy}."
            )

    def add_first_column(self) -> None:
        """Treat the first field of every line as a value, not as a label."""
        name, fields = self.head.names[self.at], self.labels
        try:
            first = np.array([self.cells[field] for field in fields], dtype=np.float64)
        except NotANumber as bad:
            line = self.lines[fields.index(bad.args[0])]
            raise DataError(self._not_a_number(line, name, bad.args[0])) from None
        self.matrix = sp.hstack([sp.csr_array(first[:, None]), self.matrix], format="csr")
        self.columns = [name, *self.columns]

    def check(self) -> None:
        """Refuse a file that was cut at the wrong character, or whose empty cells may be zeros."""
        source = self.head.source
        if not self.columns and not self.drop:
            cut = self.file.cut
            remedy = "; pass delimiter= to say what separates them" if len(cut) == 1 else ""
            where = repr(cut) if remedy else cut
            raise DataError(f"{source} has one field per line where fields end at {where}{remedy}.")
        if self.asks_of_empty and only_ones_and_gaps(self.matrix):
            raise DataError(empty_or_absent(source))

    @property
    def asks_of_empty(self) -> bool:
        """Whether there are empty cells whose meaning was not given."""
        return "" in self.cells and "" not in self.cells.marks

    def place(self, row: int, column: int) -> str:
        """Name one cell."""
        return f"{self.head.source} line {self.lines[row]}, column {quote(self.columns[column])}"

    def hint(self, row: int, column: int, value: float) -> Hints:
        """More remedies for a value that is neither 0 nor 1."""
        if not self.file.header:
            return [], []
        hints: list[str] = []
        first, name = total_row(self.labels[row]), self.columns[column]
        if column == 0 and name == self.head.names[self.at] and self.index is None:
            wanted = first if may_be_ids(self.labels) else hints
            wanted.append(f"index={quote(name)} if that column names the rows")
        if value < 0:
            hints.append(f"marks={{'{value:g}': None}} if it means not observed")
        drop = f"drop={quote(name)} to leave that column out"
        if is_total(name):
            return [drop], hints
        return first, [*hints, drop]

    def _not_a_number(self, line: int, column: str, text: str, label: str = "") -> str:
        names, found = self.head.names, TextCell(column, text, label)
        ways = remedies_for_text(self.file, names, found, names[self.at], self.index, self.drop)
        return (
            f"{self.head.source} line {line}, column {quote(column)} holds {quote(text)} where a "
            f"number belongs; pass {ways}."
        )


def long_text(
    file: Lines,
    row: str | None,
    column: str | None,
    value: str | None,
    drop: Sequence[str] = (),
) -> Pairs:
    """Read a file with one line per pair of row and column, and perhaps a value.

    Lines whose row or column is called by a name in `drop` are left out, as "" those without one.
    """
    head, records = _header(file)
    name = head.source
    if row is None or column is None:
        if len(head.names) < 2:
            raise DataError(f"{name} has one column, but a list of pairs needs two.")
        row, column = head.names[:2]
    a, b = head.position(row), head.position(column)
    c = None if value is None else head.position(value)
    rows: dict[str, int] = {}
    columns: dict[str, int] = {}
    lines, row_codes, column_codes = array("q"), array("q"), array("q")
    values, cells, left_out = array("d"), file.cells(), set[str]()
    for line, record in records:
        if not any(field.strip() for field in record):
            continue
        fields = head.fields(line, record)
        pair = fields[a].strip(), fields[b].strip()
        if unwanted := {*pair} & {*drop}:
            left_out |= unwanted
            continue
        if not all(pair):
            raise DataError(no_label(f"{name} line {line}", column if pair[0] else row))
        row_codes.append(rows.setdefault(pair[0], len(rows)))
        column_codes.append(columns.setdefault(pair[1], len(columns)))
        lines.append(line)
        if c is not None:
            try:
                values.append(cells[fields[c]])
            except NotANumber:
                raise DataError(
                    f"{name} line {line}, column {value!r} holds {quote(fields[c])} where a number "
                    "belongs; leave a value that was not observed empty."
                ) from None

    check_dropped(name, drop, left_out, (*rows, *columns))

    def place(entry: int) -> str:
        return f"{name} line {lines[entry]}"

    codes = np.array(row_codes, dtype=np.intp), np.array(column_codes, dtype=np.intp)
    known = whole_or_text(list(rows)), whole_or_text(list(columns))
    numbers = np.ones(len(lines)) if c is None else np.array(values)
    return Pairs(*codes, numbers, *known, name, place)


def whole_or_text(labels: list[str]) -> NDArray[Any]:
    """Turn labels of a text file into whole numbers when all of them are.

    >>> whole_or_text(["3", "10"]), whole_or_text(["03", "10"])
    (array([ 3, 10]), array(['03', '10'], dtype='<U2'))
    """
    if labels and all(WHOLE.fullmatch(label) for label in labels):
        return np.array([int(label) for label in labels], dtype=np.int64)
    return text_array(labels)


class _Sparse:
    """Rows of numbers gathered into a csr_array without ever being dense together."""

    def __init__(self, n_columns: int, file: Lines) -> None:
        self.n_columns, self.file = n_columns, file
        self.allowed = allowed_bytes(file.path, file.max_gigabytes)
        self.indices: list[NDArray[np.intp]] = [np.empty(0, dtype=np.intp)]
        self.data: list[NDArray[np.float64]] = [np.empty(0)]
        self.indptr = array("q", [0])

    def append(self, numbers: list[float]) -> None:
        row = np.array(numbers, dtype=np.float64)
        filled = row.nonzero()[0]
        self.indices.append(filled)
        self.data.append(row[filled])
        self.indptr.append(self.indptr[-1] + filled.size)
        if 16 * self.indptr[-1] > self.allowed:
            check_size(self.file.path, 16 * self.indptr[-1], self.file.max_gigabytes)

    def matrix(self) -> Any:
        data, indices = np.concatenate(self.data), np.concatenate(self.indices)
        shape = (len(self.indptr) - 1, self.n_columns)
        return sp.csr_array((data, indices, np.array(self.indptr)), shape=shape)


def _header(file: Lines) -> tuple[_Head, Iterator[Record]]:
    records = file.records()
    head = next(records, None)
    if head is None:
        raise DataError(f"{file.path} is empty.")
    line, names = head[0], [field.strip() for field in head[1]]
    if not file.header:
        numbered = [str(position) for position in range(len(names))]
        return _Head(file, line, numbered), _again(head, records)
    width = len(names)
    while len(names) > 1 and not names[-1]:
        names.pop()
    first = next(records, None)
    if first is None:
        raise DataError(f"{file.path} has a header but no rows below it.")
    # R writes no name above the row names; an empty last field is the work of Excel.
    if len(first[1]) == width + 1 and first[1][-1].strip():
        names.insert(0, "")
    return _Head(file, line, names), _again(first, records)


def _again(first: Record, records: Iterator[Record]) -> Iterator[Record]:
    yield first
    yield from records


def _column_names(head: _Head, columns: list[str], label_at: int | None) -> NDArray[Any]:
    if "" in columns:
        field = columns.index("") + 1
        field += label_at is not None and field > label_at
        raise DataError(f"{head.source} line {head.line} has no column name in field {field}.")
    twice = first_duplicate(text_array(columns, "column")) if columns else None
    if twice is not None:
        raise DataError(
            f"{head.source} line {head.line} uses the column name {quote(columns[twice[1]])} "
            "twice; give every column a name of its own, or pass header=False if that line holds "
            "values."
        )
    return whole_or_text(columns)


FORMAT = Format(
    "text",
    (".csv", ".tsv", ".tab", ".txt"),
    reader=read_text,
    options=FRAME_OPTIONS | {"marks", "header", "skip", "delimiter", "encoding"},
    first_lines=lambda path, options, n: first_lines(text_file(path, options), n),
)
