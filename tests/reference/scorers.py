"""Slow twins of the cell scorers: loops over cells, straight from the formulas."""

import math

import numpy as np


def beals(x, reference=None, *, joint=False, mean=False, include=True):
    """Beals smoothing as in vegan::beals, types 0 to 3 as (joint, mean), without missing cells."""
    reference = x if reference is None else reference
    n, t = x.shape
    result = np.zeros((n, t))
    for i in range(n):
        for j in range(t):
            top = bottom = 0.0
            for k in range(t):
                if not include and k == j:
                    continue
                weight = x[i, k] if mean else float(x[i, k] > 0)
                total = sum(r[k] if joint else float(r[k] > 0) for r in reference)
                shared = sum((r[k] if joint else float(r[k] > 0)) for r in reference if r[j] > 0)
                top += weight * (shared / total if total else 0.0)
                bottom += weight
            result[i, j] = top / bottom if bottom else 0.0
    return result


def hypergeometric(X):
    """Carmona and Pärtel's index, without missing cells."""
    n, t = X.shape
    result = np.full((n, t), 0.5)
    for i in range(n):
        for j in range(t):
            others = [k for k in range(t) if k != j and X[i, k] == 1]
            if others:
                result[i, j] = np.mean([_indication(X[:, k], X[:, j]) for k in others])
    return result


def _indication(one, other):
    n, a, b = len(one), one.sum(), other.sum()
    variance = a * b * (n - a) * (n - b) / (n**2 * (n - 1)) if n > 1 else 0.0
    if variance == 0:
        return 0.5
    z = ((one * other).sum() - a * b / n) / math.sqrt(variance)
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def ease(X, penalty):
    """Each column's ridge regression on the others, one at a time."""
    t = X.shape[1]
    weights = np.zeros((t, t))
    for j in range(t):
        rest = [k for k in range(t) if k != j]
        A = X[:, rest]
        weights[rest, j] = np.linalg.solve(A.T @ A + penalty * np.eye(t - 1), A.T @ X[:, j])
    return weights


def row_neighbours(X, count, shrinkage):
    """Means over the nearest other rows, cosines over cells observed in both."""
    n, t = X.shape
    rates = np.nan_to_num(np.nansum(X, axis=0) / np.maximum((~np.isnan(X)).sum(axis=0), 1))
    result = np.zeros((n, t))
    for i in range(n):
        weights = [_cosine(X[i], X[m]) if m != i else 0.0 for m in range(n)]
        least = sorted(weights)[-min(count, n)] - 1e-12
        best = [m for m in range(n) if weights[m] >= least]
        for j in range(t):
            seen = [m for m in best if not np.isnan(X[m, j])]
            top = sum(weights[m] * X[m, j] for m in seen) + shrinkage * rates[j]
            result[i, j] = top / (sum(weights[m] for m in seen) + shrinkage)
    return result


def column_neighbours(X, count):
    """Similar columns' entries, weighted by their cosines."""
    n, t = X.shape
    result = np.zeros((n, t))
    for j in range(t):
        weights = [_cosine(X[:, k], X[:, j]) if k != j else 0.0 for k in range(t)]
        best = sorted(range(t), key=lambda k: -weights[k])[:count]
        for i in range(n):
            result[i, j] = sum(weights[k] * np.nan_to_num(X[i, k]) for k in best)
    return result


def _cosine(one, other):
    both = ~np.isnan(one) & ~np.isnan(other)
    norm = math.sqrt(one[both].sum() * other[both].sum())
    return (one[both] * other[both]).sum() / norm if norm else 0.0


def margins_objective(X, a, b, ridge):
    """Penalised log likelihood of row and column effects."""
    seen = ~np.isnan(X)
    ones, zeros = np.nansum(X), (X == 0).sum()
    centre = math.log((ones + 0.5) / (zeros + 0.5))
    eta = a[:, None] + b
    terms = np.where(seen, np.nan_to_num(X) * eta - np.logaddexp(0, eta), 0.0)
    return terms.sum() - ridge / 2 * ((a**2).sum() + ((b - centre) ** 2).sum())


def least_squares(X, others, weight, ridge):
    """The factors of each row, given those of the columns: a ridge regression for each."""
    k = len(others)
    result = np.zeros((len(X), k))
    for i, row in enumerate(X):
        seen = ~np.isnan(row)
        V, x = others[:, seen].T, row[seen]
        c = 1 + weight * x
        result[i] = np.linalg.solve(V.T @ (c[:, None] * V) + ridge * np.eye(k), V.T @ (c * x))
    return result
