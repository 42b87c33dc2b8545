"""Discrete PCA on tiny tables by adding up every way in which tokens may have got components."""

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp


class Tiny(NamedTuple):
    """A model with K components: the kind of weights, priors, groups, and the Poisson columns."""

    kind: str  # "dirichlet" or "gamma"
    alpha: np.ndarray
    beta: np.ndarray
    eta: float
    groups: np.ndarray
    poisson: np.ndarray


def tokens_of(counts):
    """Row and column of every token."""
    rows, columns = np.nonzero(counts)
    times = counts[rows, columns].astype(int)
    return np.repeat(rows, times), np.repeat(columns, times)


def log_row(model, c, multinomial_tokens):
    """log of the integral over l (or m) of p(l) prod_k l_k^c_k and what the scale of l costs."""
    alpha, beta = model.alpha, model.beta
    if model.kind == "dirichlet":
        a = alpha.sum()
        return gammaln(a) - gammaln(a + c.sum()) + (gammaln(alpha + c) - gammaln(alpha)).sum()
    rate = beta + float(model.poisson.any())
    prior = (alpha * np.log(beta) - gammaln(alpha)).sum()
    if multinomial_tokens == 0:
        return prior + (gammaln(alpha + c) - (alpha + c) * np.log(rate)).sum()
    assert len(alpha) == 2
    power = alpha.sum() + c.sum() - multinomial_tokens

    def density(m):
        weight = m * rate[0] + (1 - m) * rate[1]
        return m ** (alpha[0] + c[0] - 1) * (1 - m) ** (alpha[1] + c[1] - 1) * weight**-power

    return prior + gammaln(power) + np.log(quad(density, 0, 1, limit=200)[0])


def log_theta(model, n):
    """log of the integral over Theta of its prior times prod theta_jk^n_jk."""
    total = 0.0
    for g in np.unique(model.groups):
        part = n[model.groups == g]
        size = len(part)
        total += (gammaln(model.eta * size) - gammaln(model.eta * size + part.sum(axis=0))).sum()
        total += (gammaln(model.eta + part) - gammaln(model.eta)).sum()
    return total


def log_constant(model, counts):
    """log of L_g! / prod w_j! over rows and multinomial groups."""
    total = -gammaln(counts + 1.0).sum()
    for g in np.unique(model.groups[~model.poisson]):
        inside = (model.groups == g) & ~model.poisson
        total += gammaln(counts[:, inside].sum(axis=1) + 1.0).sum()
    return total


def enumerate_components(model, counts, theta=None):
    """log p(w), and every assignment with its probability: (row counts, word counts, p)."""
    rows, columns = tokens_of(counts)
    k = len(model.alpha)
    lengths = counts[:, ~model.poisson].sum(axis=1)
    found, logs, cache = [], [], {}
    for z in product(range(k), repeat=len(rows)):
        c, n = np.zeros((len(counts), k)), np.zeros((counts.shape[1], k))
        np.add.at(c, (rows, z), 1)
        np.add.at(n, (columns, z), 1)
        log_p = log_theta(model, n) if theta is None else (n * np.log(theta)).sum()
        for i, row in enumerate(c):
            key = (i, *row)
            if key not in cache:
                cache[key] = log_row(model, row, lengths[i])
            log_p += cache[key]
        found.append((c, n))
        logs.append(log_p)
    evidence = logsumexp(logs)
    return evidence + log_constant(model, counts), found, np.exp(logs - evidence)


def topic_pass(values, weights, theta):
    """Slow twin of the kernel: row statistics, word statistics and log likelihood by row."""
    z = weights @ theta.T
    ratio = np.where(values > 0, values / z, 0.0)
    return ratio @ theta, ratio.T @ weights, (values * np.log(z)).sum(axis=1)
