"""Which cells are doubted: the page must agree with the library, though its numbers are rounded."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.analysis.doubt import doubt_of, judge
from falsezero.data.blocks import UNOBSERVED
from falsezero.explorer.packing import gaps_of

__all__ = ["doubted_cells", "encode_doubt_corrections"]

_HALF = 0.5
_NEAR = 1e-4
"""How far the browser's own arithmetic, in single precision, may lead it astray."""

_PAGE_FLOOR = 1e-12
"""What fit.js divides by at least."""

_AT_A_TIME = 1_000_000


def doubted_cells(model: Any, parts: list[Any], keep: np.ndarray) -> np.ndarray:
    """Cells that `false_absences` and `false_presences` list, block by block."""
    if not model.capabilities.cell_has_cause:
        return np.zeros((sum(len(weights) for _, weights in parts), model.n_features_in_), bool)
    found = []
    for block, weights in parts:
        codes = block.codes
        zeros, ones = (
            doubt_of(model, weights, keep, value).probability >= _HALF for value in (0, 1)
        )
        found.append(((codes == 0) & zeros) | ((codes == 1) & ones))
    return np.concatenate(found)


def encode_doubt_corrections(
    codes: np.ndarray,
    doubted: np.ndarray,
    weights: np.ndarray,
    components: np.ndarray,
    trace: np.ndarray,
    keep: np.ndarray,
) -> dict[str, np.ndarray]:
    """Gaps between cells that the page would decide otherwise, or might: doubted, and trusted.

    Weights (components x rows) and components are those that the page reads; without a trace its
    components do not share rows out, and nothing is doubted but what they expect.
    """
    unsure = np.zeros(codes.shape, dtype=bool)
    step = max(1, _AT_A_TIME // codes.shape[1])
    for start in range(0, len(codes) if trace.size else 0, step):
        rows = slice(start, start + step)
        doubt = _page_doubt(codes[rows], weights[:, rows], components, trace, keep)
        mistaken = (doubt >= _HALF) != doubted[rows]
        unsure[rows] = (codes[rows] != UNOBSERVED) & (mistaken | (np.abs(doubt - _HALF) < _NEAR))
    return {"doubted": gaps_of(unsure & doubted), "trusted": gaps_of(unsure & ~doubted)}


def _page_doubt(
    codes: np.ndarray,
    weights: np.ndarray,
    components: np.ndarray,
    trace: np.ndarray,
    keep: np.ndarray,
) -> np.ndarray:
    """What fit.js computes as `doubtAt`, for some rows."""
    total = weights.sum(axis=0)
    shares = weights / np.where(total > 0, total, 1.0) + trace[:, None]
    kept_shares = shares * keep[:, None]
    full, kept = shares.T @ components, kept_shares.T @ components
    mass = kept_shares.sum(axis=0)[:, None]
    content = np.clip(kept / np.where(mass > 0, mass, 1.0), 0.0, 1.0)
    ones = codes == 1
    removed = np.where(ones, full - kept, 1 - mass - full + kept)
    everything = np.where(ones, full, 1 - full)
    return judge(content, removed, everything, ones, floor=_PAGE_FLOOR).probability
