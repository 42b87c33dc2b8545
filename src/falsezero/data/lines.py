"""A text file as numbered lines of fields: its encoding, its delimiter, what stands above it."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from falsezero.data.cells import CellNumbers
from falsezero.data.errors import DataError, FileReadError, quote, suggest
from falsezero.data.limits import allowed_bytes, check_size

__all__ = ["Lines", "Record", "TextFile", "undecodable"]

Record = tuple[int, list[str]]

NAMED = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
ABOVE = ("#", "sep=")
"""What comments above a table begin with; Excel writes sep=; there."""

NO_TEXT = {
    b"PK\x03\x04": "a zip archive; give it a name that ends in .zip, or .xlsx for a workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; give it a name that ends in .xls",
    b"%PDF": "a PDF document; ask its authors for the table as CSV",
    b"\x1f\x8b": "compressed (gzip); give it a name that ends in .gz, or unpack it",
    b"PAR1": "a Parquet file; give it a name that ends in .parquet",
    b"\x93NUMPY": "a NumPy file; give it a name that ends in .npy",
    b"\x89HDF": "an HDF5 file; give it a name that ends in .h5ad if it holds AnnData",
    b"{": "a JSON file; save the table as CSV",
    b"<": "an HTML or XML page; save the table as CSV",
}


_BELOW = 6
"""Lines that together show the delimiter, if the first line does not."""

_BYTES_A_CHARACTER = 8
_BYTES_A_LINE = 100
"""What text takes once it is cut into fields, and a line once it is read, roughly."""


class Lines(Protocol):
    """What the readers of wide and long tables ask of a file: numbered lines of text fields."""

    @property
    def path(self) -> Path:
        """The file, for messages."""

    @property
    def header(self) -> bool:
        """Whether the first line names the columns."""

    @property
    def cut(self) -> str:
        """What separates fields."""

    @property
    def max_gigabytes(self) -> float | None:
        """Memory that the file may ask for."""

    def records(self) -> Iterator[Record]:
        """Line numbers from 1, and the fields of each line that is not blank."""

    def cells(self) -> CellNumbers:
        """What texts mean."""


class TextFile(NamedTuple):
    """A text file, how its lines are cut into fields, and what marks in them mean."""

    path: Path
    delimiter: str | None = None
    encoding: str = "utf-8"
    header: bool = True
    skip: int = 0
    marks: Mapping[str, Any] = MappingProxyType({})
    max_gigabytes: float | None = None

    def records(self) -> Iterator[Record]:
        """Walk over the lines that are not blank: line number from 1, and its fields.

        Comments above the table, lines that begin with # and have another width, are left out.
        """
        held: list[Record] = []
        records = self._records()
        for record in records:
            if record[1][0].lstrip().startswith(ABOVE):
                held.append(record)
                continue
            yield from (above for above in held if len(above[1]) == len(record[1]) > 1)
            yield record
            yield from records
            return
        yield from held

    def cells(self) -> CellNumbers:
        """What the texts of this file mean; where fields end at a semicolon, 0,5 is a half."""
        return CellNumbers(self.marks, decimal="," if self.cut == ";" else ".")

    @property
    def cut(self) -> str:
        """What separates fields: as given, or as the first lines suggest."""
        if self.delimiter is None:
            return _sniff(self)
        named = NAMED.get(self.delimiter, self.delimiter)
        if len(named) != 1 or named in '"\r\n':
            raise DataError(
                f"delimiter={quote(self.delimiter)} does not separate fields; give one character, "
                "such as delimiter=';', or 'tab' or 'space'."
            )
        return named

    def _records(self) -> Iterator[Record]:
        cut, above = self.cut, max(self.skip, 0)
        start = above + 1
        try:
            with _open(self.path, "rt", self.codec) as handle:
                lines: Iterator[str] = islice(self._lines(handle), above, None)
                if cut == " ":
                    lines = (line.lstrip(" ") for line in lines)
                reader = csv.reader(lines, delimiter=cut, strict=True, skipinitialspace=cut == " ")
                for fields in reader:
                    line, start = start, above + reader.line_num + 1
                    if fields:
                        yield line, fields
        except csv.Error as problem:
            if "field larger than" in str(problem):
                raise FileReadError(
                    f"{self.path} line {start} has a field of more than {csv.field_size_limit()} "
                    "characters; check delimiter=, or whether a quote is never closed."
                ) from None
            raise FileReadError(
                f"{self.path} line {start} opens a quote that is never closed properly; "
                "the file may be cut off, or the quote needs doubling."
            ) from None
        except UnicodeError:
            raise FileReadError(undecodable(self.path, self.encoding)) from None
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise FileReadError(_damaged(self.path)) from None

    def _lines(self, handle: Any) -> Iterator[str]:
        """The lines, for as long as they take no more memory than the file may ask for."""
        allowed = allowed_bytes(self.path, self.max_gigabytes)
        longest = allowed // _BYTES_A_CHARACTER
        number = 0
        while line := handle.readline(longest):
            number += 1
            if len(line) >= longest or number * _BYTES_A_LINE > allowed:
                needed = max((len(line) + 1) * _BYTES_A_CHARACTER, number * _BYTES_A_LINE)
                check_size(self.path, needed, self.max_gigabytes)
            yield line

    @property
    def codec(self) -> str:
        """The encoding, with which a mark at the beginning of the file is no part of a name."""
        try:
            is_utf8 = codecs.lookup(self.encoding).name == "utf-8"
        except LookupError:
            common = ("utf-8", "latin-1", "cp1252", "utf-16")
            remedy = suggest(self.encoding, common, "try one of")
            raise DataError(f"encoding={quote(self.encoding)} is not known; {remedy}") from None
        return "utf-8-sig" if is_utf8 else self.encoding


def _open(path: Path, mode: str, encoding: str | None = None) -> Any:
    newline = "" if "t" in mode else None
    if path.suffix.lower() == ".gz":
        return gzip.open(path, mode, encoding=encoding, newline=newline)
    return open(path, mode.replace("t", ""), encoding=encoding, newline=newline)


def _sniff(file: TextFile) -> str:
    sample = _checked_sample(file)
    if file.path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab")):
        return "\t"
    lines = sample.decode(file.codec, "replace").splitlines()[max(file.skip, 0) :]
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise DataError(f"{file.path} is empty.")
    # A quoted name may hold anything, and so may a comment.
    bare = [re.sub(r'"[^"]*"', "q", line) for line in lines if not line.startswith(ABOVE)]
    first, second = [*(bare or lines), "", ""][:2]
    best = max(",;\t", key=first.count)
    if best in first and (best in second or not second):
        return best
    below = bare[1:_BELOW]
    widths = {len(line.split()) for line in below}
    if best not in first:
        if "|" in first:
            return "|"
        if len(widths) == 1 and max(widths) > 1 and max(widths) - len(first.split()) in (0, 1):
            return " "
    # A title may stand above the table, with commas of its own.
    is_title = len(below) > 1
    return next((cut for cut in ";\t," if is_title and all(cut in x for x in below)), best)


def _checked_sample(file: TextFile) -> bytes:
    """The first bytes, unless they belong to another kind of file."""
    path = file.path
    try:
        with _open(path, "rb") as handle:
            sample: bytes = handle.read(1 << 16)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise FileReadError(_damaged(path)) from None
    for magic, kind in NO_TEXT.items():
        if sample.startswith(magic):
            raise FileReadError(f"{path} is {kind}.")
    if not sample.strip():
        raise DataError(f"{path} is empty.")
    if sample[:2] in (b"\xff\xfe", b"\xfe\xff") and file.codec == "utf-8-sig":
        raise FileReadError(f"{path} is UTF-16 text; pass encoding='utf-16'.")
    if b"\0" in sample and file.codec == "utf-8-sig":
        raise FileReadError(f"{path} holds binary data, not text; check its extension.")
    return sample


def _damaged(path: Path) -> str:
    return f"{path} is damaged or cut off: it is not a complete gzip file."


def undecodable(path: Path, encoding: str) -> str:
    """What to say of a file that is not text in an encoding."""
    with _open(path, "rb") as handle:
        numbered = enumerate(handle, start=1)
        line = next((line for line, text in numbered if not _decodes(text, encoding)), 1)
    remedy = "save it as UTF-8 or pass encoding=, such as encoding='latin-1'"
    return f"{path} line {line} is not {encoding.upper()} text; {remedy}."


def _decodes(text: bytes, encoding: str) -> bool:
    try:
        text.decode(encoding)
    except UnicodeError:
        return False
    return True
