"""Loops over the listed cells of a sparse table for binary ICA: see `models/convex`.

The lists are those of `convex_sparse`: ones, zeros that are nearly ones, and cells not observed.
"""

from __future__ import annotations

import numpy as np

from falsezero.kernels._jit import jit


@jit(reassociate=True)
def visit_cells(kind, indptr, indices, shares, ones, gaps, row_count, made_ones, made_zeros):
    """Add what listed cells contribute, and take back what the sums over all cells gave them.

    Parameters
    ----------
    kind : int
        `convex_sparse.ONES`, `HOT_ZEROS` or `MISSING`.
    indptr, indices : arrays
        The listed cells, as a CSR pattern.
    shares : array (rows, components)
        Row weights divided by their sums.
    ones, gaps : array (columns, components)
        exp<log b>, and 1 - exp<log(1 - b)>.
    row_count, made_ones, made_zeros : arrays
        Expected counts of the components in each row, and of ones and zeros in each column;
        changed in place.

    Returns
    -------
    float
        The cells' share of the objective.
    """
    n_components = shares.shape[1]
    total = 0.0
    product = 1.0
    factors = 0
    for n in range(shares.shape[0]):
        w, count = shares[n], row_count[n]
        for entry in range(indptr[n], indptr[n + 1]):
            t = indices[entry]
            f, g, one, zero = ones[t], gaps[t], made_ones[t], made_zeros[t]
            p, gap = 0.0, 0.0
            for k in range(n_components):
                p += w[k] * f[k]
                gap += w[k] * g[k]
            total += gap + 0.5 * gap * gap
            by_one = 1.0 / p if kind == 0 else 0.0
            by_zero = 1.0 / (1.0 - gap) if kind == 1 else 0.0
            product *= p if kind == 0 else 1.0 - gap if kind == 1 else 1.0
            back = 1.0 + gap
            slack = gap * gap
            for k in range(n_components):
                is_one = w[k] * f[k] * by_one
                is_zero = w[k] * (1.0 - g[k]) * (by_zero - back)
                one[k] += is_one
                zero[k] += is_zero
                count[k] += is_one + is_zero - w[k] * slack
            factors += 1
            if factors == 16:
                total += np.log(product)
                product = 1.0
                factors = 0
    return total + np.log(product)
