"""Surprising cells, on which page and library must agree in spite of rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.analysis.surprising import ONE_SURPRISES, ZERO_SURPRISES, surprise
from falsezero.data.blocks import UNOBSERVED
from falsezero.explorer.packing import gaps_of

__all__ = ["encode_corrections", "rates_of", "surprising_cells"]

_NEAR = 1e-5
"""Largest error of the browser's single-precision arithmetic."""

_AT_A_TIME = 1_000_000


def rates_of(codes: np.ndarray) -> np.ndarray:
    """Share of ones among the observed cells of each column."""
    rates: np.ndarray = (codes == 1).sum(axis=0) / np.maximum((codes != UNOBSERVED).sum(axis=0), 1)
    return rates


def surprising_cells(model: Any, parts: list[Any], keep: np.ndarray) -> np.ndarray:
    """Cells that `surprising_zeros` and `surprising_ones` list, block by block."""
    rates = rates_of(np.concatenate([block.codes for block, _ in parts]))
    found = []
    for block, weights in parts:
        expected = model._expected(model.reweigh(weights, keep))
        score, least = _scored(expected, block.codes, rates)
        found.append((score >= least) & (block.codes != UNOBSERVED))
    return np.concatenate(found)


def encode_corrections(
    codes: np.ndarray,
    surprising: np.ndarray,
    weights: np.ndarray,
    components: np.ndarray,
    trace: np.ndarray,
    keep: np.ndarray,
) -> dict[str, np.ndarray]:
    """Gaps between cells that the page could misjudge: those that are surprising, and the others.

    Weights (components x rows) and components are the dequantised ones. Where components do not
    compete (no trace), the page needs no corrections.
    """
    unsure = np.zeros(codes.shape, dtype=bool)
    step = max(1, _AT_A_TIME // codes.shape[1])
    rates = rates_of(codes)
    for start in range(0, len(codes) if trace.size else 0, step):
        rows = slice(start, start + step)
        expected = _page_expected(weights[:, rows], components, trace, keep)
        score, least = _scored(expected, codes[rows], rates)
        mistaken = (score >= least) != surprising[rows]
        near = np.abs(score - least) < _NEAR / np.where(codes[rows] == 1, _positive(rates), 1.0)
        unsure[rows] = (codes[rows] != UNOBSERVED) & (mistaken | near)
    return {"surprising": gaps_of(unsure & surprising), "usual": gaps_of(unsure & ~surprising)}


def _scored(
    expected: np.ndarray, codes: np.ndarray, rates: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    ones = codes == 1
    return surprise(expected, ones, rates), np.where(ones, ONE_SURPRISES, ZERO_SURPRISES)


def _positive(rates: np.ndarray) -> np.ndarray:
    return np.where(rates > 0, rates, 1.0)


def _page_expected(
    weights: np.ndarray, components: np.ndarray, trace: np.ndarray, keep: np.ndarray
) -> np.ndarray:
    """What fit.js computes as `probability`, for some rows."""
    total = weights.sum(axis=0)
    shares = weights / np.where(total > 0, total, 1.0) + trace[:, None]
    kept = shares * keep[:, None]
    mass = kept.sum(axis=0)[:, None]
    expected: np.ndarray = (kept.T @ components) / np.where(mass > 0, mass, 1.0)
    return expected.clip(0.0, 1.0)
