"""How often columns come together: the counts behind the methods that compare columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from falsezero.data.arrays import as_dense
from falsezero.data.blocks import Blocks

__all__ = ["ColumnPairs", "count_pairs", "divided"]


class ColumnPairs(NamedTuple):
    """Counts over rows for every pair of columns (s, t).

    `together`: rows with a one in both. `ones`: rows with a one in s where t was observed.
    `observed`: rows where both were observed.
    """

    together: np.ndarray
    ones: np.ndarray
    observed: np.ndarray


def count_pairs(blocks: Blocks) -> ColumnPairs:
    """Count pairs of columns; cells not observed are left out pair by pair.

    >>> count_pairs(Blocks.cut(np.array([[1.0, 1, 0], [1, 0, np.nan]]))).together
    array([[2., 1., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    """
    n_rows, n_columns = blocks.shape
    together = np.zeros((n_columns, n_columns))
    hidden_ones = np.zeros_like(together)
    hidden = np.zeros_like(together)
    for block in blocks:
        together += as_dense(block.values.T @ block.values)
        if block.missing is not None:
            missing = block.missing.astype(float)
            hidden_ones += as_dense(block.values.T @ missing)
            hidden += as_dense(missing.T @ missing)
    ones, observed = blocks.column_counts
    unseen = n_rows - observed
    seen = n_rows - unseen[:, None] - unseen[None, :] + hidden
    return ColumnPairs(together, ones[:, None] - hidden_ones, seen)


def divided(top: np.ndarray, bottom: Any) -> np.ndarray:
    """top / bottom, and zero where the bottom is zero."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=np.asarray(bottom) > 0)
