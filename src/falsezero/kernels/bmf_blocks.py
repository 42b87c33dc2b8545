"""Compiled proposals of several features of a row at once (Meeds et al., section 3.3)."""

from __future__ import annotations

import math

import numpy as np

from falsezero.kernels._jit import jit
from falsezero.kernels.bmf import (
    GAUSSIAN,
    LARGEST_LOG,
    LOGISTIC,
    TINY,
    column_counts,
    exponentials,
    feature_odds,
    flush_after,
    log_partition_ratio,
)


@jit
def cell_term(kind, value, predictor, precision):
    """Log likelihood of one cell, up to what does not depend on the predictor."""
    if kind == GAUSSIAN:
        return -0.5 * precision * (value - predictor) ** 2
    if kind == LOGISTIC:
        softplus = max(predictor, 0.0) + math.log1p(math.exp(-abs(predictor)))
        return value * predictor - softplus
    if value > 0:
        return value * math.log(max(predictor, TINY)) - predictor
    return -predictor


@jit
def row_term(kind, values, observed, predictor, precision):
    """Log likelihood of the observed cells of a row, up to a constant."""
    total = 0.0
    for j in range(values.shape[0]):
        if observed[j]:
            total += cell_term(kind, values[j], predictor[j], precision)
    return total


@jit(reassociate=True)
def _square_gain(values, observed, before, after):
    """Half of what the sum of squared errors loses."""
    total = 0.0
    for j in range(values.shape[0]):
        middle = 0.5 * (before[j] + after[j])
        total += observed[j] * (after[j] - before[j]) * (values[j] - middle)
    return total


@jit
def row_gain(kind, values, observed, before, after, precision):
    """How much more likely a row of real numbers or counts is with another predictor."""
    if kind == GAUSSIAN:
        return precision * _square_gain(values, observed, before, after)
    gain, product = 0.0, 1.0
    for j in range(values.shape[0]):
        gain -= observed[j] * (after[j] - before[j])
        if values[j] > 0:
            ratio = max(after[j], TINY) / max(before[j], TINY)
            if values[j] > 1 or not 1e-20 < ratio < 1e20:
                gain += values[j] * math.log(ratio)
                continue
            product *= ratio
            if not 1e-200 < product < 1e200:
                gain += math.log(product)
                product = 1.0
    return gain + math.log(product)


@jit
def _pick_block(on, counts, n_fixed, mass, total, picked, change, rng):
    """Pick features of a row and draw them from their conditional priors; says if any changes.

    `change` is 1 where a picked feature would be switched on, -1 where off, 0 where it stays.
    """
    width = on.shape[0]
    picked[:] = -1
    change[:] = 0.0
    for s in range(picked.shape[0]):
        k = n_fixed + int(rng.random() * (width - n_fixed))
        others = counts[k] - on[k]
        if others + mass <= 0 or (picked == k).any():
            continue
        picked[s] = k
        has = 1.0 if rng.random() * (total + mass) < others + mass else 0.0
        change[s] = has - on[k]
    return change.any()


@jit
def _switch_block(on, counts, picked, change):
    """Do what was proposed."""
    for s in range(picked.shape[0]):
        if change[s] != 0:
            on[picked[s]] = 1 if change[s] > 0 else 0
            counts[picked[s]] += change[s]


@jit
def block_scan(
    kind, on, n_fixed, mass, total, predictor, values, observed, basis, precision, size, rng
):  # fmt: skip
    """Propose `size` features of each row at once from their conditional priors (section 3.3).

    For real numbers and counts. The proposal is accepted by the ratio of likelihoods. `on` and
    `predictor` are changed in place.
    """
    n, width = on.shape
    if width == n_fixed:
        return
    counts = column_counts(on)
    trial = np.empty(basis.shape[1])
    picked, change = np.empty(size, dtype=np.int64), np.empty(size)
    for i in range(n):
        if not _pick_block(on[i], counts, n_fixed, mass, total, picked, change, rng):
            continue
        trial[:] = predictor[i]
        for s in range(size):
            if change[s] != 0:
                line = basis[picked[s]]
                for j in range(trial.shape[0]):
                    trial[j] += change[s] * line[j]
        gain = row_gain(kind, values[i], observed[i], predictor[i], trial, precision)
        if math.log(rng.random() + TINY) < gain:
            _switch_block(on[i], counts, picked, change)
            predictor[i] = trial


@jit
def logistic_block_scan(on, n_fixed, mass, total, observed, basis, slope, size, rng):
    """`block_scan` for zeros and ones, without exponentials, by the means of `logistic_scan`.

    `slope` is values @ basis.T. `on` is changed in place.
    """
    n, width = on.shape
    n_columns = basis.shape[1]
    if width == n_fixed:
        return
    up, down, multiply = exponentials(basis, LARGEST_LOG / size)
    worst = np.zeros(n_columns)
    for k in range(width):
        worst = np.maximum(worst, size * np.abs(basis[k]))
    flush = flush_after(worst)
    counts = column_counts(on)
    p, q, factor = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    picked, change = np.empty(size, dtype=np.int64), np.empty(size)
    for i in range(n):
        if not _pick_block(on[i], counts, n_fixed, mass, total, picked, change, rng):
            continue
        gain, factor[:] = 0.0, 1.0
        for s in range(size):
            if change[s] != 0:
                gain += change[s] * slope[i, picked[s]]
                factor *= up[picked[s]] if change[s] > 0 else down[picked[s]]
        feature_odds(on[i], basis, up, multiply, observed[i], p, q)
        gain -= log_partition_ratio(p, q, factor, flush)
        if math.log(rng.random() + TINY) < gain:
            _switch_block(on[i], counts, picked, change)
