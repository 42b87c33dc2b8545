"""Checks of the input of an audit; errors are one sentence each."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from falsezero.data.errors import DataError
from falsezero.data.read import as_table
from falsezero.data.table import Table

__all__ = ["check_auditable", "checked_cells", "checked_probabilities", "checked_table"]


def checked_table(given: Any) -> Table:
    """A table with both zeros and ones, from anything that `as_table` takes."""
    table = given if isinstance(given, Table) else as_table(given, kind="real")
    if not table.is_binary:
        value = table.values.data[(table.values.data != 1) & ~np.isnan(table.values.data)][0]
        raise DataError(
            f"An audit needs zeros and ones, but the table holds {value:g}; make them with "
            "fz.as_table(table, binarize=0)."
        )
    check_auditable(table)
    return table


def check_auditable(table: Any) -> None:
    """Refuse a table, in memory or in files, that has no zeros or no ones."""
    n_rows, n_columns = table.shape
    if n_rows < 2 or n_columns < 2:
        axis, number = ("row", n_rows) if n_rows < 2 else ("column", n_columns)
        other = "rows" if axis == "row" else "columns"
        raise DataError(
            f"The table has {number} {axis}; an audit compares {other}, so it needs two or more."
        )
    if table.n_missing == n_rows * n_columns:
        raise DataError("Every cell of the table is missing, so there is nothing to audit.")
    if not table.n_ones:
        raise DataError("The table has no ones, so there is nothing to expect in its zeros.")
    if table.n_ones + table.n_missing == n_rows * n_columns:
        raise DataError("The table has no zeros, so there is none to doubt.")


def checked_probabilities(given: Any, table: Table) -> np.ndarray:
    """A matrix of probabilities for the cells of a table."""
    array = given.to_numpy() if isinstance(given, Table) else np.asarray(given, dtype=float)
    if array.shape != table.shape:
        raise DataError(
            f"probabilities= has shape {array.shape}, but the table has {table.shape}; give one "
            "number for each cell."
        )
    outside = ~((array >= 0) & (array <= 1))
    if outside.any():
        raise DataError(
            f"probabilities= needs numbers from 0 to 1, but holds {array[outside][0]:g}; if they "
            "are scores, turn them into probabilities first."
        )
    return array


def checked_cells(certain: Any, table: Table) -> Any:
    """The cells that the user is certain of, as a sparse mask; None where there are none.

    `certain` is a list of (row, column) labels, or a mask of the table's shape.
    """
    if certain is None:
        return None
    if isinstance(certain, Table) or sparse.issparse(certain):
        mask = sparse.csr_array(certain.values if isinstance(certain, Table) else certain) != 0
    elif isinstance(certain, np.ndarray) and certain.ndim == 2 and certain.dtype == bool:
        mask = sparse.csr_array(certain)
    else:
        pairs = [(table.row(row), table.column(column)) for row, column in _pairs(certain)]
        at = tuple(np.array(pairs, dtype=int).reshape(-1, 2).T)
        mask = sparse.csr_array((np.ones(len(pairs), bool), at), shape=table.shape)
    if mask.shape != table.shape:
        raise DataError(
            f"certain= has shape {mask.shape}, but the table has {table.shape}; give a mask of "
            "that shape or a list of (row, column) pairs."
        )
    return sparse.csr_array(mask)


def _pairs(certain: Any) -> list[tuple[Any, Any]]:
    try:
        return [(row, column) for row, column in certain]
    except (TypeError, ValueError):
        raise DataError(
            "certain= needs a list of (row, column) pairs or a mask of the table's shape, not a "
            f"{type(certain).__name__} of something else."
        ) from None
