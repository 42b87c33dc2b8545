"""Objects that R saved: a matrix with its dimnames, or a data frame."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from falsezero.data.checks import Raw
from falsezero.data.errors import DataError, suggest
from falsezero.data.files import load_whole
from falsezero.data.formats import FRAME_OPTIONS, Format
from falsezero.data.layout import ReadOptions


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
    if as_frame(found) is not None and options.drop:
        found = found.drop(columns=list(options.drop))
    return frame_to_raw(found, options, str(path))


def _object(path: Path, options: ReadOptions) -> Any:
    try:
        import rdata
    except ImportError:
        raise DataError(
            f"{path} is a file of R, which needs rdata: pip install falsezero[r]."
        ) from None
    is_single = path.suffix.lower() == ".rds"
    load = rdata.read_rds if is_single else rdata.read_rda
    with warnings.catch_warnings():
        # Classes that rdata does not know are given as what they are made of.
        warnings.simplefilter("ignore")
        found = load_whole(path, "R", lambda: load(path))
    if is_single:
        return found
    name = options.layer or (next(iter(found)) if len(found) == 1 else None)
    if name not in found:
        wanted = "no object of that name" if name else "several objects"
        raise DataError(
            f"{path} has {wanted}; pass layer= with one of {suggest('', found, 'its objects')}"
        )
    return found[name]


FORMAT = Format(
    "R",
    (".rds", ".rda", ".rdata"),
    reader=read_r,
    options=FRAME_OPTIONS | {"layer"},
    description="a file of R",
)
