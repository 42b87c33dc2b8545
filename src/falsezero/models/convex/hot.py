"""Which cells the sparse solvers visit one by one: ones, unobserved cells and the hot zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.blocks import Block
from falsezero.kernels import convex_sparse as kernel
from falsezero.kernels.best_cells import zeros_above

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


def find_hot(block: Block, weights: np.ndarray, components: np.ndarray) -> dict[str, Any]:
    """Zeros whose p exceeds `HOT`."""
    start, columns = zeros_above(weights, components, block.csr, HOT, block.missing_csr)
    return {"hot_start": start, "hot_columns": columns}
