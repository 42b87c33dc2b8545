"""The pass over the tokens of a table of counts for PLSA."""

from __future__ import annotations

import numpy as np

from falsezero.kernels._jit import jit

_TINY = 1e-30
"""Smallest p of a token: a count over it is finite in single precision too."""


@jit
def token_pass(indptr, indices, data, rates, columns, row_stat, column_stat):
    """Add the statistics x / p of rows and columns, p = rates . columns; return sum of x log p.

    The table is CSR; `rates` is rows x components, `columns` is columns x components (so that both
    dot products and both updates run along memory), `row_stat` and `column_stat` are shaped like
    them. For a CSC table, rows and columns change places.
    """
    k = rates.shape[1]
    full = k - k % 4
    total = 0.0
    for i in range(rates.shape[0]):
        rate, stat = rates[i], row_stat[i]
        for j in range(indptr[i], indptr[i + 1]):
            column, column_sum = columns[indices[j]], column_stat[indices[j]]
            # Four sums at a time: a single sum would wait for each addition to finish.
            a = b = c = d = rate.dtype.type(0)
            for z in range(0, full, 4):
                a += rate[z] * column[z]
                b += rate[z + 1] * column[z + 1]
                c += rate[z + 2] * column[z + 2]
                d += rate[z + 3] * column[z + 3]
            for z in range(full, k):
                a += rate[z] * column[z]
            p = max((a + b) + (c + d), _TINY)
            total += data[j] * np.log(p)
            share = rate.dtype.type(data[j] / p)
            for z in range(k):
                stat[z] += share * column[z]
                column_sum[z] += share * rate[z]
    return total


@jit(reassociate=True)
def token_surface(rows, indptr, indices, data, rates, columns, value, gradient, packed):
    """Add sum of x log p, its slope and minus its second derivatives in the rates of some rows.

    `rates` holds the rows at the positions `rows` of the table; `packed` collects upper triangles.
    """
    k = rates.shape[1]
    for i in range(rows.shape[0]):
        rate, slope, curve = rates[i], gradient[i], packed[i]
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            column = columns[indices[j]]
            p = 0.0
            for a in range(k):
                p += rate[a] * column[a]
            p = max(p, _TINY)
            value[i] += data[j] * np.log(p)
            share = data[j] / p
            at = 0
            for a in range(k):
                slope[a] += share * column[a]
                left = share * column[a] / p
                for b in range(a, k):
                    curve[at] += left * column[b]
                    at += 1
