"""CSV and TSV files, wide or long, read once from top to bottom with exact line numbers."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from falsezero.data.cells import Cells, NotANumber
from falsezero.data.checks import Raw
from falsezero.data.errors import DataError, FileReadError, suggest
from falsezero.data.labels import first_duplicate
from falsezero.data.pairs import Pairs

__all__ = ["TextFile", "long_text", "wide_text"]

WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
Record = tuple[int, list[str]]


class TextFile(NamedTuple):
    """A text file and how its lines are cut into fields."""

    path: Path
    delimiter: str | None = None
    encoding: str = "utf-8"
    header: bool = True

    def records(self) -> Iterator[Record]:
        """Walk over the lines that are not blank: line number from 1, and its fields."""
        delimiter = self.delimiter or _sniff(self)
        start = 1
        try:
            with _open(self.path, "rt", self._codec) as handle:
                reader = csv.reader(handle, delimiter=delimiter, strict=True)
                for fields in reader:
                    line, start = start, reader.line_num + 1
                    if fields:
                        yield line, fields
        except csv.Error:
            raise FileReadError(
                f"{self.path} line {start} opens a quote that is never closed properly; "
                "the file may be cut off, or the quote needs doubling."
            ) from None
        except UnicodeDecodeError:
            raise FileReadError(_undecodable(self)) from None
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise FileReadError(_damaged(self.path)) from None

    @property
    def _codec(self) -> str:
        is_utf8 = codecs.lookup(self.encoding).name == "utf-8"
        return "utf-8-sig" if is_utf8 else self.encoding


def wide_text(file: TextFile, index: Any = None) -> Raw:
    """Read a file with one line a row and one field a column."""
    name = str(file.path)
    header, records = _header(file)
    at = _position(header, index, name) if isinstance(index, str) else 0
    lines, labels, values = _scan(name, header, records, at)
    named = index is not False and (isinstance(index, str) or _names_rows(header[at], labels))
    if named:
        _check_row_labels(name, labels, lines, header[at], index)
        columns = header[:at] + header[at + 1 :]
    else:
        first = _first_column(name, labels, lines, header[at])
        values, columns = sp.hstack([sp.csr_array(first[:, None]), values]), header
    names = _column_names(name, columns, at if named else None) if file.header else None

    def place(row: int, column: int) -> str:
        return f"{name} line {lines[row]}, column {columns[column]!r}"

    def hint(column: int) -> str:
        first_may_name = column == 0 and not named and index is None and file.header
        return f", or index={columns[0]!r} if that column names the rows" * first_may_name

    return Raw(values, whole_or_text(labels) if named else None, names, name, place, hint)


def _scan(
    name: str, header: list[str], records: Iterator[Record], at: int
) -> tuple[array[int], list[str], Any]:
    lines, labels, rest = array("q"), [], _Sparse(len(header) - 1)
    cells = Cells()
    for line, fields in records:
        if len(fields) != len(header):
            raise DataError(_ragged(name, line, len(fields), len(header)))
        label = fields.pop(at)
        try:
            rest.append([cells[field] for field in fields])
        except NotANumber as bad:
            column = fields.index(bad.args[0])
            column += column >= at
            raise DataError(_not_a_number(name, line, header[column], bad.args[0])) from None
        lines.append(line)
        labels.append(label.strip())
    return lines, labels, rest.matrix()


def long_text(file: TextFile, row: str | None, column: str | None, value: str | None) -> Pairs:
    """Read a file with one line a pair of row and column, and perhaps a value."""
    name = str(file.path)
    header, records = _header(file)
    if row is None or column is None:
        if len(header) < 2:
            raise DataError(f"{name} has one column, but a list of pairs needs two.")
        row, column = header[0], header[1]
    a, b = _position(header, row, name), _position(header, column, name)
    c = None if value is None else _position(header, value, name)
    rows: dict[str, int] = {}
    columns: dict[str, int] = {}
    lines, row_codes, column_codes = array("q"), array("q"), array("q")
    values, cells = array("d"), Cells()
    for line, fields in records:
        if len(fields) != len(header):
            raise DataError(_ragged(name, line, len(fields), len(header)))
        pair = fields[a].strip(), fields[b].strip()
        if not all(pair):
            empty = column if pair[0] else row
            raise DataError(f"{name} line {line} has no label in column {empty!r}.")
        row_codes.append(rows.setdefault(pair[0], len(rows)))
        column_codes.append(columns.setdefault(pair[1], len(columns)))
        lines.append(line)
        if c is not None:
            try:
                values.append(cells[fields[c]])
            except NotANumber:
                raise DataError(
                    f"{name} line {line}, column {value!r} holds {fields[c]!r} where a number "
                    "belongs; leave a value that was not observed empty."
                ) from None

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
    return np.array(labels, dtype=np.str_)


class _Sparse:
    """Rows of numbers gathered into a csr_array without ever being dense together."""

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns
        self.indices: list[NDArray[np.intp]] = [np.empty(0, dtype=np.intp)]
        self.data: list[NDArray[np.float64]] = [np.empty(0)]
        self.indptr = array("q", [0])

    def append(self, numbers: list[float]) -> None:
        row = np.array(numbers, dtype=np.float64)
        filled = row.nonzero()[0]
        self.indices.append(filled)
        self.data.append(row[filled])
        self.indptr.append(self.indptr[-1] + filled.size)

    def matrix(self) -> Any:
        data, indices = np.concatenate(self.data), np.concatenate(self.indices)
        shape = (len(self.indptr) - 1, self.n_columns)
        return sp.csr_array((data, indices, np.array(self.indptr)), shape=shape)


def _open(path: Path, mode: str, encoding: str | None = None) -> Any:
    newline = "" if "t" in mode else None
    if path.suffix.lower() == ".gz":
        return gzip.open(path, mode, encoding=encoding, newline=newline)
    return open(path, mode.replace("t", ""), encoding=encoding, newline=newline)


def _sniff(file: TextFile) -> str:
    path = file.path
    try:
        with _open(path, "rb") as handle:
            sample = handle.read(1 << 16)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise FileReadError(_damaged(path)) from None
    if not sample.strip():
        raise DataError(f"{path} is empty.")
    if sample[:2] in (b"\xff\xfe", b"\xfe\xff") and file._codec == "utf-8-sig":
        raise FileReadError(f"{path} is UTF-16 text; pass encoding='utf-16'.")
    if b"\0" in sample and file._codec == "utf-8-sig":
        raise FileReadError(f"{path} holds binary data, not text; check its extension.")
    if path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        return "\t"
    first = next(line for line in sample.decode(file._codec, "replace").splitlines() if line)
    bare = re.sub(r'"[^"]*"', "", first)
    return max(",;\t", key=bare.count)


def _header(file: TextFile) -> tuple[list[str], Iterator[Record]]:
    records = file.records()
    head = next(records, None)
    if head is None:
        raise DataError(f"{file.path} is empty.")
    if not file.header:
        numbered = [str(position) for position in range(len(head[1]))]
        return numbered, _again(head, records)
    header = [field.strip() for field in head[1]]
    first = next(records, None)
    if first is None:
        raise DataError(f"{file.path} has a header but no rows below it.")
    if len(first[1]) == len(header) + 1 and _is_text(first[1][0]):
        header.insert(0, "")
    return header, _again(first, records)


def _again(first: Record, records: Iterator[Record]) -> Iterator[Record]:
    yield first
    yield from records


def _position(header: list[str], wanted: str, name: str) -> int:
    if wanted not in header:
        raise DataError(
            f"{name} has no column {wanted!r}; {suggest(wanted, header, 'its columns')}"
        )
    return header.index(wanted)


def _is_text(field: str) -> bool:
    try:
        Cells()[field]
    except NotANumber:
        return True
    return False


def _names_rows(head: str, labels: list[str]) -> bool:
    return head == "" or any(_is_text(label) for label in labels)


def _first_column(name: str, fields: list[str], lines: Any, head: str) -> NDArray[np.float64]:
    cells = Cells()
    try:
        return np.array([cells[field] for field in fields], dtype=np.float64)
    except NotANumber as bad:
        line = lines[fields.index(bad.args[0])]
        raise DataError(_not_a_number(name, line, head, bad.args[0])) from None


def _check_row_labels(name: str, labels: list[str], lines: Any, head: str, index: Any) -> None:
    if "" in labels:
        line = lines[labels.index("")]
        raise DataError(f"{name} line {line} has no row label in column {head!r}.")
    twice = first_duplicate(np.array(labels))
    if twice is not None:
        one, two = twice
        mend = "" if index else ", or pass index=False if the first column holds values"
        raise DataError(
            f"{name} line {lines[two]} repeats the row label {labels[two]!r} of line "
            f"{lines[one]}; give every row a name of its own{mend}."
        )


def _column_names(name: str, columns: list[str], label_at: int | None) -> NDArray[Any]:
    if "" in columns:
        field = columns.index("") + 1
        field += label_at is not None and field > label_at
        raise DataError(f"{name} line 1 has no column name in field {field}.")
    twice = first_duplicate(np.array(columns)) if columns else None
    if twice is not None:
        raise DataError(
            f"{name} line 1 uses the column name {columns[twice[1]]!r} twice; give every column "
            "a name of its own, or pass header=False if the first line holds values."
        )
    return whole_or_text(columns)


def _ragged(name: str, line: int, found: int, expected: int) -> str:
    cut = "; the file may be cut off there" if found < expected else ""
    fields = "1 field" if found == 1 else f"{found} fields"
    return f"{name} line {line} has {fields} where the header has {expected}{cut}."


def _not_a_number(name: str, line: int, column: str, text: str) -> str:
    return (
        f"{name} line {line}, column {column!r} holds {text!r} where a number belongs; leave a "
        f"cell that was not observed empty, or pass index={column!r} if that column names the "
        "rows, or row= and column= if every line is one pair."
    )


def _damaged(path: Path) -> str:
    return f"{path} is damaged or cut off: it is not a complete gzip file."


def _undecodable(file: TextFile) -> str:
    with _open(file.path, "rb") as handle:
        numbered = enumerate(handle, start=1)
        line = next((line for line, text in numbered if not _decodes(text, file.encoding)), 1)
    mend = "save it as UTF-8 or pass encoding=, such as encoding='latin-1'"
    return f"{file.path} line {line} is not {file.encoding.upper()} text; {mend}."


def _decodes(text: bytes, encoding: str) -> bool:
    try:
        text.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
