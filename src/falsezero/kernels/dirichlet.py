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
def _excess(x, prior, z, e, ratio, lanes, lane_bits):
    """Write z and e(x) of every x; return the sum of (x - x0) digamma(x) - log G(x).

    The last three are work arrays.
    """
    n = x.shape[0]
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
    total += _log_product(ratio, n, lanes, lane_bits)
    if prior != 0.5:
        total += (0.5 - prior) * _log_product(z, n, lanes, lane_bits)
    return total


@jit
def _log_product(factors, n, product, bits):
    """Logarithm of the product of the first n factors."""
    for j in range(_LANES):
        product[j] = 1.0
    full = n - n % _LANES
    power = np.int64(0)
    for start in range(0, full, _LANES):
        for j in range(_LANES):
            product[j] *= factors[start + j]
        if start % (FLUSH * _LANES) == 0:
            power += take_powers(bits)
    for j in range(n - full):
        product[j] *= factors[full + j]
    return log_of(product, power)


def dirichlet_factors(
    counts: np.ndarray, prior: np.ndarray, floor: float, factors: np.ndarray
) -> float:
    """Write exp(E[log a]) of every entry into `factors`; return the divergence from the prior.

    Parameters
    ----------
    counts : array (k, n)
        Parameters of n Dirichlet distributions, one per column (k = 2: Beta distributions).
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
    width = max(counts.shape[1], 1)
    work, bits = np.empty((9, width)), np.empty(width, np.int64)
    lanes = fresh_products(_LANES)
    return float(_factors(counts, prior, floor, factors, work, bits, bits.view(float), *lanes))


@jit
def _factors(counts, prior, floor, factors, work, bits, power, lanes, lane_bits):
    """`dirichlet_factors`, with its work arrays."""
    k, n = counts.shape
    z_total, e_total, z, e, ratio, total = work[0], work[1], work[2], work[3], work[4], work[5]
    alone, z_alone, e_alone = work[6, :1], work[7], work[8]
    base = prior[0]
    for j in range(1, k):
        base += prior[j]
    for i in range(n):
        total[i] = counts[0, i]
    for j in range(1, k):
        for i in range(n):
            total[i] += counts[j, i]
    alone[0] = base
    divergence = n * _excess(alone, base, z_alone, e_alone, ratio, lanes, lane_bits)
    divergence -= _excess(total[:n], base, z_total, e_total, ratio, lanes, lane_bits)
    for j in range(k):
        divergence += _excess(counts[j], prior[j], z, e, ratio, lanes, lane_bits)
        alone[0] = prior[j]
        divergence -= n * _excess(alone, prior[j], z_alone, e_alone, ratio, lanes, lane_bits)
        _write_factors(z, e, z_total, e_total, floor, factors[j], ratio, bits, power)
    return divergence


@jit
def _write_factors(z, e, z_total, e_total, floor, factors, series, bits, power):
    """z / z_total * exp(e - e_total), with an exponential that becomes SIMD code.

    exp(x) = 2^n exp(r) with |r| < log(2)/2, where the Taylor series to r^12 is exact to the last
    bit but one, and 2^n is written into the exponent: `power` is the same memory as `bits`.
    """
    count = factors.shape[0]
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
