"""Compiled pieces of split and merge moves: restricted scans, weights, likelihoods of the options.

A row that a move is about has one of a few options (the first part of a feature, the second, both;
or the feature whole), so that what options add to the predictor is `added`, options x columns.
"""

from __future__ import annotations

import math

import numpy as np

from falsezero.kernels._jit import jit
from falsezero.kernels.bmf import TINY, log_partition_ratio


@jit
def restricted_scan(log_likelihood, start, anchors, mass, total, wanted, uniforms):
    """Give each row the first part, the second or both, one row after the other.

    `log_likelihood` has a column each for these three; `start` is where the scan begins. The first
    anchor must have the first part, the second anchor the second. Where `wanted` is not empty, it
    is what the scan shall arrive at; elsewhere `uniforms`, one per row, decide. Returns the choices
    and the log probability of making them.
    """
    n = start.shape[0]
    choice = start.copy()
    first, second = 0.0, 0.0
    for i in range(n):
        first += choice[i] != 1
        second += choice[i] != 0
    log_probability = 0.0
    odds = np.empty(3)
    for i in range(n):
        first -= choice[i] != 1
        second -= choice[i] != 0
        # An anchor's own part is certain, so only the other part's prior counts.
        on_first = 1.0 if i == anchors[0] else first + mass
        off_first = 0.0 if i == anchors[0] else total - first
        on_second = 1.0 if i == anchors[1] else second + mass
        off_second = 0.0 if i == anchors[1] else total - second
        odds[0], odds[1], odds[2] = (
            on_first * off_second,
            off_first * on_second,
            on_first * on_second,
        )
        largest = -np.inf
        for c in range(3):
            odds[c] = log_likelihood[i, c] + (math.log(odds[c]) if odds[c] > 0 else -np.inf)
            largest = max(largest, odds[c])
        norm = 0.0
        for c in range(3):
            odds[c] = math.exp(odds[c] - largest)
            norm += odds[c]
        if wanted.shape[0]:
            choice[i] = wanted[i]
        else:
            point = uniforms[i] * norm
            c = 0
            while c < 2 and point >= odds[c]:
                point -= odds[c]
                c += 1
            choice[i] = c
        share = odds[choice[i]] / norm
        log_probability += math.log(share) if share > 0 else -np.inf
        first += choice[i] != 1
        second += choice[i] != 0
    return choice, log_probability


@jit
def paired_normals(gram, spread, linear, precision, ridge):
    """Mean and Cholesky factors of one small normal for every direction of the column side.

    Direction d has precision matrix precision x spread[d] x gram + ridge I and linear term
    precision x linear[:, d]: what is left of a Kronecker product once one side is diagonal.
    """
    width, n = linear.shape
    mean, lower = np.empty((width, n)), np.zeros((width, width, n))
    for d in range(n):
        for a in range(width):
            for b in range(a + 1):
                value = precision * spread[d] * gram[a, b] + (ridge if a == b else 0.0)
                for c in range(b):
                    value -= lower[a, c, d] * lower[b, c, d]
                lower[a, b, d] = math.sqrt(value) if a == b else value / lower[b, b, d]
        for a in range(width):
            value = precision * linear[a, d]
            for b in range(a):
                value -= lower[a, b, d] * mean[b, d]
            mean[a, d] = value / lower[a, a, d]
        _solve_above(lower, mean, d)
    return mean, lower


@jit
def _solve_above(lower, vector, d):
    """Solve with the transposed factor of direction d, in place."""
    width = vector.shape[0]
    for a in range(width - 1, -1, -1):
        for b in range(a + 1, width):
            vector[a, d] -= lower[b, a, d] * vector[b, d]
        vector[a, d] /= lower[a, a, d]


@jit
def paired_draw(mean, lower, noise):
    """A draw from every small normal of `paired_normals`, made of standard normal `noise`."""
    out = noise.copy()
    for d in range(mean.shape[1]):
        _solve_above(lower, out, d)
    return mean + out


@jit(reassociate=True)
def gaussian_options(slope, spread, weights, precision):
    """Log likelihood of each row with the first part, the second or both, up to a constant."""
    n, width = slope.shape
    out = np.empty((n, 3))
    size, cross, other = 0.0, 0.0, 0.0
    for d in range(width):
        size += spread[d] * weights[0, d] ** 2
        cross += spread[d] * weights[0, d] * weights[1, d]
        other += spread[d] * weights[1, d] ** 2
    for i in range(n):
        first, second = 0.0, 0.0
        for d in range(width):
            first += slope[i, d] * weights[0, d]
            second += slope[i, d] * weights[1, d]
        out[i, 0] = precision * (first - 0.5 * size)
        out[i, 1] = precision * (second - 0.5 * other)
        out[i, 2] = out[i, 0] + out[i, 1] - precision * cross
    return out


@jit
def gaussian_launch(
    slope, spread, precision, ridge, start, anchors, mass, total, noise, uniforms
):  # fmt: skip
    """Weights and a restricted scan in turn, as often as there are `uniforms`; weights come last.

    Returns the choices and the weights.
    """
    choice = start
    nothing = np.empty(0, dtype=np.int64)
    for scan in range(noise.shape[0]):
        gram, linear = np.zeros((2, 2)), np.zeros((2, slope.shape[1]))
        for i in range(slope.shape[0]):
            for a in range(2):
                if choice[i] != 1 - a:
                    gram[a, a] += 1.0
                    linear[a] += slope[i]
            gram[0, 1] += choice[i] == 2
        gram[1, 0] = gram[0, 1]
        mean, lower = paired_normals(gram, spread, linear, precision, ridge)
        weights = paired_draw(mean, lower, noise[scan])
        if scan < uniforms.shape[0]:
            terms = gaussian_options(slope, spread, weights, precision)
            choice, _ = restricted_scan(
                terms, choice, anchors, mass, total, nothing, uniforms[scan]
            )
    return choice, weights


@jit
def paired_log_density(weights, mean, lower):
    """Log density of the small normals together, without the 2 pi."""
    total = 0.0
    for d in range(mean.shape[1]):
        for a in range(mean.shape[0]):
            white = 0.0
            for b in range(a, mean.shape[0]):
                white += lower[b, a, d] * (weights[b, d] - mean[b, d])
            total += math.log(lower[a, a, d]) - 0.5 * white * white
    return total


@jit
def logistic_options(likely, unlikely, factors, flush):
    """Sum over a row's cells of log(P(0) + P(1) factor), for every row and option."""
    out = np.empty((likely.shape[0], factors.shape[0]))
    for i in range(likely.shape[0]):
        for c in range(factors.shape[0]):
            out[i, c] = log_partition_ratio(likely[i], unlikely[i], factors[c], flush)
    return out


@jit
def logistic_curvature(choice, base, likely, unlikely, added, factors):
    """Curvature of the quadratic bound at base + added, and curvature x base, added up by option.

    The curvature is (P(1) - 1/2) / log odds; P(1) follows from the base's own odds and the factor
    by which they change, without an exponential. A cell that was not observed has none.
    """
    n, m = base.shape
    curvature, pulled = np.zeros(added.shape), np.zeros(added.shape)
    for i in range(n):
        c = choice[i]
        for j in range(m):
            share = likely[i, j] * factors[c, j]
            x = base[i, j] + added[c, j]
            bent = (share / (unlikely[i, j] + share) - 0.5) / x if abs(x) > 1e-6 else 0.25
            bent = bent if likely[i, j] > 0.0 else 0.0
            curvature[c, j] += bent
            pulled[c, j] += bent * base[i, j]
    return curvature, pulled


@jit
def poisson_options(base, values, added):
    """Sum over a row's cells of count x log(base + added), for every row and option."""
    n, m = base.shape
    out = np.zeros((n, added.shape[0]))
    for i in range(n):
        for c in range(added.shape[0]):
            total, product = 0.0, 1.0
            for j in range(m):
                count = values[i, j]
                if count == 0:
                    continue
                rate = max(base[i, j] + added[c, j], TINY)
                if count > 3 or rate < 1e-20 or rate > 1e20:
                    total += count * math.log(rate)
                    continue
                product *= rate * (rate if count > 1 else 1.0) * (rate if count > 2 else 1.0)
                if product > 1e200 or product < 1e-200:
                    total += math.log(product)
                    product = 1.0
            out[i, c] = total + math.log(product)
    return out


@jit
def poisson_shares(choice, base, values, added):
    """Counts over rates, added up by option."""
    out = np.zeros(added.shape)
    for i in range(base.shape[0]):
        c = choice[i]
        for j in range(base.shape[1]):
            out[c, j] += values[i, j] / max(base[i, j] + added[c, j], TINY)
    return out
