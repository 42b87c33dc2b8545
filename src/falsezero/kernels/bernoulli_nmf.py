"""Bernoulli NMF: a bound whose multiplicative updates never lower the likelihood."""

from __future__ import annotations

import numpy as np

from falsezero.kernels._jit import jit

_SMALL = 1e-3


@jit
def tanh_cells(codes, rate, rise, fall):
    """Put the numerators and denominators of the multiplicative updates into `rise` and `fall`.

    `rate` is u >= 0, and `rise` holds 1 - exp(-u) on entry. With p = tanh(u / 2), a factor that is
    multiplied by r changes the log likelihood of a cell by at least a log r - b (r - 1), where

        ones:   a = 1 + e,  b = a - u / sinh(u),  e = min(0.236 u, 0.17)
        zeros:  a = c,      b = a + u sigma(u),   c = u / (2 + 0.75 u)

    and `rise` = a / u, `fall` = b / u on return, 0 for cells not observed. Returns the log
    likelihood. The constants are checked against the exact functions in the tests.
    """
    total = 0.0
    for i in range(codes.shape[0]):
        for t in range(codes.shape[1]):
            code, u, q = codes[i, t], rate[i, t], rise[i, t]
            if code == 1:
                extra = min(0.236 * u, 0.17)
                gap = 1 / u - 2 * (1 - q) / (q * (2 - q)) if u > _SMALL else u / 6
                rise[i, t] = (1 + extra) / u
                fall[i, t] = extra / u + gap
                total += np.log(q / (2 - q))
            elif code == 0:
                rise[i, t] = 1 / (2 + 0.75 * u)
                fall[i, t] = rise[i, t] + 1 / (2 - q)
                total += np.log(2 / (2 - q)) - u
            else:
                rise[i, t] = 0
                fall[i, t] = 0
    return total
