"""Zip archives: one table, or the occurrences of a Darwin Core archive as GBIF hands them out."""

from __future__ import annotations

import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from falsezero.data.cells import CellNumbers
from falsezero.data.checks import Raw
from falsezero.data.errors import DataError, FileReadError, choices, quote, suggest
from falsezero.data.formats import FRAME_OPTIONS, FirstLines, Format, format_of, known_formats
from falsezero.data.formats.text import first_lines, long_text
from falsezero.data.layout import ReadOptions
from falsezero.data.limits import check_size
from falsezero.data.lines import Record, TextFile, undecodable
from falsezero.data.pairs import pairs_to_raw

_OCCURRENCES = "occurrence.txt"
_SITES = ("eventID", "locality", "locationID")
_SPECIES = ("species", "scientificName")
_STATUS = "occurrenceStatus"


def read_archive(path: Path, options: ReadOptions) -> Raw:
    """Read the table in a zip archive; `layer` names it where there are several."""
    with _unpacked(path, options) as inside:
        raw = _read(inside, replace(options, layer=None))
        return raw._replace(source=f"{path} ({inside.name})")


def _first_lines(path: Path, options: ReadOptions, n: int) -> FirstLines:
    with _unpacked(path, options) as inside:
        if inside.name == _OCCURRENCES or _is_gbif(inside):
            return first_lines(_Occurrences(inside, options.encoding, options.max_gigabytes), n)
        shown = format_of(inside).first_lines
        return ([], []) if shown is None else shown(inside, replace(options, layer=None), n)


@contextmanager
def _unpacked(path: Path, options: ReadOptions) -> Iterator[Path]:
    """The table of an archive as a file of its own, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            inside = _unpack(path, options, Path(folder))
        except DataError:
            raise
        except Exception:
            # An archive can be broken in more ways than can be listed.
            raise FileReadError(
                f"{path} is damaged, or locked with a password: its contents cannot be unpacked."
            ) from None
        try:
            yield inside
        except DataError as refusal:
            shown = f"{path} ({inside.name})"
            raise type(refusal)(str(refusal).replace(str(inside), shown)) from None


def _unpack(path: Path, options: ReadOptions, folder: Path) -> Path:
    """Write the file with the table into a folder, under the last part of its name only."""
    with zipfile.ZipFile(path) as archive:
        member = _member(path, archive, options.layer)
        check_size(path, member.file_size, options.max_gigabytes)
        inside = folder / PurePosixPath(member.filename).name
        with archive.open(member) as packed, open(inside, "xb") as file:
            shutil.copyfileobj(packed, file)
    return inside


def _member(path: Path, archive: zipfile.ZipFile, wanted: str | None) -> zipfile.ZipInfo:
    members = {m.filename: m for m in archive.infolist() if not m.is_dir()}
    if wanted is not None and wanted in members:
        return members[wanted]
    if _OCCURRENCES in members and wanted is None:
        return members[_OCCURRENCES]
    known = tuple(end for each in known_formats() for end in each.extensions if end != ".zip")
    tables = [name for name in members if name.lower().endswith(known) and "__MACOSX" not in name]
    if wanted is None and len(tables) == 1:
        return members[tables[0]]
    if wanted is not None:
        remedy = suggest(wanted, tables or members, "its files")
        raise DataError(f"{path} holds no file {quote(wanted)} for layer=; {remedy}")
    found = "no table" if not tables else f"{len(tables)} tables"
    raise DataError(f"{path} holds {found}; pass {choices('layer', tables or members)}.")


def _read(file: Path, options: ReadOptions) -> Raw:
    if file.name == _OCCURRENCES or _is_gbif(file):
        return _occurrences(file, options)
    return format_of(file).read(file, options)


def _is_gbif(file: Path) -> bool:
    """Whether a file is a simple download of GBIF, with tabs whatever its extension."""
    if file.suffix.lower() not in (".csv", ".txt"):
        return False
    with open(file, "rb") as stream:
        head = stream.readline(1 << 16).decode("utf-8", "replace").rstrip("\n").split("\t")
    return {"gbifID", "scientificName"} <= set(head)


class _Occurrences:
    """The lines of a file of occurrences that name a site and a species.

    It stands in for a `TextFile`: fields end at tabs, and quotes in them are just letters.
    """

    header = True
    cut = "\t"

    def __init__(self, path: Path, encoding: str, max_gigabytes: float | None = None):
        self.path, self.max_gigabytes, self.left_out = path, max_gigabytes, 0
        self.encoding = encoding
        self.names = next(self._lines(), (0, []))[1]
        self.needed: list[int] = []
        self.marks: dict[str, Any] = {}

    def _lines(self) -> Iterator[Record]:
        codec = TextFile(self.path, encoding=self.encoding).codec
        try:
            with open(self.path, encoding=codec, newline="") as stream:
                for number, line in enumerate(stream, start=1):
                    if line.strip():
                        yield number, line.rstrip("\r\n").split("\t")
        except UnicodeError:
            raise FileReadError(undecodable(self.path, self.encoding)) from None

    def records(self) -> Iterator[Record]:
        """The header, and every line that fills what is needed."""
        lines = self._lines()
        yield next(lines)
        for number, fields in lines:
            if all(at < len(fields) and fields[at].strip() for at in self.needed):
                yield number, fields
            else:
                self.left_out += 1

    def cells(self) -> CellNumbers:
        """What the texts of this file mean."""
        return CellNumbers(self.marks)


def _occurrences(file: Path, options: ReadOptions) -> Raw:
    """Sites by species; what GBIF calls ABSENT is a zero, and a pair that comes twice is one."""
    text = _Occurrences(file, options.encoding, options.max_gigabytes)
    row = options.row or _first_of(_SITES, text.names, "row")
    column = options.column or _first_of(_SPECIES, text.names, "column")
    text.needed = [text.names.index(name) for name in (row, column) if name in text.names]
    value = options.value or (_STATUS if _STATUS in text.names else None)
    if value == _STATUS:
        text.marks = {"": 1}
    duplicates = "max" if options.duplicates == "error" else options.duplicates
    raw = pairs_to_raw(long_text(text, row, column, value, options.drop), duplicates)
    if text.left_out:
        warnings.warn(
            f"{file.name}: left out {text.left_out} occurrences without {row} or {column}.",
            stacklevel=2,
        )
    return raw


def _first_of(candidates: tuple[str, ...], names: list[str], option: str) -> str:
    for name in candidates:
        if name in names:
            return name
    raise DataError(
        f"The archive has none of the columns {', '.join(candidates)}; pass {option}= with one of "
        f"{suggest('', names, 'its columns')}"
    )


FORMAT = Format(
    "zip",
    (".zip",),
    reader=read_archive,
    options=FRAME_OPTIONS | {"marks", "header", "skip", "delimiter", "encoding", "layer"},
    description="a zip archive",
    first_lines=_first_lines,
)
