"""Looks whose rates differ from cell to cell: sums over the nodes of the cell effect.

At node m the log odds of a one at look j of pattern p and column t are base[p, j, t] + shifts[m].
Arrays with a value for every look and node are never written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from falsezero.kernels._jit import jit
from falsezero.kernels.soft_draws import draw_curvature

_FEW = 16
"""Looks up to which evidence is a product of rates; logarithms are slower."""
_TINY, _HUGE = 1e-250, 1e100


class CurvatureSums(NamedTuple):
    """Curvatures and presences added up over the nodes u."""

    curve: np.ndarray
    curve_u: np.ndarray
    """Curvatures, and curvatures times u, patterns x looks x columns."""
    curve_uu: float
    share_u: np.ndarray
    """Presences times u, patterns x columns."""


def _plain(*arrays: np.ndarray) -> list[np.ndarray]:
    """Kernels are compiled for one layout and type only."""
    return [np.ascontiguousarray(array, dtype=float) for array in arrays]


@jit(inline=True)
def _log_two_cosh(xi):
    return 0.5 * xi + np.log1p(np.exp(-xi))


@jit
def _by_products(p, t, base, variance, shifts, roots, rises, weights, ones, tries, out):
    """Evidence of one pattern and column at every node; their sum.

    `roots` and `rises` are the square roots of the odds of every look and of every node.
    """
    at = t if tries.shape[2] > 1 else 0
    total = 0.0
    for m in range(len(rises)):
        like = weights[m]
        for j in range(len(roots)):
            root = roots[j] * rises[m]
            odds = root * root
            if variance[p, j, t] == 0.0:
                fall = 1.0 / (1.0 + odds)
            else:
                eta = base[p, j, t] + shifts[m]
                half = np.exp(-0.5 * np.sqrt(eta * eta + variance[p, j, t]))
                fall = half / ((1.0 + half * half) * root)
            for _ in range(int(tries[p, j, at])):
                like *= fall
            for _ in range(int(ones[p, j, at])):
                like *= odds
        out[m] = like
        total += like
    return total


@jit
def _by_logarithms(p, t, base, variance, shifts, weights, ones, tries, out):
    """Log of the sum over nodes of the bound; `out` has their shares."""
    at = t if tries.shape[2] > 1 else 0
    top = -np.inf
    for m in range(len(shifts)):
        value = np.log(weights[m])
        for j in range(base.shape[1]):
            n = tries[p, j, at]
            if n > 0:
                eta = base[p, j, t] + shifts[m]
                xi = np.sqrt(eta * eta + variance[p, j, t])
                value += (ones[p, j, at] - 0.5 * n) * eta - n * _log_two_cosh(xi)
        out[m] = value
        top = max(top, value)
    total = 0.0
    for m in range(len(shifts)):
        out[m] = np.exp(out[m] - top)
        total += out[m]
    out /= total
    return top + np.log(total)


@jit
def _node_evidence(base, variance, shifts, weights, ones, tries, posterior, log_total):
    rises, roots = np.exp(0.5 * shifts), np.empty(base.shape[1])
    for p in range(base.shape[0]):
        for t in range(base.shape[2]):
            at = t if tries.shape[2] > 1 else 0
            number, out = 0.0, posterior[p, t]
            for j in range(base.shape[1]):
                number += tries[p, j, at]
                roots[j] = np.exp(0.5 * base[p, j, t])
            if number <= _FEW:
                total = _by_products(
                    p, t, base, variance, shifts, roots, rises, weights, ones, tries, out
                )
                if _TINY < total < _HUGE:
                    out /= total
                    log_total[p, t] = np.log(total)
                    continue
            log_total[p, t] = _by_logarithms(
                p, t, base, variance, shifts, weights, ones, tries, out
            )


def node_evidence(
    base: np.ndarray,
    variance: np.ndarray,
    shifts: np.ndarray,
    weights: np.ndarray,
    ones: np.ndarray,
    tries: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the nodes (patterns x columns x nodes), and the log evidence summed over them.

    With xi^2 = eta^2 + variance, a node of weight w has w exp(sum_j (x - n/2) eta - n log 2
    cosh(xi/2)); where the variance is 0 that is the likelihood itself.
    """
    n_patterns, _, n_columns = base.shape
    posterior = np.empty((n_patterns, n_columns, len(shifts)))
    log_total = np.empty((n_patterns, n_columns))
    base, variance, ones, tries = _plain(base, variance, ones, tries)
    _node_evidence(base, variance, shifts, weights, ones, tries, posterior, log_total)
    return posterior, log_total


@jit
def _expected_sums(base, variance, shifts, nodes, share, tries, curve, curve_u):
    curve_uu = 0.0
    for p in range(base.shape[0]):
        for t in range(base.shape[2]):
            at = t if tries.shape[2] > 1 else 0
            for j in range(base.shape[1]):
                n = tries[p, j, at]
                if n <= 0.0:
                    continue
                for m in range(len(nodes)):
                    eta, u = base[p, j, t] + shifts[m], nodes[m]
                    xi = np.sqrt(eta * eta + variance[p, j, t])
                    slope = 0.25 * n * share[p, t, m]
                    if xi > 1e-6:
                        small = np.exp(-xi)
                        slope *= 2.0 * (1.0 - small) / ((1.0 + small) * xi)
                    curve[p, j, t] += slope
                    curve_u[p, j, t] += slope * u
                    curve_uu += slope * u * u
    return curve_uu


def expected_sums(
    base: np.ndarray,
    variance: np.ndarray,
    shifts: np.ndarray,
    nodes: np.ndarray,
    posterior: np.ndarray,
    present: np.ndarray,
    tries: np.ndarray,
) -> CurvatureSums:
    """Curvatures tanh(xi / 2) / (2 xi) of the bound, weighed by expected presences."""
    share = present[..., None] * posterior
    curve, curve_u = np.zeros((2, *base.shape))
    base, variance, share, tries = _plain(base, variance, share, tries)
    uu = _expected_sums(base, variance, shifts, nodes, share, tries, curve, curve_u)
    return CurvatureSums(curve, curve_u, float(uu), share @ nodes)


@jit
def _drawn_sums(base, shifts, nodes, posterior, present, tries, rng, curve, curve_u, share_u):
    counts, curve_uu = np.zeros(len(nodes)), 0.0
    for p in range(base.shape[0]):
        for t in range(base.shape[2]):
            at = t if tries.shape[2] > 1 else 0
            if present[p, t] <= 0.0:
                continue
            counts[:] = 0.0
            for _ in range(int(present[p, t])):
                left, node = rng.random(), 0
                while node < len(nodes) - 1 and left >= posterior[p, t, node]:
                    left -= posterior[p, t, node]
                    node += 1
                counts[node] += 1.0
            for m in range(len(nodes)):
                if counts[m] == 0.0:
                    continue
                u = nodes[m]
                share_u[p, t] += counts[m] * u
                for j in range(base.shape[1]):
                    n = tries[p, j, at] * counts[m]
                    slope = draw_curvature(n, base[p, j, t] + shifts[m], rng)
                    curve[p, j, t] += slope
                    curve_u[p, j, t] += slope * u
                    curve_uu += slope * u * u
    return curve_uu


def drawn_sums(
    base: np.ndarray,
    shifts: np.ndarray,
    nodes: np.ndarray,
    posterior: np.ndarray,
    present: np.ndarray,
    tries: np.ndarray,
    rng: Any,
) -> CurvatureSums:
    """The same drawn: a node for every presence, and a Polya-gamma variable for every look."""
    curve, curve_u = np.zeros((2, *base.shape))
    share_u = np.zeros(present.shape)
    base, posterior, present, tries = _plain(base, posterior, present, tries)
    uu = _drawn_sums(base, shifts, nodes, posterior, present, tries, rng, curve, curve_u, share_u)
    return CurvatureSums(curve, curve_u, float(uu), share_u)
