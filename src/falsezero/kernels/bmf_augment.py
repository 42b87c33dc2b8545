"""Compiled auxiliary draws that make the weights of binary matrix factorization conjugate."""

from __future__ import annotations

import math

import numpy as np

from falsezero.kernels._jit import jit

_CUT = 0.64
"""Where the two series of the Jacobi density change over (Polson, Scott and Windle, 2013)."""
_SURE = 0.994
"""Below this share of its first term no partial sum of either series lies: 1 - 3 exp(-4 / _CUT)."""
_FEW = 8
"""Counts up to which events are dealt one by one, which is quicker than binomial draws."""


def _share_beyond(z):
    """Share of proposals beyond the cut."""
    rate = 0.125 * math.pi**2 + 0.5 * z * z
    root = math.sqrt(0.5 / _CUT)
    log_first = math.log(0.5 * math.pi / rate) - rate * _CUT
    below = 0.5 * math.erfc(-root * (_CUT * z - 1.0)) * math.exp(-z)
    above = 0.5 * math.erfc(root * (_CUT * z + 1.0))
    # exp(z) times the upper tail, without overflow for large z.
    below += math.exp(min(z, 700.0)) * above if above > 0 else 0.0
    return 1.0 / (1.0 + 2.0 * below * math.exp(min(-log_first, 700.0)))


_STEPS, _LARGEST, _MARGIN = 256, 12, 1e-4
_SHARES = np.array([_share_beyond(i / _STEPS) for i in range(_STEPS * _LARGEST + 2)])
"""The share at multiples of 1 / _STEPS; straight lines between them are off by less than the margin
(its second derivative is below 2), so that a uniform further away is decided without erfc."""
_share_exactly = jit(_share_beyond)


@jit(inline=True)
def _goes_beyond(z, rng):
    """Whether a proposal lies beyond the cut."""
    uniform = rng.random()
    if z < _LARGEST:
        place = z * _STEPS
        i = int(place)
        near = _SHARES[i] + (place - i) * (_SHARES[i + 1] - _SHARES[i])
        if abs(uniform - near) > _MARGIN:
            return uniform < near
    return uniform < _share_exactly(z)


@jit
def _series_term(n, x):
    """n-th term of the alternating series of the Jacobi density J*(1, 0)."""
    half = n + 0.5
    if x > _CUT:
        return math.pi * half * math.exp(-0.5 * half * half * math.pi * math.pi * x)
    scale = (2.0 / (math.pi * x)) ** 1.5
    return math.pi * half * scale * math.exp(-2.0 * half * half / x)


@jit(inline=True)
def _truncated_inverse_gaussian(z, rng):
    """Inverse Gaussian with mean 1 / z, shape 1, below the cut."""
    if z < 1.0 / _CUT:
        while True:
            first, second = rng.standard_exponential(), rng.standard_exponential()
            while first * first > 2.0 * second / _CUT:
                first, second = rng.standard_exponential(), rng.standard_exponential()
            x = 1.0 + _CUT * first
            x = _CUT / (x * x)
            uniform, exponent = rng.random(), 0.5 * z * z * x
            if uniform < 1.0 - exponent or uniform < math.exp(-exponent):
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
def _series_accepts(x, uniform):
    """Whether a uniform lies below the density, as a share of the first term of its series."""
    total = first = _series_term(0, x)
    n = 0
    while True:
        n += 1
        if n % 2:
            total -= _series_term(n, x)
            if uniform * first <= total:
                return True
        else:
            total += _series_term(n, x)
            if uniform * first > total:
                return False


@jit(inline=True)
def polya_gamma(tilt, rng):
    """One draw from PG(1, tilt), exact (Polson, Scott and Windle, 2013, algorithm 1)."""
    z = 0.5 * abs(tilt)
    while True:
        if _goes_beyond(z, rng):
            x = _CUT + rng.standard_exponential() / (0.125 * math.pi**2 + 0.5 * z * z)
        else:
            x = _truncated_inverse_gaussian(z, rng)
        uniform = rng.random()
        if uniform < _SURE or _series_accepts(x, uniform):
            return 0.25 * x


@jit
def polya_gammas(predictor, observed, rng):
    """PG(1, predictor) for every observed cell of a row, zero elsewhere."""
    out = np.zeros(predictor.shape[0])
    for j in range(predictor.shape[0]):
        if observed[j]:
            out[j] = polya_gamma(predictor[j], rng)
    return out


@jit
def polya_gammas_by_pair(on, basis, observed, rng):
    """Polya-gammas of all cells, added up over the rows that have two features.

    Lines are pairs of features, a <= b in order. No table of them is ever written.
    """
    n, width = on.shape
    out = np.zeros((width * (width + 1) // 2, basis.shape[1]))
    active = np.empty(width, dtype=np.int64)
    predictor = np.empty(basis.shape[1])
    for i in range(n):
        m = 0
        predictor[:] = 0.0
        for k in range(width):
            if on[i, k]:
                active[m] = k
                m += 1
                predictor += basis[k]
        drawn = polya_gammas(predictor, observed[i], rng)
        for s in range(m):
            a = active[s]
            for t in range(s, m):
                out[a * width - a * (a - 1) // 2 + active[t] - a] += drawn
    return out


@jit
def _deal_many(count, sums, active, m, out, column, rng):
    """Split a count by binomial draws, one an option."""
    for s in range(m - 1, 0, -1):
        chance = (sums[s] - sums[s - 1]) / sums[s]
        some = rng.binomial(count, chance) if chance > 0 else 0
        out[active[s], column] += some
        count -= some
        if count == 0:
            return
    out[active[0], column] += count


@jit
def _deal_line(counts, on, chances, out, active, sums, rng):
    """Split each count of a line over the line's features, in proportion to their chances.

    `chances` and `out` are features x counts; `active` and `sums` are room to work in.
    """
    m = 0
    for k in range(on.shape[0]):
        if on[k]:
            active[m] = k
            m += 1
    for j in range(counts.shape[0]):
        count = int(counts[j])
        if count == 0 or m < 2:
            if m:
                out[active[0], j] += count
            continue
        running = 0.0
        for s in range(m):
            running += chances[active[s], j]
            sums[s] = running
        if count > _FEW:
            _deal_many(count, sums, active, m, out, j, rng)
            continue
        for _ in range(count):
            point, where = rng.random() * running, 0
            # Counting has no branch to mispredict, as searching would.
            for s in range(m - 1):
                where += point >= sums[s]
            out[active[where], j] += 1


@jit
def deal_counts(values, rows, columns, weights, basis, rng):
    """Split every count over the pairs of features that may have caused it, and add up by pair.

    First over the row features of each cell; what a row feature gets of a column is then split over
    column features all at once, because its chances are the same in every row.
    """
    n_row, n_column = weights.shape
    room = max(n_row, n_column)
    active, sums = np.empty(room, dtype=np.int64), np.empty(room)
    caused = np.zeros((n_row, values.shape[1]), dtype=np.int64)
    for i in range(values.shape[0]):
        _deal_line(values[i], rows[i], basis, caused, active, sums, rng)
    total = np.zeros((n_column, n_row), dtype=np.int64)
    for j in range(values.shape[1]):
        _deal_line(caused[:, j], columns[j], weights.T, total, active, sums, rng)
    return total.T
