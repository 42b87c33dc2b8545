"""Compiled Gibbs scans over binary row features (Meeds et al., eqs. 2-5), one a likelihood.

A row's features change its prediction by rows of ``basis`` = W V', so an entry is decided by that
row alone. Each scan keeps what it needs of the row up to date, and one entry costs one pass over
the row's cells at most. An entry that `others` rows have is on with prior weight others + `mass`
and off with `total` - others: mass is alpha / K for the finite model and 0 for the infinite one,
where an entry without company (a singleton) is left to the birth and death moves, and total is
beta + I - 1.
"""

from __future__ import annotations

import math

import numpy as np

from falsezero.kernels._jit import jit

GAUSSIAN, LOGISTIC, POISSON = 0, 1, 2
"""How a cell depends on its predictor (u W v'): mean, log odds, or rate."""

TINY = 1e-300
_SMALLEST_RATIO = 1e-16
_CHUNK, _WHOLE = 128, 512
LARGEST_LOG = 600.0
"""Logarithms up to here have an exponential that is neither zero nor infinite."""


@jit
def _accepts(log_odds, rng):
    """A coin whose log odds are given."""
    if log_odds > 0:
        return rng.random() < 1.0 / (1.0 + math.exp(-log_odds))
    odds = math.exp(log_odds)
    return rng.random() < odds / (1.0 + odds)


@jit
def column_counts(on):
    """How many rows have each feature."""
    counts = np.zeros(on.shape[1])
    for i in range(on.shape[0]):
        for k in range(on.shape[1]):
            counts[k] += on[i, k]
    return counts


@jit
def gaussian_scan(on, n_fixed, mass, total, slope, gram, precision, rng):
    """Every entry once, table complete: an entry costs O(K), whatever the number of columns.

    `slope` is residual @ basis.T and `gram` basis @ basis.T; both say all about the residual that
    the features of a row need. `on` and `slope` are changed in place.
    """
    n, width = on.shape
    counts = column_counts(on)
    for i in range(n):
        for k in range(n_fixed, width):
            others = counts[k] - on[i, k]
            if others + mass <= 0:
                continue
            gain = slope[i, k] + (on[i, k] - 0.5) * gram[k, k]
            log_odds = math.log((others + mass) / (total - others)) + precision * gain
            new = np.uint8(_accepts(log_odds, rng))
            if new != on[i, k]:
                change = 1.0 if new else -1.0
                for h in range(width):
                    slope[i, h] -= change * gram[k, h]
                on[i, k] = new
                counts[k] += change


@jit
def masked_scan(on, n_fixed, mass, total, residual, observed, basis, energy, precision, rng):
    """`gaussian_scan` where cells are missing: `residual` is zero there.

    `energy` is observed @ (basis ** 2).T. `on` and `residual` are changed in place.
    """
    n, width = on.shape
    n_columns = basis.shape[1]
    counts = column_counts(on)
    for i in range(n):
        row = residual[i]
        for k in range(n_fixed, width):
            others = counts[k] - on[i, k]
            if others + mass <= 0:
                continue
            gain = np.dot(row, basis[k]) + (on[i, k] - 0.5) * energy[i, k]
            log_odds = math.log((others + mass) / (total - others)) + precision * gain
            new = np.uint8(_accepts(log_odds, rng))
            if new != on[i, k]:
                change = 1.0 if new else -1.0
                for j in range(n_columns):
                    row[j] -= change * basis[k, j] * observed[i, j]
                on[i, k] = new
                counts[k] += change


@jit(reassociate=True)
def _product(p, q, factor):
    """Product over cells of q + p factor. A loop from zero is what becomes SIMD code."""
    product = 1.0
    for j in range(p.shape[0]):
        product *= q[j] + p[j] * factor[j]
    return product


@jit
def log_partition_ratio(p, q, factor, flush):
    """Sum over cells of log(q + p factor), with one logarithm for every `flush` cells."""
    if flush >= p.shape[0]:
        return math.log(_product(p, q, factor))
    total = 0.0
    for start in range(0, p.shape[0], flush):
        some = slice(start, start + flush)
        total += math.log(_product(p[some], q[some], factor[some]))
    return total


@jit
def flush_after(added):
    """How many cells may be multiplied before a logarithm must be taken, lest they overflow."""
    largest, total = 0.0, 0.0
    for j in range(added.shape[0]):
        largest = max(largest, abs(added[j]))
        total += abs(added[j])
    if total < LARGEST_LOG:
        return max(1, added.shape[0])
    return max(1, int(LARGEST_LOG / largest))


@jit(inline=True)
def row_odds(predictor, small, observed, p, q):
    """P(1) and P(0) of every cell of a row; a cell not observed is a certain zero.

    `small` is exp(-abs(predictor)), which NumPy takes of a whole table at once many times faster.
    """
    for j in range(predictor.shape[0]):
        high = 1.0 / (1.0 + small[j])
        low = small[j] * high
        seen = observed[j] > 0.0
        p[j] = (high if predictor[j] > 0.0 else low) if seen else 0.0
        q[j] = (low if predictor[j] > 0.0 else high) if seen else 1.0


@jit
def exponentials(basis, bound):
    """exp(basis) and exp(-basis), neither zero nor infinite; and whether all of a row's multiply.

    Where no sum of features can overflow, the odds of a cell are the product of what its features
    multiply them by.
    """
    bounded = np.minimum(np.maximum(basis, -bound), bound)
    largest = np.abs(basis).max() if basis.size else 0.0
    return np.exp(bounded), np.exp(-bounded), basis.shape[0] * largest < LARGEST_LOG


@jit
def feature_odds(on, basis, up, multiply, observed, p, q):
    """`row_odds` of a row given by its features."""
    if multiply:
        p[:] = 1.0
        for k in range(on.shape[0]):
            if on[k]:
                line = up[k]
                for j in range(p.shape[0]):
                    p[j] *= line[j]
        for j in range(p.shape[0]):
            seen = observed[j] > 0.0
            none = 1.0 / (1.0 + p[j])
            p[j] = p[j] * none if seen else 0.0
            q[j] = none if seen else 1.0
        return
    predictor = np.zeros(p.shape[0])
    for k in range(on.shape[0]):
        if on[k]:
            predictor += basis[k]
    row_odds(predictor, np.exp(-np.abs(predictor)), observed, p, q)


@jit
def logistic_scan(on, n_fixed, mass, total, observed, basis, slope, rng):
    """Every entry once, cells Bernoulli with log odds on @ basis; exact, without augmentation.

    With p the probability of a one, log odds that grow by b multiply 1 + odds by (1 - p) + p e^b;
    e^b is known beforehand, so that a cell costs one multiplication and no exponential. `slope` is
    values @ basis.T over observed cells. `on` is changed in place.
    """
    n, width = on.shape
    n_columns = basis.shape[1]
    up, down, multiply = exponentials(basis, LARGEST_LOG)
    counts = column_counts(on)
    flush = np.empty(width, dtype=np.int64)
    for k in range(width):
        flush[k] = flush_after(basis[k])
    p, q = np.empty(n_columns), np.empty(n_columns)
    for i in range(n):
        feature_odds(on[i], basis, up, multiply, observed[i], p, q)
        for k in range(n_fixed, width):
            others = counts[k] - on[i, k]
            if others + mass <= 0:
                continue
            factor = down[k] if on[i, k] else up[k]
            partition = log_partition_ratio(p, q, factor, flush[k])
            gain = slope[i, k] + (partition if on[i, k] else -partition)
            new = np.uint8(_accepts(math.log((others + mass) / (total - others)) + gain, rng))
            if new != on[i, k]:
                for j in range(n_columns):
                    share = p[j] * factor[j]
                    scale = 1.0 / (q[j] + share)
                    p[j] = share * scale
                    q[j] *= scale
                counts[k] += 1.0 if new else -1.0
                on[i, k] = new


@jit
def logistic_zeros(on, observed, basis):
    """Sum over observed cells of log P(0); NaN where products of odds would overflow."""
    up, _, multiply = exponentials(basis, LARGEST_LOG)
    if not multiply:
        return np.nan
    n_columns = basis.shape[1]
    largest = 1.0
    for k in range(basis.shape[0]):
        largest += np.abs(basis[k]).max() if n_columns else 0.0
    flush = max(1, int(LARGEST_LOG / largest))
    p, q, nothing = np.empty(n_columns), np.empty(n_columns), np.zeros(n_columns)
    total = 0.0
    for i in range(on.shape[0]):
        feature_odds(on[i], basis, up, multiply, observed[i], p, q)
        total += log_partition_ratio(p, q, nothing, flush)
    return total


@jit(reassociate=True)
def _power_product(step, inverse, ones, twos, fours, eights, added):
    """Product over cells of (new rate / rate) ** count for counts below 16, given bit by bit.

    A cell with no bit set takes no part.
    """
    product = 1.0
    for j in range(added.shape[0]):
        ratio = 1.0 + step * added[j] * inverse[j]
        square = ratio * ratio
        fourth = square * square
        low = (1.0 + ones[j] * (ratio - 1.0)) * (1.0 + twos[j] * (square - 1.0))
        high = (1.0 + fours[j] * (fourth - 1.0)) * (1.0 + eights[j] * (fourth * fourth - 1.0))
        product *= low * high
    return product


@jit
def _log_rate_ratio(step, count, inverse, ones, twos, fours, eights, added):
    """Sum of count x log(new rate / rate) where counts are below 16, with as few logarithms.

    Ratios of one step lie all on the same side of 1, so that a product which overflows, or comes
    near to it, shows; its cells are then taken in smaller groups, at last one by one, and kept from
    vanishing by rounding.
    """
    n = added.shape[0]
    if n <= _WHOLE:
        product = _power_product(step, inverse, ones, twos, fours, eights, added)
        if 1e-250 < product < 1e250:
            return math.log(product)
    total = 0.0
    for start in range(0, n, _CHUNK):
        some = slice(start, start + _CHUNK)
        product = _power_product(
            step, inverse[some], ones[some], twos[some], fours[some], eights[some], added[some]
        )
        if 1e-250 < product < 1e250:
            total += math.log(product)
            continue
        for j in range(start, min(start + _CHUNK, n)):
            if 0 < count[j] < 16:
                ratio = max(1.0 + step * added[j] * inverse[j], _SMALLEST_RATIO)
                total += count[j] * math.log(ratio)
    return total


@jit
def _bits_of(count, ones, twos, fours, eights, large):
    """The bits of counts below 16; places of larger counts go to `large`, whose number returns."""
    m = 0
    for j in range(count.shape[0]):
        number = int(count[j])
        if number > 15:
            large[m] = j
            m, number = m + 1, 0
        ones[j], twos[j] = number & 1, (number >> 1) & 1
        fours[j], eights[j] = (number >> 2) & 1, number >> 3
    return m


@jit
def poisson_scan(on, n_fixed, mass, total, predictor, values, basis, exposure, rng):
    """Every entry once, cells Poisson with rate `predictor`.

    `exposure` is observed @ basis.T: what a feature adds to the sum of a row's rates. Cells not
    observed hold a zero in `values`. `on` is changed in place.
    """
    n, width = on.shape
    n_columns = basis.shape[1]
    counts = column_counts(on)
    ones, twos = np.empty(n_columns), np.empty(n_columns)
    fours, eights = np.empty(n_columns), np.empty(n_columns)
    large = np.empty(n_columns, dtype=np.int64)
    rate, inverse = np.empty(n_columns), np.empty(n_columns)
    for i in range(n):
        n_large = _bits_of(values[i], ones, twos, fours, eights, large)
        for j in range(n_columns):
            rate[j] = max(predictor[i, j], TINY)
            inverse[j] = 1.0 / rate[j]
        for k in range(n_fixed, width):
            others = counts[k] - on[i, k]
            if others + mass <= 0:
                continue
            change = -1.0 if on[i, k] else 1.0
            gain = _log_rate_ratio(change, values[i], inverse, ones, twos, fours, eights, basis[k])
            for j in large[:n_large]:
                ratio = max(1.0 + change * basis[k, j] * inverse[j], _SMALLEST_RATIO)
                gain += values[i, j] * math.log(ratio)
            log_odds = math.log((others + mass) / (total - others)) + change * gain - exposure[i, k]
            new = np.uint8(_accepts(log_odds, rng))
            if new != on[i, k]:
                for j in range(n_columns):
                    rate[j] = max(rate[j] + change * basis[k, j], TINY)
                    inverse[j] = 1.0 / rate[j]
                on[i, k] = new
                counts[k] += change
