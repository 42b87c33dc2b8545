"""Loops over the ones, and the few doubtful zeros, of a sparse table: see `models/convex`."""

from __future__ import annotations

import numpy as np

from falsezero.kernels._jit import jit

ONES, HOT_ZEROS, MISSING = 0, 1, 2
"""What a list of cells holds."""


@jit(reassociate=True)
def list_surface(kind, rows, indptr, indices, weights, ones, others, value, gradient, packed):
    """Add what some listed cells contribute to value, slope and curvature of rows.

    `ones` and `others` are F1' and (1 - F0)' (columns x components); `packed` collects upper
    triangles of minus the second derivatives. `weights` holds the rows at the positions `rows` of
    the list.
    """
    k = weights.shape[1]
    for i in range(rows.shape[0]):
        w, slope, curve = weights[i], gradient[i], packed[i]
        total = 0.0
        for entry in range(indptr[rows[i]], indptr[rows[i] + 1]):
            f, g = ones[indices[entry]], others[indices[entry]]
            p, q = 0.0, 0.0
            for a in range(k):
                p += w[a] * f[a]
                q += w[a] * g[a]
            total += q + 0.5 * q * q
            inverse = 1.0 / p if kind == 0 else 1.0 / (1.0 - q) if kind == 1 else 0.0
            if kind < 2:
                total -= np.log(inverse)
            of_one = inverse if kind == 0 else 0.0
            of_zero = inverse if kind == 1 else 0.0
            up, bend = 1.0 + q - of_zero, of_zero * of_zero - 1.0
            at = 0
            for a in range(k):
                slope[a] += of_one * f[a] + up * g[a]
                of_f, of_g = of_one * of_one * f[a], bend * g[a]
                for b in range(a, k):
                    curve[at] += of_f * f[b] + of_g * g[b]
                    at += 1
        value[i] += total


@jit
def _positive_root(e, b, c):
    """The positive root of e x^2 + b x = c, and the square root of its discriminant."""
    root = np.sqrt(b * b + 4.0 * e * c)
    if b > 0:
        return 2.0 * c / (b + root), root
    if e > 0:
        return (root - b) / (2.0 * e), root
    return 1.0, root


@jit
def climb_columns(columns, ones, zeros, slope, curve, low):
    """Maximise c1 log a + c0 log(1 - a) - b a - h a^2 / (2 a0) in [low, 1 - low], cell by cell."""
    for t in range(columns.shape[0]):
        for k in range(columns.shape[1]):
            c1, c0, b = ones[t, k], zeros[t, k], slope[k]
            e = curve[t, k] / columns[t, k]
            # Without doubtful zeros the answer is in closed form; with them it is an upper bound.
            a, _ = _positive_root(e, b, c1)
            a = min(max(a, low), 1.0 - low)
            if c0 > 0 and a > low:
                a = _bracketed(c1, c0, b, e, low, a)
            columns[t, k] = a


@jit
def _bracketed(c1, c0, b, e, left, right):
    """The zero of c1 / a - c0 / (1 - a) - b - e a between two bounds: Newton kept in a bracket."""
    if c1 / left - c0 / (1.0 - left) - b - e * left <= 0:
        return left
    if c1 / right - c0 / (1.0 - right) - b - e * right >= 0:
        return right
    a = np.sqrt(left * right)
    for _ in range(100):
        value = c1 / a - c0 / (1.0 - a) - b - e * a
        if value > 0:
            left = a
        else:
            right = a
        trial = a + value / (c1 / (a * a) + c0 / ((1.0 - a) * (1.0 - a)) + e)
        if not (left < trial < right):
            trial = np.sqrt(left * right)
        if abs(trial - a) <= 1e-13 * a:
            return trial
        a = trial
    return a
