"""MatrixMarket files, gzipped or not."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import Any

from falsezero.data.checks import Raw
from falsezero.data.errors import FileReadError
from falsezero.data.files import located
from falsezero.data.formats import Format
from falsezero.data.label_files import with_labels, with_neighbours
from falsezero.data.layout import ReadOptions
from falsezero.data.limits import check_size

_LONGEST = 1 << 16
_CHUNK = 1 << 20
_IN_NUMBERS = b"0123456789+-.eE \t\r\ninfatyINFATY"


def read_mtx(path: Path, options: ReadOptions) -> Raw:
    """Read a MatrixMarket file, gzipped or not."""
    from scipy.io import mmread

    try:
        check_size(path, _declared_bytes(path), options.max_gigabytes)
        values = mmread(path if _ends_well(path) else _completed(path), spmatrix=False)
    except FileReadError:
        raise
    except Exception as problem:
        line = re.search(r"[Ll]ine (\d+)", str(problem))
        where = f" line {line[1]}" if line else ""
        raise FileReadError(
            f"{path}{where} is damaged or cut off: it is not a complete MatrixMarket file."
        ) from None
    raw = with_neighbours(located(values, None, None, path, options.max_gigabytes), path)
    return with_labels(raw, options.rows, options.columns)


def _open(path: Path) -> Any:
    return gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb")


def _declared_bytes(path: Path) -> int:
    """Bytes that the matrix takes by what stands above its entries."""
    with _open(path) as file:
        banner = file.readline(_LONGEST).lower()
        if not banner.startswith(b"%%matrixmarket"):
            raise ValueError("Line 1 is no banner")
        sizes = _size_line(file)
    rows, columns, *entries = (int(word) for word in sizes.split())
    if min(rows, columns, *entries) < 0:
        raise ValueError("a size below zero")
    if b"coordinate" in banner:
        return 24 * entries[0] + 16 * (rows + columns)
    return 8 * rows * columns


def _size_line(file: Any) -> bytes:
    """The line below comments and blank lines."""
    line = b"%"
    while line.startswith(b"%") or (line and not line.strip()):
        line = file.readline(_LONGEST)
    return line


def _ends_well(path: Path) -> bool:
    """Whether the last line is complete; refuses entries with anything but numbers.

    scipy's reader runs beyond its buffer on text that it does not expect, most of all on NULs and
    on junk in a last line without an end.
    """
    last = b"\n"
    with _open(path) as file:
        _size_line(file)
        while chunk := file.read(_CHUNK):
            if chunk.translate(None, _IN_NUMBERS):
                raise ValueError("something that is no number")
            last = chunk[-1:]
    return last == b"\n"


def _completed(path: Path) -> io.BytesIO:
    """The file with an end of its last line."""
    with _open(path) as file:
        return io.BytesIO(file.read() + b"\n")


FORMAT = Format(
    "MatrixMarket",
    (".mtx", ".mtx.gz"),
    reader=read_mtx,
    options=frozenset({"rows", "columns"}),
    description="a matrix",
)
