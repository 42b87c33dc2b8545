"""The convex Bernoulli family as the papers write it: slow, dense, and plain."""

import numpy as np


def log_likelihood(X, W, F1, F0=None):
    """Sum of log P over observed cells (NaN: not observed)."""
    F0 = 1 - F1 if F0 is None else F0
    total = 0.0
    for n in range(X.shape[0]):
        for t in range(X.shape[1]):
            if not np.isnan(X[n, t]):
                total += np.log(W[n] @ (F1 if X[n, t] == 1 else F0)[:, t])
    return total


def statistics(X, W, F1, F0=None):
    """W'U, W'V and U F1' + V F0', cell by cell."""
    F0 = 1 - F1 if F0 is None else F0
    ones, zeros = np.zeros_like(F1), np.zeros_like(F1)
    rows = np.zeros_like(W)
    for n in range(X.shape[0]):
        for t in range(X.shape[1]):
            if X[n, t] == 1:
                ones[:, t] += W[n] / (W[n] @ F1[:, t])
                rows[n] += F1[:, t] / (W[n] @ F1[:, t])
            elif X[n, t] == 0:
                zeros[:, t] += W[n] / (W[n] @ F0[:, t])
                rows[n] += F0[:, t] / (W[n] @ F0[:, t])
    return ones, zeros, rows


def em_step(X, W, A):
    """Eqs. 4-6 of Bingham et al. with the posterior written out: the literal algorithm."""
    seen = ~np.isnan(X)
    x = np.where(seen, X, 0)
    joint = np.where(x[:, :, None] == 1, W[:, None, :] * A.T, W[:, None, :] * (1 - A.T))
    q = joint / joint.sum(axis=2, keepdims=True) * seen[:, :, None]
    new_W = q.sum(axis=1) / np.maximum(seen.sum(axis=1), 1)[:, None]
    new_W = np.where(seen.any(axis=1)[:, None], new_W, W)
    new_A = (x[:, :, None] * q).sum(axis=0).T / q.sum(axis=0).T
    return new_W, new_A


def posterior(X, W, A):
    """Eq. 4 for every cell, rows x columns x components."""
    joint = np.where(X[:, :, None] == 1, W[:, None, :] * A.T, W[:, None, :] * (1 - A.T))
    return joint / joint.sum(axis=2, keepdims=True)


def marginal_by_enumeration(x, w, A):
    """Eq. 7: sum of the complete-data likelihood over every assignment of causes to cells."""
    from itertools import product

    K, T = A.shape
    total = 0.0
    for z in product(range(K), repeat=T):
        p = 1.0
        for t, k in enumerate(z):
            p *= w[k] * (A[k, t] if x[t] == 1 else 1 - A[k, t])
        total += p
    return np.log(total)


def second_order_likelihood(X, W, A, hot):
    """The sparse solver's objective, cell by cell: zeros off the `hot` mask in second order."""
    P = W @ A
    seen = ~np.isnan(X)
    ones, zeros = seen & (X == 1), seen & (X == 0)
    plain = zeros & ~hot
    return (
        np.log(P[ones]).sum()
        + np.log1p(-P[zeros & hot]).sum()
        - (P[plain] + P[plain] ** 2 / 2).sum()
    )
