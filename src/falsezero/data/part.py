"""A part of a table that is too large to be looked at whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.looks import Looks
from falsezero.data.table import Table

__all__ = ["describe_part", "part_of"]

_ROWS_A_COLUMN = 10


def part_of(table: Any, most_cells: float, random_state: int = 0) -> Any:
    """Random rows and the most frequent columns of a table with more than `most_cells` cells.

    Rare columns are left out first: little can be learnt about them, and a zero there surprises
    nobody. There are about ten times as many rows as columns, as far as the table has them.

    >>> part_of(Table(np.eye(100)), 1000).shape
    (100, 10)
    >>> part_of(Table(np.eye(10)), 1000).shape
    (10, 10)
    """
    n_rows, n_columns = table.shape[0], table.shape[-1]
    if isinstance(table, Looks) or n_rows * n_columns <= most_cells:
        return table
    columns = min(n_columns, max(1, int((most_cells / _ROWS_A_COLUMN) ** 0.5)))
    rows = min(n_rows, max(1, int(most_cells / columns)))
    columns = min(n_columns, max(1, int(most_cells / rows)))
    ones = np.bincount(table.values.indices, table.values.data == 1, n_columns)
    frequent = np.sort(np.argsort(-ones, kind="stable")[:columns])
    chosen = np.sort(np.random.default_rng(random_state).choice(n_rows, rows, replace=False))
    values = table.values[chosen][:, frequent]
    return Table(values, table.rows[chosen], table.columns[frequent], table.name)


def describe_part(part: Any, table: Any) -> str:
    """Say which part of a table was taken.

    >>> describe_part(part_of(Table(np.eye(100)), 500), Table(np.eye(100)))
    'The table is large: 71 of its 100 rows, drawn at random, and the 7 most frequent of its 100 \
columns are audited.'
    """
    rows, columns = table.shape
    return (
        f"The table is large: {part.shape[0]:,} of its {rows:,} rows, drawn at random, and the "
        f"{part.shape[1]:,} most frequent of its {columns:,} columns are audited."
    )
