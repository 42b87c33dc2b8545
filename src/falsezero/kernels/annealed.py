"""Gibbs draws of the convex Bernoulli model at one step of annealing.

At share s a cell has probability (1 - s) base + s p, where p = sum_k w_k b_k is the model's and
`base` that of its column alone: a cell is made by the column with some probability, else by one of
the components.
"""

from __future__ import annotations

from falsezero.kernels._jit import jit
from falsezero.kernels.codes import UNOBSERVED


@jit
def draw_counts(codes, likelihood, column, weights, components, share, uniforms, rows, ones, zeros):
    """Draw which component made each cell, if any did, and count.

    `likelihood` and `column` have the probability of each cell's value by the model, and by its
    column alone. The counts of components in each row, and of ones and zeros of each component and
    column, are added to `rows`, `ones` and `zeros`; `uniforms` has one number in [0, 1) per cell.
    """
    n_rows, n_columns = codes.shape
    last = weights.shape[1] - 1
    for i in range(n_rows):
        for t in range(n_columns):
            code = codes[i, t]
            if code == UNOBSERVED:
                continue
            p = likelihood[i, t]
            left = uniforms[i, t] * ((1.0 - share) * column[i, t] + share * p) / share
            if left >= p:
                continue
            j = 0
            while j < last:
                b = components[j, t] if code == 1 else 1.0 - components[j, t]
                left -= weights[i, j] * b
                if left < 0.0:
                    break
                j += 1
            rows[i, j] += 1.0
            if code == 1:
                ones[j, t] += 1.0
            else:
                zeros[j, t] += 1.0
