"""Tables written to files of other programs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from falsezero.data.errors import DataError
from falsezero.data.output import check_target, write_atomically
from falsezero.data.table import Table

__all__ = ["write_h5ad"]


def write_h5ad(table: Table, path: Any) -> None:
    """Write a table as an AnnData file: rows are observations, columns are variables.

    Parameters
    ----------
    table : Table
    path : path of the .h5ad file to write
    """
    target = check_target(path)
    try:
        import anndata
    except ImportError:
        raise DataError(
            f"{target} is to be an AnnData file, which needs anndata: pip install "
            "falsezero[anndata]."
        ) from None
    found = anndata.AnnData(table.values)
    found.obs_names, found.var_names = table.rows.astype(str), table.columns.astype(str)
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "table.h5ad"
        found.write_h5ad(written)
        write_atomically(target, written.read_bytes())
