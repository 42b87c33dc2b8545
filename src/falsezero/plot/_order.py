"""The order in which a table shows its structure."""

from __future__ import annotations

import numpy as np

__all__ = ["by_strongest"]


def by_strongest(
    weights: np.ndarray, components: np.ndarray, keep: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows and columns grouped by their strongest kept component, the strongest of each first.

    Returns
    -------
    rows, columns : positions in the new order
    row_groups, column_groups : the component of each, in the new order

    >>> rows, columns, groups, _ = by_strongest(
    ...     np.array([[0.1, 0.9], [0.8, 0.2]]), np.eye(2), np.ones(2))
    >>> rows.tolist(), groups.tolist()
    ([1, 0], [0, 1])
    """
    kept = np.abs(weights) * keep
    rows, row_groups = _grouped(kept)
    # A column belongs where it is more frequent than elsewhere, not where the weight is.
    columns, column_groups = _grouped(np.abs(components).T * (keep > 0))
    return rows, columns, row_groups, column_groups


def _grouped(strength: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    group = strength.argmax(axis=1)
    order = np.lexsort((-strength.max(axis=1), group))
    return order, group[order]
