"""Which cells the sparse solvers visit one by one: ones, unobserved cells and the hot zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.blocks import Block
from falsezero.kernels import convex_sparse as kernel
from falsezero.kernels.best_cells import hot_zeros, ranked_columns

HOT = 0.15
"""A zero whose p is above this is visited itself: the series would be off by p^3 / 3."""


def listed_cells(block: Block, local: Any) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """The lists of cells that are visited one by one."""
    lists = [
        (kernel.ONES, block.csr.indptr, block.csr.indices),
        (kernel.HOT_ZEROS, local.hot_start, local.hot_columns),
    ]
    if block.missing_csr is not None:
        lists.append((kernel.MISSING, block.missing_csr.indptr, block.missing_csr.indices))
    return lists


def stored(listed: Any, rows: Any = ()) -> tuple[np.ndarray, np.ndarray]:
    """Row starts and columns of a CSR pattern; None is an empty one, for as many rows."""
    if listed is None:
        return np.zeros(len(rows) + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    return listed.indptr.astype(np.int64, copy=False), listed.indices


def find_hot(block: Block, weights: np.ndarray, components: np.ndarray) -> dict[str, Any]:
    """Zeros whose p exceeds `HOT`; columns that cannot reach it are passed over."""
    look = np.ascontiguousarray(components.T), *ranked_columns(components)
    lists = *stored(block.csr), *stored(block.missing_csr, weights)
    start = np.zeros(len(weights) + 1, dtype=np.int64)
    found = np.empty(components.shape[1] + len(weights), dtype=np.int32)
    row = 0
    while row < len(weights):
        row = hot_zeros(weights, *look, *lists, HOT, row, start, found)
        if row < len(weights):
            found = np.concatenate([found, np.empty_like(found)])
    return {"hot_start": start, "hot_columns": found[: start[-1]].copy()}
