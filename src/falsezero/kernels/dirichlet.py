"""Expectations under many Dirichlet distributions at once, which a variational fit asks for.

A variational step needs exp(E[log a]) of every entry and the divergence from the prior, hence
digamma and log gamma of everything, every iteration. Both are taken at z = x + 8, where short
series suffice. What they have in common makes logarithms all but vanish:

    (x - x0) digamma(x) - log G(x) = (1/2 - x0) log z + log r + (x - x0) e(x) + z - t(z) + constant

with r = x (x+1) ... (x+7) / z^8, e(x) = digamma(x) - log z and t the tail of Stirling's series. The
logarithms are therefore only wanted summed over entries, as logarithms of products.
"""

from __future__ import annotations

import numpy as np

from falsezero.kernels._jit import jit
from falsezero.kernels.convex import FLUSH, fresh_products, log_of, take_powers

_LANES = 32
_HALF_LOG_TWO_PI = 0.9189385332046727
_LOG2_E = 1.4426950408889634
_LOG_TWO_HIGH, _LOG_TWO_LOW = 0.6931471803691238, 1.9082149292705877e-10


@jit
def _digamma_tail(inverse):
    """digamma(z) - log(z) for large z, from 1/z (Abramowitz and Stegun, 6.3.18)."""
    y = inverse * inverse
    series = 1 / 12 - y * (
        1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * (691 / 32760 - y / 12))))
    )
    return -0.5 * inverse - y * series


@jit
def _stirling_tail(inverse):
    """log G(z) - (z - 1/2) log(z) + z - log(2 pi)/2 for large z (same, 6.1.41)."""
    y = inverse * inverse
    return inverse * (
        1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - y * 691 / 360360))))
    )


@jit(reassociate=True)
def _excess(x, prior, z, e):
    """Write z and e(x) of every x; return the sum of (x - x0) digamma(x) - log G(x)."""
    n = x.shape[0]
    ratio = np.empty(n)
    total = n * (8.0 - _HALF_LOG_TWO_PI)
    for i in range(n):
        value = x[i]
        # w (w + 6) (w + 10) (w + 12) with w = x^2 + 7 x is x (x + 1) ... (x + 7).
        w = value * (value + 7.0)
        product = w * (w + 6.0) * (w + 10.0) * (w + 12.0)
        slope = (2.0 * value + 7.0) * (((4.0 * w + 84.0) * w + 504.0) * w + 720.0) / product
        inverse = 1.0 / (value + 8.0)
        fourth = inverse * inverse * inverse * inverse
        z[i] = value + 8.0
        difference = _digamma_tail(inverse) - slope
        e[i] = difference
        ratio[i] = product * fourth * fourth
        total += (value - prior) * difference + value - _stirling_tail(inverse)
    total += _log_product(ratio)
    if prior != 0.5:
        total += (0.5 - prior) * _log_product(z)
    return total


@jit
def _log_product(factors):
    product, bits = fresh_products(_LANES)
    n = factors.shape[0]
    full = n - n % _LANES
    power = 0
    for start in range(0, full, _LANES):
        for j in range(_LANES):
            product[j] *= factors[start + j]
        if start % (FLUSH * _LANES) == 0:
            power += take_powers(bits)
    for j in range(n - full):
        product[j] *= factors[full + j]
    return log_of(product, power)


@jit
def dirichlet_factors(counts, prior, floor, factors):
    """Write exp(E[log a]) of every entry into `factors`; return the divergence from the prior.

    Parameters
    ----------
    counts : array (k, n)
        Parameters of n Dirichlet distributions, one a column (k = 2: Beta distributions).
    prior : array (k,)
        Parameters of the Dirichlet that all of them are compared with.
    floor : float
        Smallest factor written.
    factors : array (k, n)
        Where the factors go; its type may be narrower than that of the counts.

    Returns
    -------
    float
        Sum over distributions of KL(q || prior) = log G(S) - sum log G(c) - log G(S0)
        + sum log G(c0) + sum (c - c0) (digamma(c) - digamma(S)), where S is the sum of a column.
    """
    k, n = counts.shape
    z_total, e_total, z, e = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    total = counts[0].copy()
    for j in range(1, k):
        for i in range(n):
            total[i] += counts[j, i]
    alone, scratch = np.array([prior.sum()]), np.empty(1)
    divergence = n * _excess(alone, alone[0], scratch, scratch.copy())
    divergence -= _excess(total, alone[0], z_total, e_total)
    for j in range(k):
        divergence += _excess(counts[j], prior[j], z, e)
        divergence -= n * _excess(prior[j : j + 1], prior[j], scratch, scratch.copy())
        _write_factors(z, e, z_total, e_total, floor, factors[j])
    return divergence


@jit
def _write_factors(z, e, z_total, e_total, floor, factors):
    """z / z_total * exp(e - e_total), with an exponential that becomes SIMD code.

    exp(x) = 2^n exp(r) with |r| < log(2)/2, where the Taylor series to r^12 is exact to the last
    bit but one, and 2^n is written into the exponent.
    """
    count = z.shape[0]
    series, bits = np.empty(count), np.empty(count, dtype=np.int64)
    power = bits.view(np.float64)
    for i in range(count):
        x = max(e[i] - e_total[i], -700.0)
        n = np.floor(x * _LOG2_E + 0.5)
        r = x - n * _LOG_TWO_HIGH - n * _LOG_TWO_LOW
        series[i] = 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * _taylor_tail(r)))))
        bits[i] = (np.int64(n) + 1023) << 52
    for i in range(count):
        factors[i] = max(z[i] / z_total[i] * (series[i] * power[i]), floor)


@jit
def _taylor_tail(r):
    """Sum of r^(k-5) / k! for k from 5 to 12."""
    return 1 / 120 + r * (
        1 / 720
        + r
        * (
            1 / 5040
            + r
            * (
                1 / 40320
                + r * (1 / 362880 + r * (1 / 3628800 + r * (1 / 39916800 + r / 479001600)))
            )
        )
    )
