"""Feather and Arrow files, wide or long."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from falsezero.data.checks import Raw
from falsezero.data.errors import import_for
from falsezero.data.files import load_whole
from falsezero.data.formats import FRAME_OPTIONS, Format
from falsezero.data.formats.parquet import first_arrow_lines, without_columns
from falsezero.data.layout import ReadOptions
from falsezero.data.limits import check_size


def read_feather(path: Path, options: ReadOptions) -> Raw:
    """Read an Arrow file; the column that pandas stored as index holds the row labels."""
    from falsezero.data.frames import frame_to_raw

    frame, stored = without_columns(path, _arrow_table(path, options), options.dropped_columns)
    if options.index is None and not options.is_long:
        options = replace(options, index=stored)
    return frame_to_raw(frame, options, str(path))


def _arrow_table(path: Path, options: ReadOptions) -> Any:
    with import_for(f"{path}, a Feather file,", "pyarrow", "falsezero[arrow]"):
        import pyarrow as pa
    # What is not compressed is mapped, not loaded; the rest grows as it is read.
    source = load_whole(path, "Feather", lambda: pa.ipc.open_file(pa.memory_map(str(path))))
    table = load_whole(path, "Feather", source.read_all)
    check_size(path, _dense_bytes(table), options.max_gigabytes)
    return table


def _dense_bytes(table: Any) -> int:
    return 8 * int(table.num_rows) * int(table.num_columns)


FORMAT = Format(
    "Feather",
    (".feather", ".arrow"),
    reader=read_feather,
    options=FRAME_OPTIONS,
    first_lines=lambda path, options, n: first_arrow_lines(_arrow_table(path, options), n),
)
