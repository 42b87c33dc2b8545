"""Rows of binary ICA with several optima: the fit ends where restarts cannot improve it."""

import itertools

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from falsezero import BinaryICA
from falsezero.backends import map_blocks
from falsezero.datasets import make_aspect_bernoulli
from falsezero.inference.accelerate import squarem
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer, exhaust
from falsezero.inference.monitor import Monitor
from falsezero.kernels import row_bayes


def made(seed, concentration=0.05, shape=(120, 25)):
    return make_aspect_bernoulli(
        *shape, 3, concentration=concentration, shape=(0.5, 0.5), random_state=seed
    ).table.to_numpy()


def restarted_evidence(model, X):
    """The bound after the rows were iterated from equal weights, by steps over all rows."""
    blocks = model._blocks(X, reset=False)
    steps = model._variational(blocks, is_sparse=False)
    k = model.n_components
    sources = steps.sources(model.alpha_ - model.alpha0, model.beta_ - model.beta0)
    point = Point(sources, steps.rows(np.full((len(X), k), 1 / k), blocks))
    advance = advancer(steps, blocks, map_blocks, frozen=True)
    monitor = Monitor(max_iter=2000, tol=1e-10)
    return exhaust(squarem(steps, advance, point, frozen=True), advance, monitor).objective


@pytest.mark.parametrize("gamma0", [0.1, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_restarted_rows_do_not_improve_the_evidence(gamma0, seed):
    X = made(seed, concentration=(0.05, 0.5)[seed % 2])
    model = BinaryICA(4, gamma0=gamma0, random_state=seed).fit(X)
    gain = restarted_evidence(model, X) - model.evidence_
    assert gain <= 1e-6 * abs(model.evidence_)
    if gamma0 == 1:
        assert gain >= -1e-6 * abs(model.evidence_)
    np.testing.assert_allclose(model.transform(X), model.row_weights_, atol=1e-6)


def test_restarts_gain_evidence_where_the_prior_is_below_one():
    X = made(0)
    model = BinaryICA(3, gamma0=0.1, random_state=0).fit(X)
    restarts = [row for row in model.history_ if row["what"] == "rows restarted"]
    first = next(row for row in model.history_ if row["what"] == "final")
    assert restarts
    assert model.evidence_ > first["objective"] + 20
    objectives = [row["objective"] for row in model.history_]
    assert (np.diff(objectives) >= -1e-9 * abs(objectives[0])).all()


def row_bound(counts, prior, factors):
    """A row's share of eq. B.1, written out."""
    log_a = digamma(counts) - digamma(counts.sum())
    k = len(counts)
    divergence = gammaln(counts.sum()) - gammaln(counts).sum() + (counts - prior) @ log_a
    divergence -= gammaln(k * prior) - k * gammaln(prior)
    return np.log(np.exp(log_a) @ factors).sum() - divergence


@pytest.mark.parametrize("prior", [0.1, 0.5, 1.0, 3.0])
def test_a_settled_row_is_the_best_point_of_a_grid(prior):
    rng = np.random.default_rng(3)
    ones, zeros = rng.beta(0.5, 0.5, (2, 3, 12)).clip(0.01)
    codes = (rng.random((6, 12)) < 0.5).astype(np.uint8)
    codes[:, 0] = 2
    start = np.full((6, 3), prior + 11 / 3)
    counts = start.copy()
    bounds = row_bayes.settle_dense(codes, ones, zeros, counts, prior, 1e-12, prior < 1, 1e-10)
    steps = np.linspace(0, 11, 23)
    grid = [(a, b, 11 - a - b) for a, b in itertools.product(steps, steps) if a + b <= 11]
    for row, found, bound in zip(codes, counts, bounds, strict=True):
        factors = np.where(row == 1, ones, zeros)[:, row < 2]
        assert row_bound(found, prior, factors) == pytest.approx(bound, rel=1e-10)
        assert found.sum() == pytest.approx(3 * prior + 11)
        best = max(row_bound(prior + np.array(cells), prior, factors) for cells in grid)
        assert bound >= best


def test_digamma_is_that_of_scipy():
    for x in (1e-3, 0.1, 0.5, 1.0, 7.3, 250.0):
        assert row_bayes.digamma(x) == pytest.approx(digamma(x), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_superfluous_components_die_where_the_prior_lets_them(seed):
    X = made(seed, shape=(150, 30))
    for gamma0 in (0.1, 0.2):
        model = BinaryICA(6, gamma0=gamma0, prune=True, n_init=3, random_state=0).fit(X)
        np.testing.assert_array_equal(model.extinct_, [3, 4, 5])
    # A Dirichlet(1) prior wants every component in every row.
    model = BinaryICA(6, gamma0=1.0, prune=True, n_init=3, random_state=0).fit(X)
    assert len(model.extinct_) == 0
