"""Which cells the sparse solvers visit one by one: ones, unobserved cells and the hot zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.blocks import Block
from falsezero.kernels import convex_sparse as kernel

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
    """Zeros whose p exceeds `HOT`; a column whose largest component does not is passed over."""
    candidates = np.flatnonzero(components.max(axis=0) > HOT)
    position = np.full(components.shape[1], -1, dtype=np.int64)
    position[candidates] = np.arange(len(candidates))
    few = np.ascontiguousarray(components[:, candidates])
    counts, found = [np.zeros(1, np.int64)], []
    step = max(1, 1_000_000 // max(len(candidates), 1))
    for i in range(0, len(weights), step):
        p = weights[i : i + step] @ few
        for listed in (block.csr, block.missing_csr):
            if listed is not None:
                _blank(p, listed, i, position)
        rows, columns = np.nonzero(p > HOT)
        counts.append(np.bincount(rows, minlength=len(p)))
        found.append(candidates[columns].astype(np.int32))
    start = np.cumsum(np.concatenate(counts))
    return {"hot_start": start, "hot_columns": np.concatenate(found)}


def _blank(p: np.ndarray, listed: Any, first: int, position: np.ndarray) -> None:
    """Set p to zero at listed cells of the rows from `first` on."""
    start = listed.indptr[first : first + len(p) + 1]
    columns = position[listed.indices[start[0] : start[-1]]]
    rows = np.repeat(np.arange(len(p)), np.diff(start))
    inside = columns >= 0
    p[rows[inside], columns[inside]] = 0
