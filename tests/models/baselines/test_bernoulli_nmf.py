import numpy as np
import pytest
from tests.models.baselines.common import (
    assert_monotone,
    quietly,
    some_table,
)

from falsezero.analysis.metrics import empirical_bayes
from falsezero.kernels.bernoulli_nmf import tanh_cells
from falsezero.models.baselines.bernoulli_nmf import BernoulliNMF


def log_p(u, one):
    return np.log(np.tanh(u / 2)) if one else np.log(2) - np.logaddexp(0, u)


@pytest.mark.parametrize("one", [True, False])
def test_the_bound_is_below_the_likelihood_and_touches_it(one):
    u = np.logspace(-8, 2.5, 120)[None]
    codes = np.full(u.shape, one, dtype=np.uint8)
    rise, fall = -np.expm1(-u), np.empty_like(u)
    total = tanh_cells(codes, u, rise, fall)
    assert total == pytest.approx(log_p(u, one).sum(), rel=1e-9)
    a, b = rise * u, fall * u
    for r in np.concatenate([np.logspace(-6, 0, 200), np.logspace(0, 3, 200)]):
        bound = log_p(u, one) + a * np.log(r) - b * (r - 1)
        assert (bound <= log_p(u * r, one) + 1e-9 * (1 + np.abs(bound))).all()


def slow_log_likelihood(X, weights, components):
    p = np.tanh(weights @ components / 2)
    return sum(
        np.log(p[i] if X[i] == 1 else 1 - p[i]) for i in np.ndindex(X.shape) if not np.isnan(X[i])
    )


@pytest.mark.parametrize("acceleration", ["squarem", None])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_objective_never_falls(acceleration, missing):
    X = some_table(missing=missing)
    model = quietly(BernoulliNMF(3, random_state=0, acceleration=acceleration, max_iter=200), X)
    assert_monotone(model)
    slow = slow_log_likelihood(X, model.row_weights_, model.components_)
    assert model.log_likelihood_ == pytest.approx(slow, rel=1e-6)


def test_the_fit_is_a_maximum():
    X = some_table(n_rows=12, n_columns=6, missing=0.1)
    model = BernoulliNMF(1, random_state=0, tol=1e-12, max_iter=20000).fit(X)
    rng = np.random.default_rng(0)
    for _ in range(30):
        w = model.row_weights_ * np.exp(rng.normal(0, 0.01, model.row_weights_.shape))
        h = model.components_ * np.exp(rng.normal(0, 0.01, model.components_.shape))
        value = slow_log_likelihood(X, w, h) - model.shrinkage * (w.sum() + h.sum())
        assert value <= model.objective_ + 1e-6


def test_parts_are_found():
    rng = np.random.default_rng(0)
    parts = np.kron(np.eye(3), np.ones(5))
    weights = rng.integers(0, 2, (200, 3)) * 4.0
    X = (rng.random((200, 15)) < np.tanh(weights @ parts / 2)).astype(float)
    model = BernoulliNMF(3, n_init=3, random_state=0).fit(X)
    mean = np.tanh(model.row_weights_ @ model.components_ / 2)
    assert np.abs(mean - np.tanh(weights @ parts / 2)).mean() < 0.05


def test_scores_are_empirical_bayes():
    X = some_table()
    model = quietly(BernoulliNMF(1, random_state=0), X)
    atoms = np.tanh(model.row_weights_ @ model.components_ / 2)
    np.testing.assert_allclose(model.score_samples(X), empirical_bayes(atoms, X), rtol=1e-6)
