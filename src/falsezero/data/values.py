"""The values that a cell may hold, and how they become zeros and ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["binarized", "check_dense", "filled", "is_unfit"]

_MOST_DENSE = 1 << 28
"""Cells of the largest table that is made dense without being asked: two gigabytes."""


def check_dense(shape: tuple[int, ...], what: str, remedy: str) -> None:
    """Refuse to make a dense table of a sparse one before that takes all memory.

    >>> check_dense((10**6, 10**5), "BernoulliNMF", "fit some rows")
    Traceback (most recent call last):
    ...
    ValueError: BernoulliNMF needs all 1000000 x 100000 cells in memory, 800 GB of them; fit some \
rows.
    """
    cells = math.prod(shape)
    if cells > _MOST_DENSE:
        raise ValueError(
            f"{what} needs all {shape[0]} x {shape[1]} cells in memory, {8e-9 * cells:.0f} GB of "
            f"them; {remedy}."
        )


def binarized(values: Any, threshold: float) -> Any:
    """Ones above the threshold, zeros elsewhere, NaN where nothing was observed.

    The zeros that a sparse array does not store count as zeros: below a negative threshold it
    becomes a dense array, most of it ones.

    >>> binarized(np.array([0.0, 3.0, np.nan]), 1)
    array([ 0.,  1., nan])
    >>> binarized(sparse.csr_array([[0, -2, 3]]), -1)
    array([[1., 0., 1.]])
    """
    if not np.isfinite(threshold):
        raise ValueError(f"binarize={threshold} is no threshold; give a number, as in binarize=0.")
    if not sparse.issparse(values):
        ones = (values > threshold).astype(np.result_type(values.dtype, np.float32))
        return np.where(np.isnan(values), np.nan, ones).astype(ones.dtype, copy=False)
    if threshold < 0:
        if values.shape[0] * values.shape[1] > _MOST_DENSE:
            raise ValueError(
                f"binarize={threshold:g} would make a one of every zero in a sparse table of "
                f"{values.shape[0]} x {values.shape[1]} cells; give binarize= of 0 or more."
            )
        return binarized(values.toarray(), threshold)
    ones = values.copy()
    ones.data = binarized(values.data, threshold)
    return ones


def is_unfit(data: NDArray[Any], kind: str) -> NDArray[np.bool_]:
    """Which values a table of this kind cannot hold; NaN, not observed, is fit for all.

    >>> is_unfit(np.array([1.0, 0.5, -2.0, np.nan]), "weight")
    array([False, False,  True, False])
    """
    infinite = np.isinf(data)
    if kind == "binary":
        return np.asarray(infinite | ~((data == 0) | (data == 1) | np.isnan(data)))
    if kind == "weight":
        return np.asarray(infinite | (data < 0))
    if kind == "count":
        return np.asarray(infinite | (data < 0) | (np.floor(data) != data) & ~np.isnan(data))
    return np.asarray(infinite)


def filled(masked: np.ma.MaskedArray) -> NDArray[Any]:
    """The array with NaN where it is masked."""
    kind = np.float32 if masked.dtype == np.float32 else np.float64
    return np.ma.filled(masked.astype(kind), np.nan)
