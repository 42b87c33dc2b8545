"""Zeros and ones in few bytes: the page predicts most of them, so only its errors are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.blocks import UNOBSERVED
from falsezero.explorer.packing import gaps_of

__all__ = ["code_cells"]

_BINS = 64


def code_cells(
    codes: np.ndarray, weights: tuple[np.ndarray, Any], components: tuple[np.ndarray, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and header from which the page rebuilds the table, given the same factors.

    Cells are sorted into bins by the value that the factors predict. Each bin is predicted to hold
    its majority value; exceptions are stored as the gaps between them, bin after bin. Where ones
    are rare, gaps are long and few. Weights (components x rows) and components come as the pairs
    that `quantise` returns.
    """
    expected = _expected(weights, components)
    ones = codes == 1
    shares = np.arange(1, _BINS) / _BINS
    cuts = np.unique(np.quantile(expected[ones], shares)) if ones.any() else np.empty(0)
    bins = np.searchsorted(cuts, expected, side="right").astype(np.uint8).ravel()
    sizes = np.bincount(bins, minlength=len(cuts) + 1)
    mostly_one = 2 * np.bincount(bins, ones.ravel(), minlength=len(cuts) + 1) > sizes
    surprising = (ones.ravel() != mostly_one[bins]) & (codes.ravel() != UNOBSERVED)
    arrays = {
        "surprises": gaps_of(surprising[np.argsort(bins, kind="stable")]),
        "missing": gaps_of(codes == UNOBSERVED),
    }
    header = {"cuts": cuts.tolist(), "mostly_one": mostly_one.astype(int).tolist()}
    return arrays, header


def _expected(weights: tuple[np.ndarray, Any], components: tuple[np.ndarray, Any]) -> np.ndarray:
    """A prediction for every cell, in arithmetic that rounds the same way on every machine.

    Sums of products of whole numbers below 2^53 are exact in any order, and a single division has
    one correctly rounded result; the page must arrive at identical numbers.
    """
    by_row = _whole(*weights)
    total = np.maximum(np.abs(by_row).sum(axis=0), 1)[:, None]
    expected: np.ndarray = by_row.T @ _whole(*components) / total
    return expected


def _whole(codes: np.ndarray, how: dict[str, Any]) -> np.ndarray:
    """Codes as whole numbers, roughly proportional to the values they encode."""
    whole: np.ndarray
    if how["shift"]:
        whole = 2.0 * codes - how["levels"]
    else:
        whole = np.floor(255.0 * codes / how["levels"]) ** how["power"]
    return whole
