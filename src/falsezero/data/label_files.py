"""Labels that lie beside a matrix in files of their own, one per line."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from falsezero.data.checks import Raw
from falsezero.data.errors import DataError

__all__ = ["read_labels", "with_labels", "with_neighbours"]

_CELLS = ("barcodes.tsv", "barcodes.tsv.gz")
_GENES = ("features.tsv", "features.tsv.gz", "genes.tsv", "genes.tsv.gz")


def with_labels(raw: Raw, rows: Any, columns: Any) -> Raw:
    """What a reader found, with labels from files where they were named."""
    if rows is not None:
        raw = raw._replace(rows=read_labels(rows, raw.values.shape[0], "row"), place=None)
    if columns is not None:
        raw = raw._replace(columns=read_labels(columns, raw.values.shape[1], "column"), place=None)
    return raw


def with_neighbours(raw: Raw, path: Path) -> Raw:
    """A matrix of 10x Genomics, genes by cells, as cells by genes with the names beside it."""
    cells, genes = (
        next((path.with_name(name) for name in names if path.with_name(name).exists()), None)
        for names in (_CELLS, _GENES)
    )
    if cells is None or genes is None:
        return raw
    barcodes, features = _fields(cells), _fields(genes)
    if raw.values.shape != (len(features), len(barcodes)):
        return raw
    ids = [fields[0] for fields in features]
    names = [fields[1] if len(fields) > 1 else fields[0] for fields in features]
    rows = [fields[0] for fields in barcodes]
    # Gene names may come twice, and their identifiers never do.
    columns = names if len(set(names)) == len(names) else ids
    return raw._replace(values=raw.values.T, rows=rows, columns=columns, place=None)


def read_labels(path: Any, expected: int, axis: str) -> list[str]:
    """Labels from the first field of every line; a first line too many is a header."""
    from falsezero.data.files import find_file

    file = find_file(path)
    labels = [fields[0].strip() for fields in _fields(file)]
    if len(labels) == expected + 1:
        labels = labels[1:]
    if len(labels) != expected:
        raise DataError(f"{file} has {len(labels)} lines, but the table has {expected} {axis}s.")
    return labels


def _fields(path: Path) -> list[list[str]]:
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig") as stream:
        lines = [line.rstrip("\r\n") for line in stream]
    cut = "," if path.name.lower().removesuffix(".gz").endswith(".csv") else "\t"
    return [line.split(cut) for line in lines if line.strip()]
