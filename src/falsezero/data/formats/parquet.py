"""Parquet files, wide or long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from falsezero.data.checks import Raw
from falsezero.data.errors import import_for
from falsezero.data.files import load_whole
from falsezero.data.formats import FRAME_OPTIONS, FirstLines, Format
from falsezero.data.layout import ReadOptions
from falsezero.data.limits import check_size
from falsezero.data.pairs import check_dropped


def read_parquet(path: Path, options: ReadOptions) -> Raw:
    """Read a Parquet file; the column that pandas stored as index holds the row labels."""
    from falsezero.data.frames import frame_to_raw

    frame, stored = arrow_table(path, options.dropped_columns, options.max_gigabytes)
    if options.index is None and not options.is_long:
        options = replace(options, index=stored)
    return frame_to_raw(frame, options, str(path))


def first_arrow_lines(table: Any, n: int) -> FirstLines:
    """Names of the columns and the first n lines of an Arrow table."""
    rows = table.slice(0, n).to_pylist()
    names = list(table.column_names)
    return names, [["" if row[name] is None else str(row[name]) for name in names] for row in rows]


def arrow_table(
    path: Path, drop: Sequence[str] = (), max_gigabytes: float | None = None
) -> tuple[Any, str | None]:
    """The Arrow table of a file, and the column that pandas stored as index."""
    with import_for(f"{path}, a Parquet file,", "pyarrow", "falsezero[arrow]"):
        import pyarrow.parquet as pq
    declared = load_whole(path, "Parquet", lambda: _declared_bytes(pq.ParquetFile(path)))
    check_size(path, declared, max_gigabytes)
    table = load_whole(path, "Parquet", lambda: pq.read_table(path))
    return without_columns(path, table, drop)


def without_columns(path: Path, table: Any, drop: Sequence[str]) -> tuple[Any, str | None]:
    """An Arrow table without some columns, and the column that pandas stored as index."""
    from falsezero.data.frames import stored_index

    index = load_whole(path, "Arrow", lambda: stored_index(table))
    check_dropped(str(path), drop, table.column_names, table.column_names, "column")
    return table.drop_columns(list(drop)), index


def _declared_bytes(file: Any) -> int:
    """Bytes of all columns unpacked: a run of equal values takes next to none in the file."""
    bits = sum(_bits(field.type) for field in file.schema_arrow)
    return int(file.metadata.num_rows) * (bits // 8 + 1)


def _bits(kind: Any) -> int:
    try:
        return int(kind.bit_width)
    except ValueError:
        # Text has no fixed width; its offsets have.
        return 64


FORMAT = Format(
    "Parquet",
    (".parquet", ".pq"),
    reader=read_parquet,
    options=FRAME_OPTIONS,
    first_lines=lambda path, options, n: first_arrow_lines(
        arrow_table(path, max_gigabytes=options.max_gigabytes)[0], n
    ),
)
