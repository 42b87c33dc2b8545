"""Expectations under many Dirichlet distributions at once, which a variational fit asks for.

Each row of counts is one Dirichlet (two columns: one Beta). A variational step needs exp(E[log a])
of every entry and the divergence from the prior, hence digamma and log gamma of everything, every
iteration. Both come from one shift to arguments above 8 and one short series each, with one
division, one logarithm and one exponential an entry.
"""

from __future__ import annotations

import numpy as np

from falsezero.kernels._jit import jit

_SHIFT = 8.0
_FLUSH = 16
_HALF_LOG_TWO_PI = 0.9189385332046727


@jit
def _shifted(x):
    """x raised by whole numbers to at least 8, the product of the steps and the sum of 1/step."""
    product = 1.0
    slope = 0.0
    while x < _SHIFT:
        slope = slope * x + product
        product *= x
        x += 1.0
    return x, product, slope / product


@jit
def _digamma_tail(inverse):
    """digamma(x) - log(x) for large x, from 1/x (Abramowitz and Stegun, 6.3.18)."""
    z = inverse * inverse
    series = 1 / 12 - z * (
        1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z / 12))))
    )
    return -0.5 * inverse - z * series


@jit
def _log_gamma_tail(inverse):
    """log gamma(x) - (x - 1/2) log(x) + x - log(2 pi)/2 for large x (same, 6.1.41)."""
    z = inverse * inverse
    return inverse * (
        1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * 691 / 360360))))
    )


@jit
def _row_total(total):
    """digamma and log gamma of one number."""
    x, product, slope = _shifted(total)
    log_x, inverse = np.log(x), 1.0 / x
    log_gamma = (x - 0.5) * log_x - x + _HALF_LOG_TWO_PI + _log_gamma_tail(inverse)
    return log_x + _digamma_tail(inverse) - slope, log_gamma - np.log(product)


@jit
def dirichlet_factors(counts, prior, floor, factors):
    """Write exp(E[log a]) of every entry into `factors`; return the divergence from the prior.

    Parameters
    ----------
    counts : array (n, k)
        Parameters of n Dirichlet distributions.
    prior : array (k,)
        Parameters of the Dirichlet that all of them are compared with.
    floor : float
        Smallest factor written.
    factors : array (n, k)
        Where the factors go; its type may be narrower than that of the counts.

    Returns
    -------
    float
        Sum over rows of KL(q || prior) = log G(S) - sum log G(c) - log G(S0) + sum log G(c0)
        + sum (c - c0) (digamma(c) - digamma(S)), with S the sum of a row.
    """
    n, k = counts.shape
    constant = -_row_total(prior.sum())[1]
    for j in range(k):
        constant += _row_total(prior[j])[1]
    divergence = n * constant
    products = 1.0
    since = 0
    for i in range(n):
        total = 0.0
        for j in range(k):
            total += counts[i, j]
        digamma_total, log_gamma_total = _row_total(total)
        divergence += log_gamma_total
        for j in range(k):
            x, product, slope = _shifted(counts[i, j])
            log_x, inverse = np.log(x), 1.0 / x
            expected = log_x + _digamma_tail(inverse) - slope - digamma_total
            log_gamma = (x - 0.5) * log_x - x + _HALF_LOG_TWO_PI + _log_gamma_tail(inverse)
            divergence += (counts[i, j] - prior[j]) * expected - log_gamma
            factors[i, j] = max(np.exp(expected), floor)
            products *= product
            since += 1
            if since == _FLUSH:
                divergence += np.log(products)
                products = 1.0
                since = 0
    return divergence + np.log(products)
