"""Slow, obviously right twins of the mixtures: loops over rows, components and columns."""

import numpy as np


def bernoulli_log_joint(X, proportions, components):
    """log pi_k + log p(x_n | k); NaN cells are left out."""
    out = np.zeros((len(X), len(proportions)))
    for n, row in enumerate(X):
        for k, (share, a) in enumerate(zip(proportions, components, strict=True)):
            out[n, k] = np.log(share)
            for x, p in zip(row, a, strict=True):
                if not np.isnan(x):
                    out[n, k] += np.log(p if x == 1 else 1 - p)
    return out


def bernoulli_em_step(X, proportions, components):
    """One EM step; returns new parameters and the log likelihood before it."""
    joint = np.exp(bernoulli_log_joint(X, proportions, components))
    r = joint / joint.sum(axis=1, keepdims=True)
    new = np.zeros_like(components)
    for k in range(len(proportions)):
        for t in range(X.shape[1]):
            seen = ~np.isnan(X[:, t])
            new[k, t] = (r[seen, k] * X[seen, t]).sum() / r[seen, k].sum()
    return r.mean(axis=0), new, np.log(joint.sum(axis=1)).sum()


def unigram_log_joint(X, proportions, components):
    """log pi_k + sum of x log p over the observed columns, p renormalised to those columns."""
    out = np.zeros((len(X), len(proportions)))
    for n, row in enumerate(X):
        seen = ~np.isnan(row)
        for k, (share, phi) in enumerate(zip(proportions, components, strict=True)):
            p = phi[seen] / phi[seen].sum()
            out[n, k] = np.log(share) + (row[seen] * np.log(p)).sum()
    return out


def plsa_log_likelihood(X, weights, components):
    """Sum of x log p(t|n) over the observed cells, p renormalised to a row's observed columns."""
    total = 0.0
    for row, w in zip(X, weights, strict=True):
        seen = ~np.isnan(row)
        p = w @ components
        for x, probability in zip(row, p / p[seen].sum(), strict=True):
            if x > 0:
                total += x * np.log(probability)
    return total
