"""The fused pass over a block of cells for the convex Bernoulli family.

Aspect Bernoulli, binary ICA and its Bayesian form share one likelihood. With row weights W, F1
for ones and F0 for zeros, cell (n, t) has probability P1 = W F1 of being one and P0 = W F0 of
being zero, and every update needs only

    U = X / P1,   V = (1 - X) / P0,   W'U,   W'V,   U F1' + V F0'.

The matrix products are BLAS; what happens to each cell between them is the compiled loop here.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from falsezero.kernels._jit import jit
from falsezero.kernels.codes import UNOBSERVED

FLUSH = 20
"""Factors are at least 1e-12 (the floor of the components): 20 of them make a normal double."""

_MANTISSA = (1 << 52) - 1
_UNIT_EXPONENT = 1023 << 52
_BIAS = 1023
_NOT_A_NUMBER = 2047
_SINGLE = np.dtype(np.float32)

_CHUNK_CELLS = 1 << 15
"""Cells between two products, few enough to stay in cache."""

_ROWS, _WIDE = 128, 2048
"""Rows summed in single precision, and the number of columns from which on it is half that."""

_FAINT = 1e-30
"""Smaller weights are set to zero in single precision: arithmetic with denormal numbers is many
times slower, and rows have many vanishing weights."""


class ConvexStatistics(NamedTuple):
    """Result of one pass over a block; all fields but ``row_stat`` add up over blocks."""

    ones: np.ndarray
    """W'U, components x columns."""
    zeros: np.ndarray
    """W'V, components x columns."""
    row_stat: np.ndarray
    """U F1' + V F0', rows x components."""
    log_likelihood: float


@jit
def _cells(codes, p, is_convex, u, product, bits):
    """Write U and V, given P1 and P0 (or P0 = 1 - P1); return the log likelihood."""
    one = p.dtype.type(1)
    narrow = u.dtype.type(1)
    none = u.dtype.type(0)
    power = np.int64(0)
    for t in range(product.shape[0]):
        product[t] = 1.0
    for i in range(codes.shape[0]):
        code, p_one, p_zero, u_row, v_row = codes[i], p[0, i], p[1, i], u[0, i], u[1, i]
        for t in range(codes.shape[1]):
            other = one - p_one[t] if is_convex else p_zero[t]
            value = p_one[t] if code[t] == 1 else other
            value = one if code[t] == UNOBSERVED else value
            product[t] *= value
            r = narrow / u.dtype.type(value)
            u_row[t] = r if code[t] == 1 else none
            v_row[t] = r if code[t] == 0 else none
        if i % FLUSH == 0:
            power += take_powers(bits)
    return log_of(product, power)


def fresh_products(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Running products, and the same memory as bits.

    A log likelihood is the logarithm of a product: multiplying probabilities and now and then
    extracting powers of two avoids nearly all logarithms.
    """
    product = np.ones(n)
    return product, product.view(np.int64)


@jit
def take_powers(bits):
    """Bring every product into [1, 2) and return the sum of the exponents taken out.

    Zero, infinity and NaN are left alone, so that they show in the logarithm.
    """
    power = np.int64(0)
    for j in range(bits.shape[0]):
        exponent = bits[j] >> 52
        is_normal = (exponent > 0) & (exponent < _NOT_A_NUMBER)
        power += exponent - _BIAS if is_normal else 0
        bits[j] = (bits[j] & _MANTISSA) | _UNIT_EXPONENT if is_normal else bits[j]
    return power


@jit
def log_of(product, power):
    """Logarithm of everything multiplied so far."""
    total = power * np.log(2.0)
    for j in range(product.shape[0]):
        total += np.log(product[j])
    return total


@jit
def onto_simplex(weights, least):
    """Raise weights to `least` and divide each row by its sum, in place."""
    for i in range(weights.shape[0]):
        total = weights.dtype.type(0)
        for k in range(weights.shape[1]):
            weight = weights[i, k]
            weight = weight if weight > least else least
            weights[i, k] = weight
            total += weight
        scale = 1 / total
        for k in range(weights.shape[1]):
            weights[i, k] *= scale


_scratch = threading.local()


def _buffer(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A work array kept per thread, so that passes do not allocate memory."""
    kept = _scratch.__dict__.get(name)
    size = math.prod(shape)
    if kept is None or kept.size < size or kept.dtype != dtype:
        kept = np.empty(size, dtype=dtype)
        _scratch.__dict__[name] = kept
    return kept[:size].reshape(shape)


def convex_pass(
    codes: np.ndarray, weights: np.ndarray, ones: np.ndarray, zeros: np.ndarray | None = None
) -> ConvexStatistics:
    """One pass over a block: the statistics of the convex Bernoulli family and its likelihood.

    Parameters
    ----------
    codes : uint8 array (rows, columns)
        0, 1 or `UNOBSERVED` for each cell.
    weights : array (rows, components)
        W. Rows must sum to one when `zeros` is left out.
    ones, zeros : array (components, columns)
        F1 and F0. Without `zeros`, F0 = 1 - F1, which saves one product.

    The likelihood is double. The statistics, sums of positive terms, are taken in single precision
    over some rows and in double from there on: an error of 1e-7 in the step from a maximum is one
    of 1e-14 in the likelihood.
    """
    factors = np.stack([ones, 1 - ones if zeros is None else zeros])
    narrow = _single(weights)
    # Copied after transposing: BLAS takes half the time on the few, contiguous columns.
    narrow_t = _single(factors.transpose(0, 2, 1))
    part, sums = np.empty(ones.shape, _SINGLE), np.zeros_like(factors)
    rows = np.empty((2, *narrow.shape), _SINGLE)
    log_likelihood = 0.0
    for here, u, some in _chunks(codes, weights, factors, zeros is None):
        log_likelihood += some
        for side in range(2):
            np.dot(u[side], narrow_t[side], rows[side, here])
            for first in range(0, u.shape[1], _ROWS):
                x = u[side, first : first + _ROWS]
                np.dot(narrow[here.start + first :][: len(x)].T, x, part)
                sums[side] += part
    row_stat = np.add(rows[0], rows[1], out=rows[0])
    return ConvexStatistics(sums[0], sums[1], row_stat, log_likelihood)


def _chunks(
    codes: np.ndarray, weights: np.ndarray, factors: np.ndarray, is_convex: bool
) -> Iterator[tuple[slice, np.ndarray, float]]:
    """Some rows at a time, their U and V, and their log likelihood."""
    n_rows, n_columns = codes.shape
    most = _ROWS // 2 if n_columns > _WIDE else _ROWS
    # More rows of a narrow table, because calls from Python cost as much as small products.
    most *= max(1, _CHUNK_CELLS // (most * n_columns))
    chunk = 2, most, n_columns
    p, u = _buffer("p", chunk, weights.dtype), _buffer("u", chunk, _SINGLE)
    products = fresh_products(n_columns)
    for start in range(0, n_rows, most):
        here = slice(start, min(start + most, n_rows))
        size = here.stop - start
        for side in range(1 if is_convex else 2):
            np.dot(weights[here], factors[side], p[side, :size])
        yield here, u[:, :size], _cells(codes[here], p, is_convex, u, *products)


def _single(array: np.ndarray) -> np.ndarray:
    """A contiguous array in single precision, with denormal numbers set to zero."""
    narrow = array.astype(_SINGLE, order="C")
    return np.multiply(narrow, narrow > _FAINT, out=narrow)


def convex_log_likelihood(codes: np.ndarray, weights: np.ndarray, ones: np.ndarray) -> float:
    """Log likelihood of a block with F0 = 1 - F1, without statistics."""
    return sum(some for *_, some in _chunks(codes, weights, ones[None], True))
