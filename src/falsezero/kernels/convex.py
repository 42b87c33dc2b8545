"""The fused pass over a block of cells for the convex Bernoulli family.

Aspect Bernoulli, binary ICA and its Bayesian form share one likelihood. With row weights W, F1
for ones and F0 for zeros, cell (n, t) has probability P1 = W F1 of being one and P0 = W F0 of
being zero, and every update needs only

    U = X / P1,   V = (1 - X) / P0,   W'U,   W'V,   U F1' + V F0'.

The matrix products are BLAS; what happens to each cell between them is the compiled loop here.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from falsezero.kernels._jit import jit

ZERO, ONE, UNOBSERVED = 0, 1, 2
"""How a cell is coded in a block: an absence, a presence, or not looked at."""

_LANES = 32
_FLUSH = 16


class ConvexStatistics(NamedTuple):
    """What one pass over a block says: all fields but ``row_stat`` add up over blocks."""

    ones: np.ndarray
    """W'U, components x columns."""
    zeros: np.ndarray
    """W'V, components x columns."""
    row_stat: np.ndarray
    """U F1' + V F0', rows x components."""
    log_likelihood: float


@jit
def _convex_cells(codes, probability, share):
    """Turn P1 (with P0 = 1 - P1) into U - V in place, and U into `share`; return the likelihood."""
    one = probability.dtype.type(1)
    none = probability.dtype.type(0)
    lanes = np.ones(_LANES)
    cell = np.empty(codes.shape[1], dtype=probability.dtype)
    total = 0.0
    for i in range(codes.shape[0]):
        code, p, u = codes[i], probability[i], share[i]
        for t in range(codes.shape[1]):
            value = p[t]
            q = value if code[t] == 1 else one - value
            q = one if code[t] == 2 else q
            r = one / q
            cell[t] = q
            u[t] = r if code[t] == 1 else none
            r = r if code[t] == 1 else -r
            p[t] = none if code[t] == 2 else r
        total += _log_product(cell, lanes)
    return total


@jit
def _general_cells(codes, p_one, p_zero):
    """Turn P1 into U and P0 into V in place; return the log likelihood."""
    one = p_one.dtype.type(1)
    none = p_one.dtype.type(0)
    lanes = np.ones(_LANES)
    cell = np.empty(codes.shape[1], dtype=p_one.dtype)
    total = 0.0
    for i in range(codes.shape[0]):
        code, p, q = codes[i], p_one[i], p_zero[i]
        for t in range(codes.shape[1]):
            value = p[t] if code[t] == 1 else q[t]
            value = one if code[t] == 2 else value
            r = one / value
            cell[t] = value
            p[t] = r if code[t] == 1 else none
            q[t] = r if code[t] == 0 else none
        total += _log_product(cell, lanes)
    return total


@jit
def _log_product(cell, lanes):
    """Sum of log(cell) with one logarithm per `_FLUSH` factors, which makes it nearly free.

    Factors are at least 1e-12 (the floor of the components), so a product of 16 stays a normal
    double.
    """
    n = cell.shape[0]
    full = n - n % _LANES
    total = 0.0
    since = 0
    lanes[:] = 1.0
    for start in range(0, full, _LANES):
        for j in range(_LANES):
            lanes[j] *= cell[start + j]
        since += 1
        if since == _FLUSH - 1:
            for j in range(_LANES):
                total += np.log(lanes[j])
                lanes[j] = 1.0
            since = 0
    for j in range(n - full):
        lanes[j] *= cell[full + j]
    for j in range(_LANES):
        total += np.log(lanes[j])
    return total


_scratch = threading.local()


def _buffer(name: str, shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    """A work array kept per thread, so that passes do not pay for fresh pages."""
    kept = _scratch.__dict__.get(name)
    size = shape[0] * shape[1]
    if kept is None or kept.size < size or kept.dtype != dtype:
        kept = np.empty(size, dtype=dtype)
        _scratch.__dict__[name] = kept
    return kept[:size].reshape(shape)


def convex_pass(
    codes: np.ndarray,
    observed: np.ndarray,
    weights: np.ndarray,
    ones: np.ndarray,
    zeros: np.ndarray | None = None,
) -> ConvexStatistics:
    """One pass over a block: the statistics of the convex Bernoulli family and its likelihood.

    Parameters
    ----------
    codes : uint8 array (rows, columns)
        `ZERO`, `ONE` or `UNOBSERVED` for each cell.
    observed : array (rows,)
        How many cells of each row are observed.
    weights : array (rows, components)
        W. Rows must sum to one when `zeros` is left out.
    ones, zeros : array (components, columns)
        F1 and F0. Without `zeros`, F0 = 1 - F1 and a third of the work falls away.
    """
    shape, dtype = codes.shape, weights.dtype
    if zeros is None:
        difference = np.matmul(weights, ones, out=_buffer("p", shape, dtype))
        share = _buffer("u", shape, dtype)
        log_likelihood = _convex_cells(codes, difference, share)
        w_ones = weights.T @ share
        w_zeros = w_ones - weights.T @ difference
        row_stat = difference @ ones.T
        # Responsibilities of a cell sum to one, so the row sums of V follow from what is there.
        row_stat += (observed - np.einsum("nk,nk->n", weights, row_stat))[:, None]
        return ConvexStatistics(w_ones, w_zeros, row_stat, log_likelihood)
    p_one = np.matmul(weights, ones, out=_buffer("p", shape, dtype))
    p_zero = np.matmul(weights, zeros, out=_buffer("u", shape, dtype))
    log_likelihood = _general_cells(codes, p_one, p_zero)
    row_stat = p_one @ ones.T
    row_stat += p_zero @ zeros.T
    return ConvexStatistics(weights.T @ p_one, weights.T @ p_zero, row_stat, log_likelihood)
