"""Newton directions of many small concave problems, one a row: see `inference/climb.py`."""

from __future__ import annotations

import numpy as np

from falsezero.kernels._jit import jit

_DAMPING = 1e-9
"""Share of the largest curvature added to the diagonal: flat directions must not fly off."""


@jit
def newton_directions(weights, low, gradient, packed, adds_up, direction):
    """Maximise g'd - d'Hd / 2 subject to w + d >= low, and to sum d = 0 where `adds_up`.

    Row i of `packed` is the upper triangle of H, minus the second derivatives, row by row.
    Writes d into `direction` and returns g'd of every row, twice what the quadratic gains.
    A primal active-set method: at each turn one entry reaches its bound or leaves it.
    """
    n, k = weights.shape
    gain = np.empty(n)
    hessian, factor = np.empty((k, k)), np.empty((k, k))
    is_free, target = np.empty(k, dtype=np.bool_), np.empty(k)
    for i in range(n):
        _unpack(packed[i], hessian)
        d, g, room = direction[i], gradient[i], low[i] - weights[i]
        for j in range(k):
            d[j] = 0.0
            is_free[j] = room[j] < 0.0
        for _ in range(4 * k + 8):
            multiplier = _solve_free(hessian, g, d, is_free, adds_up, factor, target)
            step, blocked = _longest_step(d, target, room, is_free)
            for j in range(k):
                if is_free[j]:
                    d[j] += step * (target[j] - d[j])
            if blocked >= 0:
                d[blocked] = room[blocked]
                is_free[blocked] = False
                continue
            released = _most_wanted(hessian, g, d, is_free, multiplier, adds_up)
            if released < 0:
                break
            is_free[released] = True
        gain[i] = np.dot(g, d)
    return gain


@jit
def _unpack(packed, hessian):
    k = hessian.shape[0]
    at, largest = 0, 1e-300
    for a in range(k):
        for b in range(a, k):
            hessian[a, b] = packed[at]
            hessian[b, a] = packed[at]
            at += 1
        largest = max(largest, hessian[a, a])
    for a in range(k):
        hessian[a, a] += _DAMPING * largest


@jit
def _solve_free(hessian, g, d, is_free, adds_up, factor, target):
    """The best free entries with the others held: writes `target`, returns the multiplier."""
    k = g.shape[0]
    index = np.flatnonzero(is_free)
    m = len(index)
    right, ones = np.empty(m), np.ones(m)
    held = 0.0
    for j in range(k):
        target[j] = d[j]
        if not is_free[j]:
            held += d[j]
    for a in range(m):
        value = g[index[a]]
        for j in range(k):
            if not is_free[j]:
                value -= hessian[index[a], j] * d[j]
        right[a] = value
        for b in range(a + 1):
            value = hessian[index[a], index[b]]
            for c in range(b):
                value -= factor[a, c] * factor[b, c]
            if a == b:
                factor[a, a] = np.sqrt(max(value, 1e-14 * hessian[index[a], index[a]]))
            else:
                factor[a, b] = value / factor[b, b]
    _substitute(factor, right)
    multiplier = 0.0
    if adds_up and m > 0:
        _substitute(factor, ones)
        multiplier = (right.sum() + held) / ones.sum()
    for a in range(m):
        target[index[a]] = right[a] - multiplier * ones[a] if adds_up else right[a]
    return multiplier


@jit
def _substitute(factor, right):
    """Solve L L' x = b in place."""
    m = right.shape[0]
    for a in range(m):
        value = right[a]
        for c in range(a):
            value -= factor[a, c] * right[c]
        right[a] = value / factor[a, a]
    for a in range(m - 1, -1, -1):
        value = right[a]
        for c in range(a + 1, m):
            value -= factor[c, a] * right[c]
        right[a] = value / factor[a, a]


@jit
def _longest_step(d, target, room, is_free):
    """How far to go towards the target, and which entry stops it (-1: none)."""
    step, blocked = 1.0, -1
    for j in range(d.shape[0]):
        if is_free[j] and target[j] < room[j]:
            reach = (room[j] - d[j]) / (target[j] - d[j])
            if reach < step:
                step, blocked = max(reach, 0.0), j
    return step, blocked


@jit
def _most_wanted(hessian, g, d, is_free, multiplier, adds_up):
    """The held entry that would gain most by rising, or -1."""
    k = d.shape[0]
    best, released, scale = 0.0, -1, 0.0
    for j in range(k):
        scale = max(scale, abs(g[j]))
    for j in range(k):
        if is_free[j]:
            continue
        slope = g[j] - multiplier
        for c in range(k):
            slope -= hessian[j, c] * d[c]
        if slope > best + 1e-12 * scale:
            best, released = slope, j
    return released
