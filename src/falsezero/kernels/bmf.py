"""Compiled Gibbs scans over binary row features (Meeds et al., eqs. 2-5), one a likelihood.

A row's features change its prediction by rows of ``basis`` = W V', so an entry is decided by that
row alone. Each scan keeps what it needs of the row up to date, and one entry costs one pass over
the row's cells at most. `mass` is alpha / K for the finite model and 0 for the infinite one, where
an entry without company (a singleton) is left to the birth and death moves.
"""

from __future__ import annotations

import math

import numpy as np

from falsezero.kernels._jit import jit

GAUSSIAN, LOGISTIC, POISSON = 0, 1, 2
"""How a cell depends on its predictor (u W v'): mean, log odds, or rate."""

_TINY = 1e-300
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
def _column_counts(on):
    counts = np.zeros(on.shape[1])
    for i in range(on.shape[0]):
        for k in range(on.shape[1]):
            counts[k] += on[i, k]
    return counts


@jit
def gaussian_scan(on, n_fixed, mass, slope, gram, precision, rng):
    """Every entry once, table complete: an entry costs O(K), whatever the number of columns.

    `slope` is residual @ basis.T and `gram` basis @ basis.T; both say all about the residual that
    the features of a row need. `on` and `slope` are changed in place.
    """
    n, width = on.shape
    counts = _column_counts(on)
    for i in range(n):
        for k in range(n_fixed, width):
            others = counts[k] - on[i, k]
            if others + mass <= 0:
                continue
            gain = slope[i, k] + (on[i, k] - 0.5) * gram[k, k]
            log_odds = math.log((others + mass) / (n - others)) + precision * gain
            new = np.uint8(_accepts(log_odds, rng))
            if new != on[i, k]:
                change = 1.0 if new else -1.0
                for h in range(width):
                    slope[i, h] -= change * gram[k, h]
                on[i, k] = new
                counts[k] += change


@jit
def masked_scan(on, n_fixed, mass, residual, observed, basis, energy, precision, rng):
    """`gaussian_scan` where cells are missing: `residual` is zero there.

    `energy` is observed @ (basis ** 2).T. `on` and `residual` are changed in place.
    """
    n, width = on.shape
    n_columns = basis.shape[1]
    counts = _column_counts(on)
    for i in range(n):
        row = residual[i]
        for k in range(n_fixed, width):
            others = counts[k] - on[i, k]
            if others + mass <= 0:
                continue
            gain = np.dot(row, basis[k]) + (on[i, k] - 0.5) * energy[i, k]
            log_odds = math.log((others + mass) / (n - others)) + precision * gain
            new = np.uint8(_accepts(log_odds, rng))
            if new != on[i, k]:
                change = 1.0 if new else -1.0
                for j in range(n_columns):
                    row[j] -= change * basis[k, j] * observed[i, j]
                on[i, k] = new
                counts[k] += change


@jit(reassociate=True, inline=True)
def log_partition_ratio(p, q, factor, flush):
    """Sum over cells of log(q + p factor), with one logarithm for every `flush` cells."""
    n = p.shape[0]
    total = 0.0
    for start in range(0, n, flush):
        product = 1.0
        for j in range(start, min(start + flush, n)):
            product *= q[j] + p[j] * factor[j]
        total += math.log(product)
    return total


@jit
def flush_after(added):
    """How many cells may be multiplied before a logarithm must be taken, lest they overflow."""
    largest = 0.0
    for j in range(added.shape[0]):
        largest = max(largest, abs(added[j]))
    return max(1, min(4096, int(LARGEST_LOG / (largest + 1e-3))))


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
def logistic_scan(on, n_fixed, mass, predictor, small, observed, basis, slope, rng):
    """Every entry once, cells Bernoulli with log odds `predictor`; exact, without augmentation.

    With p the probability of a one, log odds that grow by b multiply 1 + odds by (1 - p) + p e^b;
    e^b is known beforehand, so that a cell costs one multiplication and no exponential. `slope` is
    values @ basis.T over observed cells. `on` is changed in place.
    """
    n, width = on.shape
    n_columns = basis.shape[1]
    bounded = np.minimum(np.maximum(basis, -LARGEST_LOG), LARGEST_LOG)
    up, down = np.exp(bounded), np.exp(-bounded)
    counts = _column_counts(on)
    flush = np.empty(width, dtype=np.int64)
    for k in range(width):
        flush[k] = flush_after(bounded[k])
    p, q = np.empty(n_columns), np.empty(n_columns)
    for i in range(n):
        row_odds(predictor[i], small[i], observed[i], p, q)
        for k in range(n_fixed, width):
            others = counts[k] - on[i, k]
            if others + mass <= 0:
                continue
            factor = down[k] if on[i, k] else up[k]
            partition = log_partition_ratio(p, q, factor, flush[k])
            gain = slope[i, k] + (partition if on[i, k] else -partition)
            new = np.uint8(_accepts(math.log((others + mass) / (n - others)) + gain, rng))
            if new != on[i, k]:
                for j in range(n_columns):
                    share = p[j] * factor[j]
                    scale = 1.0 / (q[j] + share)
                    p[j] = share * scale
                    q[j] *= scale
                counts[k] += 1.0 if new else -1.0
                on[i, k] = new


@jit
def _log_rate_ratio(rate, count, where, m, added, change):
    """Sum of count x log(new rate / rate), with few logarithms: they are taken of products."""
    total, product = 0.0, 1.0
    for t in range(m):
        more = added[where[t]]
        if more <= 0:
            continue
        ratio = max(rate[t] + change * more, _TINY) / rate[t]
        if count[t] > 3 or ratio < 1e-20 or ratio > 1e20:
            total += count[t] * math.log(ratio)
            continue
        product *= ratio
        if count[t] > 1:
            product *= ratio
        if count[t] > 2:
            product *= ratio
        if product > 1e200 or product < 1e-200:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@jit
def poisson_scan(on, n_fixed, mass, predictor, values, basis, exposure, rng):
    """Every entry once, cells Poisson with rate `predictor`; visits cells with a count only.

    `exposure` is observed @ basis.T: what a feature adds to the sum of a row's rates. Cells not
    observed hold a zero in `values`. `on` is changed in place.
    """
    n, width = on.shape
    n_columns = basis.shape[1]
    counts = _column_counts(on)
    where = np.empty(n_columns, dtype=np.int64)
    rate, count = np.empty(n_columns), np.empty(n_columns)
    for i in range(n):
        m = 0
        for j in range(n_columns):
            if values[i, j] > 0:
                where[m] = j
                count[m] = values[i, j]
                rate[m] = max(predictor[i, j], _TINY)
                m += 1
        for k in range(n_fixed, width):
            others = counts[k] - on[i, k]
            if others + mass <= 0:
                continue
            change = -1.0 if on[i, k] else 1.0
            gain = _log_rate_ratio(rate, count, where, m, basis[k], change)
            log_odds = math.log((others + mass) / (n - others)) + change * gain - exposure[i, k]
            new = np.uint8(_accepts(log_odds, rng))
            if new != on[i, k]:
                for t in range(m):
                    rate[t] = max(rate[t] + change * basis[k, where[t]], _TINY)
                on[i, k] = new
                counts[k] += change


@jit
def cell_term(kind, value, predictor, precision):
    """Log likelihood of one cell, up to what does not depend on the predictor."""
    if kind == GAUSSIAN:
        return -0.5 * precision * (value - predictor) ** 2
    if kind == LOGISTIC:
        softplus = max(predictor, 0.0) + math.log1p(math.exp(-abs(predictor)))
        return value * predictor - softplus
    if value > 0:
        return value * math.log(max(predictor, _TINY)) - predictor
    return -predictor


@jit
def row_term(kind, values, observed, predictor, precision):
    """Log likelihood of the observed cells of a row, up to a constant."""
    total = 0.0
    for j in range(values.shape[0]):
        if observed[j]:
            total += cell_term(kind, values[j], predictor[j], precision)
    return total


@jit
def block_scan(kind, on, n_fixed, mass, predictor, values, observed, basis, precision, size, rng):
    """Propose `size` features of each row at once from their conditional priors (section 3.3).

    The proposal is accepted by the ratio of likelihoods. `on` and `predictor` are changed in place.
    """
    n, width = on.shape
    if width == n_fixed:
        return
    counts = _column_counts(on)
    trial = np.empty(basis.shape[1])
    picked, flips = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.bool_)
    for i in range(n):
        trial[:] = predictor[i]
        picked[:] = -1
        flips[:] = False
        for s in range(size):
            k = n_fixed + int(rng.random() * (width - n_fixed))
            others = counts[k] - on[i, k]
            if others + mass <= 0 or (picked == k).any():
                continue
            picked[s] = k
            flips[s] = (rng.random() * (n + mass) < others + mass) != (on[i, k] == 1)
            if flips[s]:
                trial += basis[k] * (-1.0 if on[i, k] else 1.0)
        if not flips.any():
            continue
        gain = row_term(kind, values[i], observed[i], trial, precision)
        gain -= row_term(kind, values[i], observed[i], predictor[i], precision)
        if math.log(rng.random() + _TINY) < gain:
            for s in range(size):
                if flips[s]:
                    k = picked[s]
                    on[i, k] = 1 - on[i, k]
                    counts[k] += 1.0 if on[i, k] else -1.0
            predictor[i] = trial
