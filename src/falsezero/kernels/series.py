"""Sums over the cells where a power series of log(1 - p) is too coarse: `models/convex/series`."""

from __future__ import annotations

import numpy as np

from falsezero.kernels._jit import jit
from falsezero.kernels.best_cells import candidates, dot, is_listed

_HIGHEST = 1.0 - 1e-12


@jit
def visited_sums(
    weights, ones, gaps, order, ranked, start, indices, holes_start, holes, hot, first_hot
):
    """Sums over the visited cells of some rows: ones, cells not observed, and hot zeros.

    A zero is hot when its p = w . gaps exceeds `hot`. Those above `first_hot` were visited before,
    so that a lower limit can be tried at the cost of the cells between the two; ones and cells not
    observed are left out then too. Where `ones` is empty, `gaps` stands for it.

    Returns
    -------
    array of 7
        sum of log p over ones; of log(1 - p) over hot zeros; of p, p^2, p^3, p^4 over all visited
        cells; number of hot zeros.
    """
    has_ones = ones.shape[0] > 0
    sums = np.zeros(7)
    is_large = np.empty(gaps.shape[1], dtype=np.bool_)
    out = np.empty(gaps.shape[0] + 1, dtype=np.int64)
    last_row = np.full(gaps.shape[0], -1)
    w = np.empty(gaps.shape[1])
    for n in range(weights.shape[0]):
        w[:] = weights[n]
        if first_hot > 1.0:
            product, factors = 1.0, 0
            for entry in range(start[n], start[n + 1]):
                gap = dot(w, gaps[indices[entry]])
                product *= dot(w, ones[indices[entry]]) if has_ones else gap
                factors += 1
                if factors == 16:
                    sums[0] += np.log(product)
                    product, factors = 1.0, 0
                _add_powers(sums, gap)
            sums[0] += np.log(product)
            for entry in range(holes_start[n], holes_start[n + 1]):
                _add_powers(sums, dot(w, gaps[holes[entry]]))
        for i in range(candidates(n, w, hot, gaps, order, ranked, is_large, last_row, out)):
            t = out[i]
            p = dot(w, gaps[t])
            if p <= hot or p > first_hot:
                continue
            if is_listed(t, indices, start[n], start[n + 1]):
                continue
            if is_listed(t, holes, holes_start[n], holes_start[n + 1]):
                continue
            sums[1] += np.log1p(-min(p, _HIGHEST))
            sums[6] += 1.0
            _add_powers(sums, p)
    return sums


@jit(inline=True)
def _add_powers(sums, p):
    square = p * p
    sums[2] += p
    sums[3] += square
    sums[4] += square * p
    sums[5] += square * square
