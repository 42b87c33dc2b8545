"""Cells and small linear systems of logistic PCA."""

from __future__ import annotations

import numpy as np

from falsezero.kernels._jit import jit
from falsezero.kernels.codes import UNOBSERVED

_FLUSH = 16
_NEAR_ZERO = 1e-4


@jit
def logistic_cells(codes, theta, decay, target):
    """Turn theta into the weights of the quadratic bound in place; return the log likelihood.

    The bound of Jaakkola and Jordan on log sigma has the curvature tanh(|theta| / 2) / (2 |theta|);
    with `decay` = exp(-|theta|) that is (1 - decay) / (1 + decay) / (2 |theta|). `target` becomes
    x - 1/2. Both are 0 where a cell was `UNOBSERVED`.
    """
    total = 0.0
    for i in range(codes.shape[0]):
        product, since = 1.0, 0
        for t in range(codes.shape[1]):
            code = codes[i, t]
            if code == UNOBSERVED:
                theta[i, t] = 0.0
                target[i, t] = 0.0
                continue
            value, e = theta[i, t], decay[i, t]
            size = abs(value)
            # log sigma(s) = min(s, 0) - log(1 + e), with s = theta for ones and -theta for zeros.
            if (code == 1) == (value < 0):
                total -= size
            product *= 1.0 + e
            since += 1
            if since == _FLUSH:
                total -= np.log(product)
                product, since = 1.0, 0
            theta[i, t] = (1 - e) / (1 + e) / (2 * size) if size > _NEAR_ZERO else 0.25
            target[i, t] = 0.5 if code == 1 else -0.5
        total -= np.log(product)
    return total


@jit
def solve_many(packed, right, ridge):
    """Solve many small symmetric positive definite systems, each by Cholesky, into `right`.

    Row i of `packed` is the upper triangle of system i, row by row; `ridge` is added to its
    diagonal.
    """
    n, k = right.shape
    lower = np.empty((k, k), dtype=right.dtype)
    for i in range(n):
        at = 0
        for a in range(k):
            for b in range(a, k):
                lower[b, a] = packed[i, at]
                at += 1
            lower[a, a] += ridge
        for a in range(k):
            for b in range(a):
                value = lower[a, b]
                for c in range(b):
                    value -= lower[a, c] * lower[b, c]
                lower[a, b] = value / lower[b, b]
            value = lower[a, a]
            for c in range(a):
                value -= lower[a, c] * lower[a, c]
            lower[a, a] = np.sqrt(max(value, ridge))
        for a in range(k):
            value = right[i, a]
            for c in range(a):
                value -= lower[a, c] * right[i, c]
            right[i, a] = value / lower[a, a]
        for a in range(k - 1, -1, -1):
            value = right[i, a]
            for c in range(a + 1, k):
                value -= lower[c, a] * right[i, c]
            right[i, a] = value / lower[a, a]
