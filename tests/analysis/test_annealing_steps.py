"""Annealed importance sampling step by step, cell by cell, with the same random numbers."""

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import logsumexp

import falsezero as fz
from falsezero.analysis.evidence import log_evidence
from falsezero.base.estimator import spawn_seeds

TABLE = np.array([[1, 0, 1], [1, 1, 0], [0, np.nan, 0], [0, 1, 1]], dtype=float)
PRIORS = {"alpha0": 0.5, "beta0": 0.7, "gamma0": 0.8}


@pytest.fixture(name="model", scope="module")
def _model():
    return fz.BinaryICA(2, **PRIORS, random_state=0).fit(TABLE)


def value_probability(x, p):
    return p if x == 1 else 1 - p


def densities(parameters, w, b):
    """Log density of weights and components."""
    alpha, beta, gamma = parameters
    rows = np.broadcast_to(gamma, w.shape)
    total = sum(stats.dirichlet(g).logpdf(x) for g, x in zip(rows, w, strict=True))
    return total + stats.beta(alpha, beta).logpdf(b).sum()


def slow_chain(model, base, n_steps, rng):
    """Log weight of a chain: every density, cell and draw on its own."""
    start = (model.alpha_, model.beta_, model.gamma_)
    prior = tuple(
        np.full(part.shape, value) for part, value in zip(start, PRIORS.values(), strict=True)
    )
    rows, ones, zeros = np.zeros((4, 2)), np.zeros((2, 3)), np.zeros((2, 3))
    total = 0.0
    for step in range(n_steps):
        before, after = step / n_steps, (step + 1) / n_steps
        alpha, beta, gamma = (
            (1 - before) * q + before * p for q, p in zip(start, prior, strict=True)
        )
        w = rng.standard_gamma(gamma + rows)
        w /= w.sum(axis=1, keepdims=True)
        b = rng.beta(alpha + ones, beta + zeros)
        total += (after - before) * (densities(prior, w, b) - densities(start, w, b))
        rows, ones, zeros = 0 * rows, 0 * ones, 0 * zeros
        uniforms = rng.random(TABLE.shape)
        for n, t in zip(*np.nonzero(~np.isnan(TABLE)), strict=True):
            x = TABLE[n, t]
            made = w[n] * value_probability(x, b[:, t])
            column = value_probability(x, base[t])
            total += np.log((1 - after) * column + after * made.sum())
            total -= np.log((1 - before) * column + before * made.sum())
            # The components first, then the column.
            edges = np.cumsum([*(after * made), (1 - after) * column])
            cause = np.searchsorted(edges, uniforms[n, t] * edges[-1], side="right")
            if cause < 2:
                rows[n, cause] += 1
                (ones if x == 1 else zeros)[cause, t] += 1
    return total


@pytest.mark.parametrize("n_chains", [1, 3])
def test_every_chain_is_its_slow_twin(model, n_chains):
    found = log_evidence(model, TABLE, n_chains=n_chains, n_steps=7, random_state=5)
    base = (np.nansum(TABLE, axis=0) + 0.5) / ((~np.isnan(TABLE)).sum(axis=0) + 1)
    cells = zip(*np.nonzero(~np.isnan(TABLE)), strict=True)
    known = sum(np.log(value_probability(TABLE[n, t], base[t])) for n, t in cells)
    seeds = spawn_seeds(5, n_chains)
    chains = [known + slow_chain(model, base, 7, np.random.default_rng(seed)) for seed in seeds]
    np.testing.assert_allclose(found.chains, chains, rtol=1e-10)
    assert found.value == pytest.approx(logsumexp(chains) - np.log(n_chains))
    if n_chains == 1:
        assert found.error == np.inf
    else:
        shares = np.exp(np.array(chains) - found.value)
        assert found.error == pytest.approx(shares.std(ddof=1) / np.sqrt(n_chains))


def test_sparse_tables_are_coded_alike(model):
    stored = sparse.csr_array(np.nan_to_num(TABLE, nan=7.0))
    stored.data[stored.data == 7] = np.nan
    options = {"n_chains": 2, "n_steps": 3, "random_state": 0}
    np.testing.assert_array_equal(
        log_evidence(model, stored, **options).chains, log_evidence(model, TABLE, **options).chains
    )
