"""Newton directions of many small concave problems, one per row: see `inference/climb.py`."""

from __future__ import annotations

import numpy as np

from falsezero.kernels._jit import jit

_DAMPING = 1e-9
"""Share of the largest curvature added to the diagonal, to limit steps in flat directions."""


def newton_directions(
    room: np.ndarray, gradient: np.ndarray, packed: np.ndarray, adds_up: bool
) -> np.ndarray:
    """Maximise g'd - d'Hd / 2 subject to d >= room, and to sum d = 0 where `adds_up`.

    Row i of `packed` is the upper triangle of H, minus the second derivatives, row by row.
    """
    k = room.shape[1]
    direction = np.zeros_like(room)
    work = np.empty((2 * k + 3, k)), np.empty((2, k), dtype=np.int64)
    _fill(room, gradient, packed, adds_up, *work, direction)
    return direction


@jit
def _fill(room, gradient, packed, adds_up, work, order, direction):
    """A primal active-set method: at each turn one entry reaches its bound or leaves it.

    `work` holds H, then the factor L of its free part, then three lines for `_solve_free`; `order`
    has a flag for every entry, whether it is free, then the list of free entries. Work arrays are
    arguments, and loops replace NumPy functions, because that compiles in half the time.
    """
    k = room.shape[1]
    is_free, target = order[0], work[2 * k]
    for i in range(room.shape[0]):
        _unpack(packed[i], work)
        d, g, low = direction[i], gradient[i], room[i]
        for j in range(k):
            is_free[j] = low[j] < 0.0
        for _ in range(4 * k + 8):
            multiplier = _solve_free(g, d, adds_up, work, order)
            blocked = _advance(d, target, low, is_free)
            if blocked >= 0:
                is_free[blocked] = 0
                continue
            released = _most_wanted(g, d, is_free, multiplier, work)
            if released < 0:
                break
            is_free[released] = 1


@jit
def _unpack(packed, hessian):
    k = hessian.shape[1]
    at, largest = 0, 1e-300
    for a in range(k):
        for b in range(a, k):
            hessian[a, b] = packed[at]
            hessian[b, a] = packed[at]
            at += 1
        if hessian[a, a] > largest:
            largest = hessian[a, a]
    for a in range(k):
        hessian[a, a] += _DAMPING * largest


@jit
def _solve_free(g, d, adds_up, work, order):
    """The best free entries with the others held: writes `target`, returns the multiplier."""
    k = g.shape[0]
    target, right, ones = work[2 * k], work[2 * k + 1], work[2 * k + 2]
    is_free, index = order[0], order[1]
    m, held = 0, 0.0
    for j in range(k):
        target[j] = d[j]
        if is_free[j]:
            index[m] = j
            m += 1
        else:
            held += d[j]
    for a in range(m):
        row, factor = work[index[a]], work[k + a]
        value, one = g[index[a]], 1.0
        for j in range(k):
            if not is_free[j]:
                value -= row[j] * d[j]
        square = row[index[a]]
        floor = 1e-14 * square
        for b in range(a):
            entry = row[index[b]]
            for c in range(b):
                entry -= factor[c] * work[k + b, c]
            entry /= work[k + b, b]
            factor[b] = entry
            square -= entry * entry
            value -= entry * right[b]
            one -= entry * ones[b]
        factor[a] = np.sqrt(square if square > floor else floor)
        right[a] = value / factor[a]
        ones[a] = one / factor[a]
    total, count = held, 0.0
    for a in range(m - 1, -1, -1):
        value, one = right[a], ones[a]
        for c in range(a + 1, m):
            value -= work[k + c, a] * right[c]
            one -= work[k + c, a] * ones[c]
        right[a] = value / work[k + a, a]
        ones[a] = one / work[k + a, a]
        total += right[a]
        count += ones[a]
    multiplier = total / count if adds_up and m > 0 else 0.0
    for a in range(m):
        target[index[a]] = right[a] - multiplier * ones[a] if adds_up else right[a]
    return multiplier


@jit
def _advance(d, target, low, is_free):
    """Move towards the target as far as bounds allow; return the entry that stops it, or -1."""
    step, blocked = 1.0, -1
    for j in range(d.shape[0]):
        if is_free[j] and target[j] < low[j]:
            reach = (low[j] - d[j]) / (target[j] - d[j])
            if reach < step:
                step, blocked = reach if reach > 0.0 else 0.0, j
    for j in range(d.shape[0]):
        if is_free[j]:
            d[j] += step * (target[j] - d[j])
    if blocked >= 0:
        d[blocked] = low[blocked]
    return blocked


@jit
def _most_wanted(g, d, is_free, multiplier, hessian):
    """The held entry that would gain most by rising, or -1."""
    k = d.shape[0]
    best, released, scale = 0.0, -1, 0.0
    for j in range(k):
        size = g[j] if g[j] > 0.0 else -g[j]
        scale = size if size > scale else scale
    for j in range(k):
        if is_free[j]:
            continue
        slope = g[j] - multiplier
        for c in range(k):
            slope -= hessian[j, c] * d[c]
        if slope > best + 1e-12 * scale:
            best, released = slope, j
    return released
