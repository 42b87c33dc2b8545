"""Tables written to files of other programs."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from falsezero.data.errors import import_for
from falsezero.data.output import check_target, write_atomically
from falsezero.data.rounding import significant
from falsezero.data.table import Table

__all__ = ["short_number", "table_lines", "write_h5ad"]


def table_lines(table: Table) -> Iterator[list[Any]]:
    """A table as lines of a CSV file, its column labels first; some rows at a time made dense.

    >>> list(table_lines(Table([[0.5, 0]], ["a"], ["x", "y"])))
    [['', 'x', 'y'], ['a', '0.5', '0']]
    """
    labels = table.rows.tolist()
    yield ["", *table.columns.tolist()]
    for start in range(0, len(labels), 256):
        dense = table.values[start : start + 256].toarray().tolist()
        for label, values in zip(labels[start : start + 256], dense, strict=True):
            yield [label, *map(short_number, values)]


def short_number(value: Any) -> Any:
    """Six significant digits; an empty field for unobserved cells."""
    if not isinstance(value, float):
        return value
    return "" if math.isnan(value) else significant(value, 6)


def write_h5ad(table: Table, path: Any) -> None:
    """Write a table as an AnnData file: rows are observations, columns are variables.

    Parameters
    ----------
    table : Table
    path : path of the .h5ad file to write
    """
    target = check_target(path)
    with import_for(f"{target}, an AnnData file,", "anndata", "falsezero[anndata]"):
        import anndata
    found = anndata.AnnData(table.values)
    found.obs_names, found.var_names = table.rows.astype(str), table.columns.astype(str)
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "table.h5ad"
        found.write_h5ad(written)
        write_atomically(target, written.read_bytes())
