"""Compiled birth and death of singleton features (Meeds et al., eqs. 6-8).

A singleton is a feature that only one row has. The singletons of a row act together, through the
sum S of their weights; the moves propose one singleton more or fewer and a new S from an
approximation to its posterior that does not depend on the present S. For a Gaussian table the
approximation is exact and the move is the conjugate one (eq. 6): weights are integrated out.
"""

from __future__ import annotations

import math

import numpy as np

from falsezero.kernels._jit import jit
from falsezero.kernels.bmf import GAUSSIAN, POISSON
from falsezero.kernels.bmf_blocks import row_term

_NEWTON = 4
_EM = 6


@jit
def _system(other, weight, target, ridge):
    """Precision V' diag(weight) V + ridge I and linear term V' target."""
    width = other.shape[1]
    precision = np.zeros((width, width))
    linear = np.zeros(width)
    active = np.empty(width, dtype=np.int64)
    for j in range(other.shape[0]):
        if weight[j] == 0.0:
            continue
        m = 0
        for a in range(width):
            if other[j, a]:
                active[m] = a
                m += 1
        for s in range(m):
            linear[active[s]] += target[j]
            for t in range(s + 1):
                precision[active[s], active[t]] += weight[j]
    for a in range(width):
        precision[a, a] += ridge
        for b in range(a):
            precision[b, a] = precision[a, b]
    return precision, linear


@jit
def _solve(lower, vector, transposed):
    """Triangular solve with a lower factor, or with its transpose."""
    n = vector.shape[0]
    out = vector.copy()
    if transposed:
        for a in range(n - 1, -1, -1):
            for b in range(a + 1, n):
                out[a] -= lower[b, a] * out[b]
            out[a] /= lower[a, a]
        return out
    for a in range(n):
        for b in range(a):
            out[a] -= lower[a, b] * out[b]
        out[a] /= lower[a, a]
    return out


@jit
def _predict(base, other, summed):
    """Predictor of a row whose singletons' weights add up to `summed`."""
    out = base.copy()
    for j in range(other.shape[0]):
        for a in range(other.shape[1]):
            if other[j, a]:
                out[j] += summed[a]
    return out


@jit
def _normal_fit(kind, values, observed, base, other, ridge, precision):
    """Mean and Cholesky factor of the precision of the normal that proposes S."""
    n = values.shape[0]
    weight, target = np.zeros(n), np.zeros(n)
    if kind == GAUSSIAN:
        for j in range(n):
            weight[j] = precision * observed[j]
            target[j] = weight[j] * (values[j] - base[j])
        matrix, linear = _system(other, weight, target, ridge)
        lower = np.linalg.cholesky(matrix)
        return _solve(lower, _solve(lower, linear, False), True), lower
    mean = np.zeros(other.shape[1])
    for _ in range(_NEWTON):
        predictor = _predict(base, other, mean)
        for j in range(n):
            if observed[j]:
                half = 0.5 * predictor[j]
                weight[j] = 0.25 if abs(half) < 1e-6 else 0.25 * math.tanh(half) / half
                target[j] = values[j] - 0.5 - weight[j] * base[j]
        matrix, linear = _system(other, weight, target, ridge)
        lower = np.linalg.cholesky(matrix)
        mean = _solve(lower, _solve(lower, linear, False), True)
    return mean, lower


@jit
def _normal_density(summed, mean, lower):
    """Log density of N(mean, (L L')^-1) without the 2 pi."""
    total = 0.0
    for a in range(mean.shape[0]):
        part = 0.0
        for b in range(a, mean.shape[0]):
            part += lower[b, a] * (summed[b] - mean[b])
        total += math.log(lower[a, a]) - 0.5 * part * part
    return total


@jit
def _gamma_fit(values, observed, base, other, n_singles, rate):
    """Shapes and rates of the gammas that propose S: a few rounds of expectation maximisation."""
    width = other.shape[1]
    rates = np.full(width, rate)
    for j in range(other.shape[0]):
        if observed[j]:
            for a in range(width):
                rates[a] += other[j, a]
    shapes = np.full(width, float(n_singles))
    guess = np.full(width, n_singles / rate)
    for _ in range(_EM):
        predictor = _predict(base, other, guess)
        shapes[:] = n_singles
        for j in range(other.shape[0]):
            if values[j] > 0:
                for a in range(width):
                    if other[j, a]:
                        shapes[a] += values[j] * guess[a] / predictor[j]
        guess = shapes / rates
    return shapes, rates


@jit
def _gamma_density(summed, shapes, rates):
    total = 0.0
    for a in range(summed.shape[0]):
        total += shapes[a] * math.log(rates[a]) - math.lgamma(shapes[a])
        total += (shapes[a] - 1) * math.log(summed[a]) - rates[a] * summed[a]
    return total


@jit
def _weigh(kind, values, observed, base, other, summed, draws, n_singles, scale, precision, rng):
    """Log importance weight of S for `n_singles` singletons; S is drawn first where asked for.

    `scale` is the precision (normal) or rate (gamma) of a single weight.
    """
    if n_singles == 0:
        summed[:] = 0.0
        return row_term(kind, values, observed, base, precision)
    width = other.shape[1]
    if kind == POISSON:
        shapes, rates = _gamma_fit(values, observed, base, other, n_singles, scale)
        if draws:
            for a in range(width):
                summed[a] = rng.standard_gamma(shapes[a]) / rates[a]
        prior_shape, prior_rate = np.full(width, float(n_singles)), np.full(width, scale)
        ratio = _gamma_density(summed, prior_shape, prior_rate)
        ratio -= _gamma_density(summed, shapes, rates)
    else:
        ridge = scale / n_singles
        mean, lower = _normal_fit(kind, values, observed, base, other, ridge, precision)
        if draws:
            noise = np.empty(width)
            for a in range(width):
                noise[a] = rng.standard_normal()
            summed[:] = mean + _solve(lower, noise, True)
        ratio = 0.5 * width * math.log(ridge) - 0.5 * ridge * np.dot(summed, summed)
        ratio -= _normal_density(summed, mean, lower)
    predictor = _predict(base, other, summed)
    return ratio + row_term(kind, values, observed, predictor, precision)


@jit
def _share_out(kind, summed, n_singles, scale, out, rng):
    """Weights of the single features given their sum, drawn from the prior."""
    for a in range(summed.shape[0]):
        total = 0.0
        for b in range(n_singles):
            if kind == POISSON:
                out[b, a] = rng.standard_exponential()
            else:
                out[b, a] = rng.standard_normal() / math.sqrt(scale)
            total += out[b, a]
        for b in range(n_singles):
            if kind == POISSON:
                out[b, a] *= summed[a] / total
            else:
                out[b, a] += (summed[a] - total) / n_singles


@jit
def birth_scan(
    kind, chosen, start, on, width, n_fixed, rate, weights, other, values, observed, predictor,
    scale, precision, rng,
):  # fmt: skip
    """Propose one singleton more or fewer in each chosen row; `rate` is alpha / (beta + I - 1).

    `on` and `weights` have spare room behind the first `width` features. Returns the new width and
    the position in `chosen` that was reached: less than its length where the room ran out.
    """
    n = on.shape[0]
    counts = np.zeros(on.shape[1])
    for i in range(n):
        for k in range(width):
            counts[k] += on[i, k]
    singles = np.empty(on.shape[1], dtype=np.int64)
    for position in range(start, chosen.shape[0]):
        if width >= on.shape[1]:
            return width, position
        i = chosen[position]
        m = 0
        now = np.zeros(other.shape[1])
        for k in range(n_fixed, width):
            if on[i, k] and counts[k] == 1:
                singles[m] = k
                now += weights[k]
                m += 1
        new = m + 1 if rng.random() < 0.5 else m - 1
        if new < 0:
            continue
        base = _predict(predictor[i], other, -now)
        if kind == POISSON:
            base = np.maximum(base, 0.0)
        then = np.empty(other.shape[1])
        log_ratio = math.log(rate / new) if new > m else math.log(m / rate)
        log_ratio += _weigh(
            kind, values[i], observed[i], base, other, then, True, new, scale, precision, rng
        )
        log_ratio -= _weigh(
            kind, values[i], observed[i], base, other, now, False, m, scale, precision, rng
        )
        if math.log(rng.random() + 1e-300) >= log_ratio:
            continue
        if new > m:
            singles[m] = width
            on[:, width] = 0
            on[i, width] = 1
            counts[width] = 1
            width += 1
        else:
            # The last single goes, and the last feature of all takes its place. Positions ascend,
            # so the features that stay keep theirs.
            gone, width = singles[m - 1], width - 1
            on[:, gone] = on[:, width]
            weights[gone] = weights[width]
            counts[gone] = counts[width]
        shares = np.empty((max(new, 1), other.shape[1]))
        _share_out(kind, then, new, scale, shares, rng)
        for b in range(new):
            weights[singles[b]] = shares[b]
        predictor[i] = _predict(base, other, then)
    return width, chosen.shape[0]
