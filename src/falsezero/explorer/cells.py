"""Zeros and ones in few bytes: the page can guess most of them, so only its mistakes are told."""

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
    """Arrays and header from which the page, which holds the same factors, rebuilds the table.

    Cells are sorted into bins by what the factors expect of them. In a bin all cells count as what
    most of them are, and the others are told by the gaps between them, bin after bin: where ones
    are rare, gaps are long and few; where they are common, zeros are. Weights come as components x
    rows, both with how to read them, as `quantise` gives them.
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
    """A guess at every cell, by arithmetic that no machine can round otherwise.

    Sums of products of whole numbers below 2^53 are exact in any order, and one division is rounded
    in one way only; the page must come to the very same numbers.
    """
    by_row = _whole(*weights)
    total = np.maximum(np.abs(by_row).sum(axis=0), 1)[:, None]
    expected: np.ndarray = by_row.T @ _whole(*components) / total
    return expected


def _whole(codes: np.ndarray, how: dict[str, Any]) -> np.ndarray:
    """Codes as whole numbers in proportion, roughly, to what they stand for."""
    whole: np.ndarray
    if how["shift"]:
        whole = 2.0 * codes - how["levels"]
    else:
        whole = np.floor(255.0 * codes / how["levels"]) ** how["power"]
    return whole
