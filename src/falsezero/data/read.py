"""The door: any table that people have, from a file or from memory, becomes a `Table`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from falsezero.data.checks import Raw, admit
from falsezero.data.errors import DataError
from falsezero.data.table import Table

__all__ = ["as_table"]


def as_table(
    obj: Any,
    *,
    row: str | None = None,
    column: str | None = None,
    value: str | None = None,
    surveyed: Any = None,
    binarize: float | None = None,
    kind: str = "binary",
    index: str | bool | None = None,
    duplicates: str = "error",
    layer: str | None = None,
    rows: Any = None,
    columns: Any = None,
    name: str | None = None,
) -> Table:
    """Make a `Table` of anything that holds one."""
    if isinstance(obj, Table):
        raw = Raw(
            obj.values,
            obj.rows if rows is None else rows,
            obj.columns if columns is None else columns,
        )
        return admit(raw, kind=kind, binarize=binarize, name=name or obj.name)
    raw = _raw(obj, row, column, value, index, duplicates, layer, rows, columns)
    return admit(raw, kind=kind, binarize=binarize, name=name)


def _raw(obj, row, column, value, index, duplicates, layer, rows, columns) -> Raw:
    if isinstance(obj, np.ndarray | list | tuple) or sp.issparse(obj):
        return Raw(obj, rows, columns)
    from falsezero.data.frames import as_frame, long_frame, wide_frame
    from falsezero.data.objects import from_object
    from falsezero.data.pairs import pairs_to_raw

    raw = from_object(obj, layer=layer, value=value, rows=rows, columns=columns)
    if raw is not None:
        return raw
    frame = as_frame(obj)
    if frame is None:
        raise DataError(f"A {type(obj).__name__} is not a table.")
    if row is not None and column is not None:
        return pairs_to_raw(long_frame(frame, row, column, value), duplicates)
    raw = wide_frame(frame, index)
    return raw._replace(
        rows=raw.rows if rows is None else rows, columns=raw.columns if columns is None else columns
    )
