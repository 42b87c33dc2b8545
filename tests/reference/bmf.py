"""Slow, plain answers for binary matrix factorization: enumeration, Geweke's test, NumPy scans."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import expit, gammaln, logsumexp
from scipy.stats import multivariate_normal

from falsezero.models.bmf.sampler import Model, draw_prior, sweep
from falsezero.models.bmf.state import Cells, Features


def log_marginal(table, u, v, scale, precision):
    """Log p(X | U, V) of a Gaussian table by the IJ x IJ covariance, weights integrated out."""
    design = np.kron(u, v)
    covariance = design @ design.T / scale + np.eye(table.size) / precision
    seen = ~np.isnan(table.ravel())
    return multivariate_normal.logpdf(
        table.ravel()[seen], np.zeros(seen.sum()), covariance[np.ix_(seen, seen)]
    )


def finite_log_prior(on, concentration, beta=1.0):
    """Log prior of a finite binary matrix by the sequential rule (eqs. 2-3 without data)."""
    n, width = on.shape
    mass, total = concentration / width, 0.0
    for k in range(width):
        for i in range(n):
            before = on[:i, k].sum()
            ones = (mass + before) / (mass + beta + i)
            total += np.log(ones if on[i, k] else 1 - ones)
    return total


def buffet_log_prior(on, concentration, beta=1.0):
    """Log probability of a left-ordered class under the Indian buffet process.

    Columns of one kind are born as Poisson numbers; each then follows the sequential rule of the
    rows after its first.
    """
    n = len(on)
    histories = [tuple(column) for column in on.T]
    total = -concentration * sum(1 / (beta + i) for i in range(n))
    for column in histories:
        first = column.index(1)
        total += np.log(concentration / (beta + first))
        for i in range(first + 1, n):
            ones = sum(column[:i]) / (beta + i)
            total += np.log(ones if column[i] else 1 - ones)
    return total - sum(gammaln(histories.count(h) + 1) for h in set(histories))


def finite_posterior(table, n_row, n_column, concentration, scale, precision, beta=1.0):
    """Posterior over (U, V) of the finite Gaussian model, by enumeration; keys are bytes."""
    n, m = table.shape
    log_p = {}
    for bits_u in product((0, 1), repeat=n * n_row):
        u = np.array(bits_u, dtype=np.uint8).reshape(n, n_row)
        for bits_v in product((0, 1), repeat=m * n_column):
            v = np.array(bits_v, dtype=np.uint8).reshape(m, n_column)
            value = sum(finite_log_prior(on, concentration, beta) for on in (u, v))
            value += log_marginal(table, u, v, scale, precision)
            log_p[u.tobytes() + v.tobytes()] = value
    norm = logsumexp(list(log_p.values()))
    return {key: np.exp(value - norm) for key, value in log_p.items()}


def statistics(state, table):
    """Label-invariant numbers that describe a state and its table."""
    rows, columns = state.rows, state.columns
    products = rows.on.astype(float) @ state.basis
    return [
        rows.learnt.any(axis=0).sum(),
        columns.learnt.any(axis=0).sum(),
        rows.learnt.sum(),
        columns.learnt.sum(),
        (rows.counts**2).sum(),
        (columns.counts**2).sum(),
        np.log(rows.concentration),
        np.log(columns.concentration),
        np.log(state.weight_scale),
        np.log(state.precision),
        np.tanh(products).mean(),
        np.log1p(np.abs(products)).mean(),
        np.tanh(table).mean(),
        np.log1p(np.abs(table)).mean(),
        (np.tanh(table) * rows.on.sum(axis=1)[:, None]).mean(),
    ]


def draw_table(state, model, rng):
    """A table from the model."""
    return model.likelihood.simulate(state.predictor(), state.precision, rng)


def geweke(model: Model, n_draws, rng, one_sweep=sweep, missing=None):
    """z-scores of the successive-conditional sampler against independent draws from the prior."""
    independent = []
    for _ in range(n_draws):
        state = draw_prior(model, rng)
        if model.likelihood.table_kind != "real":
            state = state._replace(precision=1.0)
        independent.append(statistics(state, draw_table(state, model, rng)))
    chain = []
    table = draw_table(state, model, rng)
    for _ in range(n_draws):
        seen = table if missing is None else np.where(missing, np.nan, table)
        state = one_sweep(state, Cells.of(seen), model, rng)
        table = draw_table(state, model, rng)
        chain.append(statistics(state, table))
    independent, chain = np.array(independent, dtype=float), np.array(chain, dtype=float)
    error = np.sqrt(independent.var(axis=0) / n_draws + batch_variance(chain))
    difference = chain.mean(axis=0) - independent.mean(axis=0)
    moves = error > 1e-12
    return difference[moves] / error[moves]


def batch_variance(chain, n_batches=25):
    """Variance of the mean of a correlated chain, by batch means."""
    size = len(chain) // n_batches
    means = chain[: size * n_batches].reshape(n_batches, size, -1).mean(axis=1)
    return means.var(axis=0, ddof=1) / n_batches


def plain_scan(table, on, n_fixed, mass, basis, log_likelihood, uniforms, beta=1.0):
    """Eqs. 2-5 word by word: both predictions of a whole row for every entry."""
    on = on.copy()
    n = len(on)
    for i in range(n):
        for k in range(n_fixed, on.shape[1]):
            others = on[:, k].sum() - on[i, k]
            if others + mass <= 0:
                continue
            value = []
            for bit in (0, 1):
                on[i, k] = bit
                prior = others + mass if bit else beta + (n - 1) - others
                value.append(np.log(prior) + log_likelihood(table[i], on[i] @ basis))
            on[i, k] = uniforms[i, k] < expit(value[1] - value[0])
    return on


def plain_restricted_scan(terms, start, anchors, n, mass, beta, uniforms):
    """First part, second or both of each row in turn, by eqs. 2-3 of both parts at once."""
    parts, choice, log_p = np.array([[1, 0], [0, 1], [1, 1]]), start.copy(), 0.0
    for i in range(len(choice)):
        others = parts[np.delete(choice, i)].sum(axis=0)
        weight = []
        for option in parts:
            value = 1.0
            for part in (0, 1):
                if i == anchors[part]:
                    value *= option[part]  # certain to have its own part
                else:
                    on, off = mass + others[part], beta + (n - 1) - others[part]
                    value *= on if option[part] else off
            weight.append(value)
        share = np.array(weight) * np.exp(terms[i])
        share /= share.sum()
        choice[i] = min(np.searchsorted(np.cumsum(share), uniforms[i], side="right"), 2)
        log_p += np.log(share[choice[i]])
    return choice, log_p


def features(on, finite, concentration=1.0, n_fixed=0):
    """`Features` from a list."""
    return Features(np.array(on, dtype=np.uint8), n_fixed, finite, concentration)
