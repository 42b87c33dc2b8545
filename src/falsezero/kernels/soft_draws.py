"""Draws of presences, components and Polya-gamma curvatures, given repeated looks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from falsezero.kernels._jit import jit
from falsezero.kernels.bmf_augment import polya_gamma

_MANY = 64
"""Looks from which on their curvature is drawn from the gamma distribution with the mean and
variance of its Polya-gamma; skewness then differs by less than 2 %."""


class CellDraws(NamedTuple):
    """Sufficient statistics of one draw of all cells of a block."""

    row_counts: np.ndarray
    """Cells of each row that each component is responsible for."""
    ones: np.ndarray
    zeros: np.ndarray
    """Presences and absences of each component and column."""
    present: np.ndarray
    """Presences by pattern of looks and column."""
    log_likelihood: float


@jit
def _draw_cells(codes, one, zero, scale, weights, ones, rng, row_counts, n_ones, n_zeros, present):
    n_components, n_columns = ones.shape
    log_likelihood = 0.0
    for i in range(codes.shape[0]):
        for t in range(n_columns):
            code = codes[i, t] if codes.shape[1] > 1 else codes[i, 0]
            l_one = one[code, t]
            if l_one < 0.0:
                continue
            p = 0.0
            for k in range(n_components):
                p += weights[i, k] * ones[k, t]
            joint = p * l_one
            total = joint + (1.0 - p) * zero[code, t]
            log_likelihood += np.log(total) + scale[code, t]
            is_there = rng.random() * total < joint
            left = rng.random() * (p if is_there else 1.0 - p)
            cause = n_components - 1
            for k in range(n_components):
                left -= weights[i, k] * (ones[k, t] if is_there else 1.0 - ones[k, t])
                if left < 0.0:
                    cause = k
                    break
            row_counts[i, cause] += 1.0
            if is_there:
                n_ones[cause, t] += 1.0
                present[code, t] += 1.0
            else:
                n_zeros[cause, t] += 1.0
    return log_likelihood


def draw_cells(
    codes: np.ndarray,
    evidence: tuple[np.ndarray, np.ndarray, np.ndarray],
    weights: np.ndarray,
    ones: np.ndarray,
    rng: Any,
) -> CellDraws:
    """Presence and component of every cell that was looked at, given all parameters.

    `codes` and `evidence` are those of `soft_pass`; `weights` (rows x components) lie on the
    simplex, `ones` (components x columns) in [0, 1].
    """
    one, zero, scale = evidence
    row_counts, present = np.zeros(weights.shape), np.zeros(one.shape)
    n_ones, n_zeros = np.zeros(ones.shape), np.zeros(ones.shape)
    log_likelihood = _draw_cells(
        codes, one, zero, scale, weights, ones, rng, row_counts, n_ones, n_zeros, present
    )
    return CellDraws(row_counts, n_ones, n_zeros, present, log_likelihood)


@jit
def _add_log_likelihoods(codes, one, zero, scale, p, out):
    for i in range(codes.shape[0]):
        for t in range(p.shape[1]):
            code = codes[i, t] if codes.shape[1] > 1 else codes[i, 0]
            l_one = one[code, t]
            if l_one >= 0.0:
                total = p[i, t] * l_one + (1.0 - p[i, t]) * zero[code, t]
                out[t] += np.log(total) + scale[code, t]


def column_log_likelihoods(
    codes: np.ndarray,
    evidence: tuple[np.ndarray, np.ndarray, np.ndarray],
    weights: np.ndarray,
    ones: np.ndarray,
) -> np.ndarray:
    """Log likelihood of the looks at each column, presences summed out."""
    out = np.zeros(ones.shape[1])
    _add_log_likelihoods(codes, *evidence, weights @ ones, out)
    return out


@jit
def draw_curvature(n_looks, tilt, rng):
    """The sum of `n_looks` draws from PG(1, tilt) (Polson, Scott and Windle 2013).

    Given it, looks are quadratic in the effects behind `tilt`: what the bound of Jaakkola and
    Jordan is for variational fits, it is, without error, for draws.
    """
    total, c = 0.0, max(abs(tilt), 1e-6)
    if n_looks <= _MANY:
        for _ in range(int(n_looks)):
            total += polya_gamma(c, rng)
        return total
    mean = n_looks * np.tanh(0.5 * c) / (2.0 * c)
    if c < 0.01:
        variance = n_looks / 24.0
    else:
        variance = n_looks * (np.tanh(0.5 * c) - 0.5 * c / np.cosh(0.5 * min(c, 500.0)) ** 2)
        variance /= 2.0 * c**3
    return rng.standard_gamma(mean * mean / variance) * variance / mean
