"""Slow twins of the rates of looks: the bound, its quadratic form, and the priors, by loops."""

from itertools import product

import numpy as np


def rate_of(patterns, p, j, t, mean, effects, rows):
    """Mean and variance of eta, without the cell's own effect."""
    c, who = patterns.design[p, j], patterns.observers[p, j]
    eta, variance = mean[t] @ c, c @ effects.covariance[t] @ c
    if len(effects.observer_mean):
        eta += effects.observer_mean[who] if who >= 0 else 0.0
        variance += effects.observer_variance[who] if who >= 0 else effects.observer_width2
    if rows.mean is not None:
        eta, variance = eta + rows.mean[p, 0], variance + rows.variance[p, 0]
    return eta, variance


def log_evidence(patterns, mean, effects, rows, nodes, weights):
    """Bound (1) of every pattern, column and node, with the log weight of the node."""
    n_patterns, n_looks, _ = patterns.design.shape
    total = np.zeros((n_patterns, len(mean), len(nodes)))
    for p, t, (i, u) in product(range(n_patterns), range(len(mean)), enumerate(nodes)):
        total[p, t, i] = np.log(weights[i])
        for j in range(n_looks):
            eta, variance = rate_of(patterns, p, j, t, mean, effects, rows)
            eta = eta + float(effects.spread) * u
            xi = np.sqrt(eta**2 + variance)
            x, n = patterns.ones[p, j, t], patterns.tries[p, j, t]
            total[p, t, i] += (x - n / 2) * eta - n * np.log(2 * np.cosh(xi / 2))
    return total


def quadratic(patterns, share, slope, unknowns, nodes, effects):
    """The expected log evidence as a function of all effects, curvatures held fixed, with priors.

    `unknowns` are the effects of columns, observers and rows (None for no such effect) and the
    spread of cells.
    """
    columns, observers, rows, spread = unknowns
    total = -0.5 * ((columns - effects.centre) ** 2 / effects.width2).sum()
    if len(observers):
        total -= 0.5 * (observers**2).sum() / effects.observer_width2
    if rows is not None:
        total -= 0.5 * (rows**2).sum() / effects.row_width2
    n_patterns, n_looks, _ = patterns.design.shape
    every = product(range(n_patterns), range(n_looks), range(len(columns)), enumerate(nodes))
    for p, j, t, (i, u) in every:
        eta, who = columns[t] @ patterns.design[p, j] + spread * u, patterns.observers[p, j]
        eta += observers[who] if len(observers) and who >= 0 else 0.0
        eta += rows[p] if rows is not None else 0.0
        half = patterns.ones[p, j, t] - patterns.tries[p, j, t] / 2
        total += share[p, t, i] * half * eta - 0.5 * slope[p, j, t, i] * eta**2
    return total


def gaussian_divergence(mean, variance, centre, width2):
    """KL(N(mean, variance) || N(centre, width2)) of one number."""
    return 0.5 * (variance / width2 + (mean - centre) ** 2 / width2 - 1 - np.log(variance / width2))
