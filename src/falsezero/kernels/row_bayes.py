"""Dirichlet posteriors of row weights; each row is optimised separately.

A row's share of the bound on the evidence (Kabán and Bingham 2008, eq. B.1) is

    sum_t log(sum_k W_k F_kt) - KL(Dirichlet(c) || Dirichlet(c0)),   W_k = exp<log a_k>,

with F the factor of the cell's own value. The update c_k = c0 + sum_t W_k F_kt / (sum_j W_j F_jt)
(eq. B.5) cannot lower it. Where c0 < 1 a row has several optima, usually one near each component
that could explain it alone: each is tried, and the best is kept.

A sparse table has few cells visited in a row. All others are zeros whose log(1 - p), with
p = sum_k w_k g_kt, w = W / sum(W) and g = 1 - F0, is -(p + p^2 / 2), summed by Gram matrices.
"""

from __future__ import annotations

import math

import numpy as np

from falsezero.kernels._jit import jit
from falsezero.kernels.codes import UNOBSERVED
from falsezero.kernels.dirichlet import _digamma_tail

_TRIAL_STEPS = 6
_CYCLES = 300
_NEARER = 0.3
_FINALISTS = 4
_MOST_STARTS = 40
_CORNER = 0.95
"""Share of a row's cells that a start assigns to one component."""


@jit
def digamma(x):
    """digamma(x) for x > 0: the recurrence up to x + 8, then the asymptotic series."""
    shift = 0.0
    for j in range(8):
        shift += 1.0 / (x + j)
    z = x + 8.0
    return np.log(z) + _digamma_tail(1.0 / z) - shift


@jit
def _expected_logs(counts, prior, floor, weights):
    """Write W_k = exp<log a_k>; return KL(Dirichlet(counts) || Dirichlet(prior, ..., prior))."""
    k = counts.shape[0]
    total = counts.sum()
    base = digamma(total)
    divergence = math.lgamma(total) - math.lgamma(k * prior) + k * math.lgamma(prior)
    for j in range(k):
        log_a = digamma(counts[j]) - base
        weights[j] = max(np.exp(log_a), floor)
        divergence += (counts[j] - prior) * log_a - math.lgamma(counts[j])
    return divergence


@jit(reassociate=True)
def _step(row, counts, new, weights, p):
    """Update a row's counts; return its share of the bound at the counts passed in.

    `row` is (factors, others, kinds, linear, gram, n_columns, prior, floor): factors and others
    (k x m) of the visited cells, kinds 0 one, 1 zero, 2 not observed; n_columns is 0 where every
    observed cell is visited.
    """
    factors, _, kinds, _, _, n_columns, prior, floor = row
    k, m = factors.shape
    bound = -_expected_logs(counts, prior, floor, weights)
    total = 0.0
    for j in range(k):
        total += weights[j]
    for t in range(m):
        p[t] = 0.0
    for j in range(k):
        w = weights[j]
        for t in range(m):
            p[t] += w * factors[j, t]
    product = 1.0
    for t in range(m):
        if kinds[t] < 2:
            product *= p[t]
            if product < 1e-200:
                bound += np.log(product)
                product = 1.0
            p[t] = 1.0 / p[t]
        else:
            p[t] = 0.0
    bound += np.log(product)
    for j in range(k):
        stat = 0.0
        for t in range(m):
            stat += factors[j, t] * p[t]
        new[j] = weights[j] * stat
    if n_columns > 0:
        bound += _plain_zeros(row, weights, total, new)
    for j in range(k):
        new[j] = prior + max(new[j], 0.0)
    return bound


@jit(reassociate=True)
def _plain_zeros(row, weights, total, new):
    """Contribution of the cells that are not visited to the bound and to the counts."""
    factors, others, _, linear, gram, n_columns, _, _ = row
    k, m = factors.shape
    w = weights / total
    slope = np.zeros(k)
    for j in range(k):
        for a in range(k):
            slope[j] += gram[j, a] * w[a]
    first, second = np.dot(w, linear), np.dot(w, slope)
    value, cells = -first - 0.5 * second, float(n_columns)
    everywhere = n_columns + first + second
    for t in range(m):
        q = 0.0
        for j in range(k):
            q += w[j] * others[j, t]
        value += q + 0.5 * q * q
        cells -= 1.0
        for j in range(k):
            new[j] -= w[j] * ((1.0 - others[j, t]) * (1.0 + q) + q * q)
    for j in range(k):
        new[j] += w[j] * (everywhere - linear[j] - slope[j])
    return value + cells * np.log(total)


@jit
def _settle(row, counts, tolerance, work):
    """Squared extrapolation from `counts`, kept where the bound gains; returns the bound."""
    first, second, trial, weights, p = work
    k, prior = counts.shape[0], row[6]
    bound = -np.inf
    for _ in range(_CYCLES):
        bound = _step(row, counts, first, weights, p)
        reference = _step(row, first, second, weights, p)
        r2, v2, moved, cells = 0.0, 0.0, 0.0, 0.0
        for j in range(k):
            r = first[j] - counts[j]
            v = second[j] - first[j] - r
            r2 += r * r
            v2 += v * v
            moved = max(moved, abs(second[j] - first[j]))
            cells += second[j] - prior
        alpha = max(1.0, np.sqrt(r2 / v2)) if v2 > 0 else 1.0
        for j in range(k):
            counts[j], trial[j] = second[j], counts[j]
        if moved * alpha <= tolerance * max(cells, 1.0):
            return _step(row, counts, first, weights, p)
        if alpha == 1.0:
            continue
        total = 0.0
        for j in range(k):
            r = first[j] - trial[j]
            v = second[j] - first[j] - r
            moved = trial[j] + 2.0 * alpha * r + alpha * alpha * v - prior
            trial[j] = max(moved, _NEARER * (second[j] - prior))
            total += trial[j]
        if total <= 0:
            continue
        for j in range(k):
            trial[j] = prior + trial[j] * cells / total
        if _step(row, trial, first, weights, p) >= reference:
            for j in range(k):
                counts[j] = first[j]
    return bound


@jit
def _settle_best(row, start, is_rugged, tolerance, work, trials):
    """The best of the optima reached from `start` and, if there may be several, other starts.

    Other starts are near each component and between each two. All take a few steps, and the
    most promising ones are settled.
    """
    if not is_rugged:
        return _settle(row, start, tolerance, work)
    k, prior = start.shape[0], row[6]
    first, _, _, weights, p = work
    cells = 0.0
    for j in range(k):
        cells += start[j] - prior
    n_starts = trials.shape[0]
    bounds = np.empty(n_starts)
    trials[0] = start
    _write_corners(trials, cells, prior)
    for s in range(n_starts):
        c = trials[s]
        for _ in range(_TRIAL_STEPS):
            _step(row, c, first, weights, p)
            for j in range(k):
                c[j] = first[j]
        bounds[s] = _step(row, c, first, weights, p)
    best = -np.inf
    for place in range(min(_FINALISTS, n_starts)):
        # The middle start may improve slowly at first, so it is always settled.
        s = 0 if place == 0 else int(np.argmax(bounds))
        bounds[s] = -np.inf
        bound = _settle(row, trials[s], tolerance, work)
        if bound > best:
            best = bound
            for j in range(k):
                start[j] = trials[s, j]
    return best


@jit
def _write_corners(trials, cells, prior):
    """Counts near each component, then between each two, up to the number of trials."""
    k = trials.shape[1]
    s = 1
    for gap in range(k):
        for j in range(k - gap):
            if s == trials.shape[0]:
                return
            for a in range(k):
                trials[s, a] = prior + cells * (1.0 - _CORNER) / k
            trials[s, j] += 0.5 * _CORNER * cells
            trials[s, j + gap] += 0.5 * _CORNER * cells
            s += 1


@jit
def _n_starts(k):
    """Number of starts of a row: the middle, the corners, and edges up to a limit."""
    return 1 + min(k + k * (k - 1) // 2, max(k, _MOST_STARTS))


@jit
def _work(k, m):
    return np.empty(k), np.empty(k), np.empty(k), np.empty(k), np.empty(m)


@jit
def settle_dense(codes, ones, zeros, counts, prior, floor, is_rugged, tolerance):
    """Optimise the counts of dense rows, in place; return their bounds.

    `codes` has 0, 1 or `UNOBSERVED`; `ones` and `zeros` (k x columns) are F1 and F0.
    """
    n, n_columns = codes.shape
    k = ones.shape[0]
    bounds = np.empty(n)
    work, trials = _work(k, n_columns), np.empty((_n_starts(k), k))
    nothing, none = np.empty((k, 0)), np.empty(k)
    square = np.empty((k, k))
    kinds = np.zeros(n_columns, dtype=np.int64)
    for i in range(n):
        m = 0
        for t in range(n_columns):
            m += codes[i, t] != UNOBSERVED
        factors = np.empty((k, m))
        at = 0
        for t in range(n_columns):
            if codes[i, t] == UNOBSERVED:
                continue
            for j in range(k):
                factors[j, at] = ones[j, t] if codes[i, t] == 1 else zeros[j, t]
            at += 1
        row = (factors, nothing, kinds[:m], none, square, 0, prior, floor)
        bounds[i] = _settle_best(row, counts[i], is_rugged, tolerance, work, trials)
    return bounds


@jit
def settle_sparse(
    starts, columns, ones, others, linear, gram, counts, prior, floor, is_rugged, tolerance, most
):
    """The same for rows of a sparse table.

    `starts` and `columns` hold three CSR patterns: ones, visited zeros, cells not observed. `ones`
    and `others` (columns x k) are F1' and (1 - F0)', `linear` and `gram` the sums of (1 - F0) and
    of its products over all columns, `most` the largest number of cells visited in a row.
    """
    n, k = counts.shape
    bounds = np.empty(n)
    work, trials = _work(k, most), np.empty((_n_starts(k), k))
    kinds = np.empty(most, dtype=np.int64)
    for i in range(n):
        m = 0
        for kind in range(3):
            m += starts[kind][i + 1] - starts[kind][i]
        factors, away = np.empty((k, m)), np.empty((k, m))
        at = 0
        for kind in range(3):
            for entry in range(starts[kind][i], starts[kind][i + 1]):
                t = columns[kind][entry]
                kinds[at] = kind
                for j in range(k):
                    away[j, at] = others[t, j]
                    factors[j, at] = ones[t, j] if kind == 0 else 1.0 - others[t, j]
                at += 1
        row = (factors, away, kinds[:m], linear, gram, ones.shape[0], prior, floor)
        bounds[i] = _settle_best(row, counts[i], is_rugged, tolerance, work, trials)
    return bounds
