"""Binary ICA written out with the responsibilities Q in full, one formula a line."""

from itertools import product

import numpy as np
from scipy.special import betaln, digamma, gammaln


def log_moments(alpha, beta):
    """<log b> and <log(1 - b)> of a Beta (below eq. 9)."""
    both = digamma(alpha + beta)
    return digamma(alpha) - both, digamma(beta) - both


def expected_log_weights(gamma):
    """<log a> of a Dirichlet."""
    return digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))


def responsibilities(x, log_a, alpha, beta):
    """Eq. 9; zero where a cell was not observed. Rows x columns x components."""
    log_one, log_zero = log_moments(alpha, beta)
    cell = np.where(x[:, :, None] == 1, log_one.T[None], log_zero.T[None]) + log_a[:, None, :]
    q = np.exp(cell - cell.max(axis=2, keepdims=True))
    q /= q.sum(axis=2, keepdims=True)
    return np.where(np.isnan(x)[:, :, None], 0.0, q)


def source_counts(x, q, alpha0, beta0):
    """Eq. 8."""
    one = np.where(np.isnan(x), 0, x)[:, :, None]
    return alpha0 + (one * q).sum(axis=0).T, beta0 + ((1 - one) * q).sum(axis=0).T


def beta_divergence(alpha, beta, alpha0, beta0):
    """KL(q(b) || prior), summed."""
    log_one, log_zero = log_moments(alpha, beta)
    gain = (alpha - alpha0) * log_one + (beta - beta0) * log_zero
    return np.sum(gain + betaln(alpha0, beta0) - betaln(alpha, beta))


def dirichlet_divergence(gamma, gamma0):
    """KL(q(a) || prior), summed; `gamma0` is a number or one per component."""
    prior = np.broadcast_to(np.asarray(gamma0, float), gamma.shape[1:])
    gain = ((gamma - prior) * expected_log_weights(gamma)).sum(axis=1)
    norm = gammaln(gamma.sum(axis=1)) - gammaln(gamma).sum(axis=1)
    return np.sum(gain + norm) - len(gamma) * (gammaln(prior.sum()) - gammaln(prior).sum())


def bound(x, q, log_a, alpha, beta, priors, gamma=None):
    """Eq. 6, or eq. B.1 where `gamma` is given, for any q at all."""
    alpha0, beta0, gamma0 = priors
    log_one, log_zero = log_moments(alpha, beta)
    cell = np.where(x[:, :, None] == 1, log_one.T[None], log_zero.T[None]) + log_a[:, None, :]
    inside = np.where(q > 0, q * (cell - np.log(np.where(q > 0, q, 1))), 0.0).sum()
    rows = 0.0 if gamma is None else dirichlet_divergence(gamma, gamma0)
    return inside - beta_divergence(alpha, beta, alpha0, beta0) - rows


def exact_log_evidence(x, n_components, alpha0, beta0, gamma0):
    """log P(X) by summing over every assignment of components to cells; tiny tables only."""
    cells = np.argwhere(~np.isnan(x))
    n_rows, n_columns = x.shape
    terms = []
    for assignment in product(range(n_components), repeat=len(cells)):
        made = np.zeros((2, n_components, n_columns))
        rows = np.zeros((n_rows, n_components))
        for (n, t), k in zip(cells, assignment, strict=True):
            made[int(x[n, t]), k, t] += 1
            rows[n, k] += 1
        columns = betaln(alpha0 + made[1], beta0 + made[0]) - betaln(alpha0, beta0)
        total = gammaln(n_components * gamma0) - n_components * gammaln(gamma0)
        mixed = gammaln(gamma0 + rows).sum(axis=1) - gammaln((gamma0 + rows).sum(axis=1))
        terms.append(columns.sum() + mixed.sum() + n_rows * total)
    return np.logaddexp.reduce(terms)
