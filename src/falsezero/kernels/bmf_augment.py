"""Compiled auxiliary draws that make the weights of binary matrix factorization conjugate."""

from __future__ import annotations

import math

import numpy as np

from falsezero.kernels._jit import jit

_CUT = 0.64
"""Where the two series of the Jacobi density change over (Polson, Scott and Windle, 2013)."""


_FEW = 8
"""Counts up to which events are dealt one by one, which is quicker than binomial draws."""


@jit
def _normal_below(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@jit
def _series_term(n, x):
    """n-th term of the alternating series of the Jacobi density J*(1, 0)."""
    half = n + 0.5
    if x > _CUT:
        return math.pi * half * math.exp(-0.5 * half * half * math.pi * math.pi * x)
    scale = (2.0 / (math.pi * x)) ** 1.5
    return math.pi * half * scale * math.exp(-2.0 * half * half / x)


@jit
def _truncated_inverse_gaussian(z, rng):
    """Inverse Gaussian with mean 1 / z, shape 1, below the cut."""
    if z < 1.0 / _CUT:
        while True:
            first, second = rng.standard_exponential(), rng.standard_exponential()
            while first * first > 2.0 * second / _CUT:
                first, second = rng.standard_exponential(), rng.standard_exponential()
            x = 1.0 + _CUT * first
            x = _CUT / (x * x)
            if rng.random() < math.exp(-0.5 * z * z * x):
                return x
    mean = 1.0 / z
    while True:
        y = rng.standard_normal() ** 2
        x = mean + 0.5 * mean * mean * y
        x -= 0.5 * mean * math.sqrt(4.0 * mean * y + (mean * y) ** 2)
        if rng.random() > mean / (mean + x):
            x = mean * mean / x
        if x < _CUT:
            return x


@jit
def polya_gamma(tilt, rng):
    """One draw from PG(1, tilt), exact (Polson, Scott and Windle, 2013, algorithm 1)."""
    z = 0.5 * abs(tilt)
    rate = 0.125 * math.pi**2 + 0.5 * z * z
    root = math.sqrt(1.0 / _CUT)
    log_first = math.log(0.5 * math.pi / rate) - rate * _CUT
    below = _normal_below(root * (_CUT * z - 1.0)) * math.exp(-z)
    above = _normal_below(-root * (_CUT * z + 1.0))
    # exp(z) times the upper tail, without overflow for large z.
    below += math.exp(min(z, 700.0)) * above if above > 0 else 0.0
    share = 1.0 / (1.0 + 2.0 * below * math.exp(min(-log_first, 700.0)))
    while True:
        if rng.random() < share:
            x = _CUT + rng.standard_exponential() / rate
        else:
            x = _truncated_inverse_gaussian(z, rng)
        total = _series_term(0, x)
        y = rng.random() * total
        n = 0
        while True:
            n += 1
            if n % 2:
                total -= _series_term(n, x)
                if y <= total:
                    return 0.25 * x
            else:
                total += _series_term(n, x)
                if y > total:
                    break


@jit
def polya_gammas(predictor, observed, rng):
    """PG(1, predictor) for every observed cell, zero elsewhere."""
    out = np.zeros(predictor.shape)
    for i in range(predictor.shape[0]):
        for j in range(predictor.shape[1]):
            if observed[i, j]:
                out[i, j] = polya_gamma(predictor[i, j], rng)
    return out


@jit
def _deal(count, mass, out, rng):
    """Split a count over options in proportion to their mass (a multinomial draw)."""
    left = mass.sum()
    if count <= _FEW:
        out[:] = 0
        for _ in range(count):
            point = rng.random() * left
            k = 0
            while k < mass.shape[0] - 1 and point >= mass[k]:
                point -= mass[k]
                k += 1
            out[k if mass[k] > 0 else mass.argmax()] += 1
        return
    for k in range(mass.shape[0]):
        if count == 0:
            out[k:] = 0
            return
        if mass[k] <= 0:
            out[k] = 0
            continue
        out[k] = rng.binomial(count, mass[k] / left) if mass[k] < left else count
        count -= out[k]
        left -= mass[k]
    # Rounding in `left` may leave a few: they belong to the largest option.
    out[mass.argmax()] += count


@jit
def deal_counts(values, rows, columns, weights, basis, rng):
    """Split every count over the pairs of features that may have caused it, and add up by pair."""
    n_row, n_column = weights.shape
    total = np.zeros((n_row, n_column))
    row_mass, row_share = np.empty(n_row), np.empty(n_row, dtype=np.int64)
    mass, share = np.empty(n_column), np.empty(n_column, dtype=np.int64)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if values[i, j] <= 0:
                continue
            for k in range(n_row):
                row_mass[k] = rows[i, k] * basis[k, j]
            _deal(int(values[i, j]), row_mass, row_share, rng)
            for k in range(n_row):
                if row_share[k] > 0:
                    for a in range(n_column):
                        mass[a] = columns[j, a] * weights[k, a]
                    _deal(row_share[k], mass, share, rng)
                    for a in range(n_column):
                        total[k, a] += share[a]
    return total
