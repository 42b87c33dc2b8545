"""The pass of the convex family over cells whose value is uncertain.

The looks at a cell have likelihood L1 if the thing is present and L0 if it is not. A cell then
has probability P1 L1 + P0 L0, and with

    U = L1 / (P1 L1 + P0 L0),   V = L0 / (P1 L1 + P0 L0)

every update of the convex family reads as it does for certain cells, where (L1, L0) is (1, 0) or
(0, 1). r = P1 U is the probability that the thing is present.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from falsezero.kernels._jit import jit

CHUNK_CELLS = 65536


class SoftStatistics(NamedTuple):
    """Result of one pass: W'U, W'V, U F1' + V F0', the sums of r by pattern, the likelihood."""

    ones: np.ndarray
    zeros: np.ndarray
    row_stat: np.ndarray
    present: np.ndarray
    log_likelihood: float


@jit
def _soft_cells(codes, one, zero, scale, p_one, p_zero, u, v, present):
    """Write U and V of some rows and add r up by pattern and column; return the likelihood.

    `codes` has the pattern of looks of each cell; a pattern without any look has one < 0.
    """
    log_likelihood = 0.0
    for i in range(codes.shape[0]):
        for t in range(p_one.shape[1]):
            code = codes[i, t] if codes.shape[1] > 1 else codes[i, 0]
            l_one = one[code, t]
            if l_one < 0.0:
                u[i, t] = 0.0
                v[i, t] = 0.0
                continue
            l_zero = zero[code, t]
            total = p_one[i, t] * l_one + p_zero[i, t] * l_zero
            u[i, t] = l_one / total
            v[i, t] = l_zero / total
            present[code, t] += p_one[i, t] * u[i, t]
            log_likelihood += np.log(total) + scale[code, t]
    return log_likelihood


def soft_pass(
    codes: np.ndarray,
    evidence: tuple[np.ndarray, np.ndarray, np.ndarray],
    weights: np.ndarray,
    ones: np.ndarray,
    zeros: np.ndarray,
) -> SoftStatistics:
    """One pass over a block of cells.

    Parameters
    ----------
    codes : int array (rows, columns) or (rows, 1)
        Pattern of looks of each cell; with one column, all cells of a row have the same number.
    evidence : three arrays (patterns, columns)
        L1 and L0, divided by the exponential of the third; L1 < 0 where nobody looked.
    weights, ones, zeros : arrays (rows, components) and (components, columns)
        W, F1 and F0.
    """
    one, zero, scale = evidence
    n_rows, n_columns = weights.shape[0], ones.shape[1]
    size = max(1, CHUNK_CELLS // n_columns)
    u, v = np.empty((2, min(size, n_rows), n_columns))
    present = np.zeros(one.shape)
    w_ones, w_zeros = np.zeros(ones.shape), np.zeros(ones.shape)
    row_stat = np.empty(weights.shape)
    log_likelihood = 0.0
    for start in range(0, n_rows, size):
        here = slice(start, min(start + size, n_rows))
        w = weights[here]
        x, y = u[: len(w)], v[: len(w)]
        p_one, p_zero = w @ ones, w @ zeros
        log_likelihood += _soft_cells(codes[here], one, zero, scale, p_one, p_zero, x, y, present)
        row_stat[here] = x @ ones.T + y @ zeros.T
        w_ones += w.T @ x
        w_zeros += w.T @ y
    return SoftStatistics(w_ones, w_zeros, row_stat, present, log_likelihood)
