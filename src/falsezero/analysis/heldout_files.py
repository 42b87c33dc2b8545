"""Hidden cells of a table in files: hidden when a file is read, scored where it is read.

Each file hides cells of its own, drawn from a stream that is named by the position of its first
row. So nothing depends on who reads it, and no cell travels.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from falsezero.analysis.heldout import (
    MOST_HIDDEN,
    HiddenCells,
    hidden_log_probability,
    hide_cells,
)
from falsezero.analysis.shard_output import over_files, without_rows
from falsezero.data.blocks import Block
from falsezero.data.shards import Shards
from falsezero.data.table import Table

__all__ = ["score_cells_in_files"]


def score_cells_in_files(
    model: Any, shards: Shards, n_splits: int, seed: int, part: int
) -> tuple[np.ndarray, np.ndarray]:
    """Fit on the visible cells; total log probability and number of hidden cells, by file."""
    is_binary = model.capabilities.table == "binary" or _holds_ones_only(model, shards)
    hide = partial(_hide, n_splits, seed, part, MOST_HIDDEN / shards.shape[0])
    model.fit(shards.viewed(change=partial(_spoilt, hide)))
    task = partial(_score, without_rows(model), hide, is_binary)
    total, count = zip(*over_files(model, task, shards), strict=True)
    return np.array(total), np.array(count)


def _hide(
    n_splits: int, seed: int, part: int, per_row: float, values: sparse.csr_array, start: int
) -> HiddenCells:
    """One part of the cells of a file; none where it is too small to be split."""
    table = Table(values)
    most = int(np.ceil(per_row * table.shape[0]))
    if min(most, table.shape[0] * table.shape[1] - table.n_missing) < 2 * n_splits:
        none = np.empty(0, dtype=int)
        return HiddenCells(table, none, none, np.empty(0))
    return hide_cells(table, n_splits, [seed, start], part, most)


def _spoilt(hide: Any, values: Any, start: int) -> Any:
    spoilt = hide(sparse.csr_array(values), start).table.values
    return spoilt if sparse.issparse(values) else spoilt.toarray()


def _score(model: Any, hide: Any, is_binary: bool, block: Block) -> tuple[float, int]:
    hidden = hide(block.with_missing, block.start)
    if not len(hidden.values):
        return 0.0, 0
    scores = hidden_log_probability(model, hidden, is_binary)
    return float(scores.sum()), len(scores)


def _holds_ones_only(model: Any, shards: Shards) -> bool:
    """Whether a table of counts, or of weights, happens to hold zeros and ones."""
    blocks = model._blocks(shards, reset=True)
    return all(bool((block.csr.data == 1).all()) for block in blocks)
