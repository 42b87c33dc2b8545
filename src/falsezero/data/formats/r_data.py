"""Objects that R saved: a matrix with its dimnames, or a data frame."""

from __future__ import annotations

import bz2
import gzip
import lzma
import warnings
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from falsezero.data.checks import Raw
from falsezero.data.errors import DataError, choices, import_for, quote
from falsezero.data.files import load_whole
from falsezero.data.formats import FRAME_OPTIONS, Format
from falsezero.data.layout import ReadOptions
from falsezero.data.limits import check_size
from falsezero.data.pairs import check_dropped

_PACKED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_PART = 1 << 20
_RANGES = (b"compact_intseq", b"compact_realseq")


def read_r(path: Path, options: ReadOptions) -> Raw:
    """Read the object of an .rds file, or one of an .rda file (named by `layer` if several)."""
    from falsezero.data.frames import as_frame, frame_to_raw
    from falsezero.data.objects import from_object

    found = _object(path, options)
    raw = from_object(found, rows=None, columns=None)
    if raw is not None:
        return raw._replace(source=str(path))
    if as_frame(found) is None and getattr(found, "ndim", 0) != 2:
        raise DataError(
            f"{path} holds a {type(found).__name__} where a matrix or a data frame belongs; save "
            "as.matrix() or as.data.frame() of it."
        )
    if as_frame(found) is not None:
        found, drop = _without_counted_rows(found), options.dropped_columns
        check_dropped(str(path), drop, list(found.columns), list(found.columns), "column")
        found = found.drop(columns=list(drop))
    return frame_to_raw(found, options, str(path))


def _without_counted_rows(frame: Any) -> Any:
    """A data frame without R's automatic row names 1, 2, 3."""
    names = list(frame.index)
    counted = any(names == list(range(first, first + len(names))) for first in (0, 1))
    return frame.reset_index(drop=True) if counted else frame


def _object(path: Path, options: ReadOptions) -> Any:
    with import_for(f"{path}, an R file,", "rdata", "falsezero[r]"):
        import rdata
    _check_unpacked(path, options.max_gigabytes)
    is_single = path.suffix.lower() == ".rds"
    read = rdata.read_rds if is_single else rdata.read_rda
    load = partial(read, altrep_constructor_dict=_limited_ranges(path, options.max_gigabytes))
    with warnings.catch_warnings():
        # Classes that rdata does not know are given as what they are made of.
        warnings.simplefilter("ignore")
        found = load_whole(path, "R", lambda: load(path))
    if is_single:
        return found
    name = options.layer or (next(iter(found)) if len(found) == 1 else None)
    if name not in found:
        wanted = f"no object {quote(name)}" if name else "several objects"
        raise DataError(f"{path} has {wanted}; pass {choices('layer', found)}.")
    return found[name]


def _check_unpacked(path: Path, max_gigabytes: float | None) -> None:
    """Refuse a file that is far larger unpacked than packed."""
    with open(path, "rb") as file:
        start = file.read(6)
    size = 0
    for magic, unpack in _PACKED.items():
        if start.startswith(magic):
            for part in _parts(path, unpack):
                size += len(part)
                check_size(path, size, max_gigabytes)


def _parts(path: Path, unpack: Any) -> Iterator[bytes]:
    """The unpacked content of a file, as far as possible; the reader reports damage."""
    with suppress(OSError, EOFError, zlib.error, lzma.LZMAError), unpack(path) as stream:
        while part := stream.read(_PART):
            yield part


def _limited_ranges(path: Path, max_gigabytes: float | None) -> dict[bytes, Any]:
    """How rdata writes out what R saves in short form, ranges such as 1:1e9 within limits."""
    from rdata.parser import DEFAULT_ALTREP_MAP

    total = 0

    def limited(expand: Any) -> Any:
        def checked(state: Any) -> Any:
            nonlocal total
            total += int(8 * max(0, state.value[0]))
            check_size(path, total, max_gigabytes)
            return expand(state)

        return checked

    found = dict(DEFAULT_ALTREP_MAP)
    return found | {name: limited(found[name]) for name in _RANGES if name in found}


FORMAT = Format(
    "R",
    (".rds", ".rda", ".rdata"),
    reader=read_r,
    options=FRAME_OPTIONS | {"layer"},
    description="a file of R",
)
