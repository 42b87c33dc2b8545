"""What draws of binary matrix factorization say about rows: probabilities that add up."""

from itertools import product

import numpy as np
import pytest

from falsezero import BinaryMatrixFactorization
from falsezero.models.bmf.likelihoods import LIKELIHOODS
from falsezero.models.bmf.predict import Draw, feature_prior, new_row_log_density
from falsezero.models.bmf.state import Cells

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def drawn(k=3, n=10, m=5, seed=0):
    rng = np.random.default_rng(seed)
    on = (rng.random((n, k)) < 0.4).astype(np.uint8)
    on[:, 0] = 1
    columns = (rng.random((m, 2)) < 0.6).astype(np.uint8)
    weights = rng.normal(size=(k, 2))
    return Draw(0, on, columns, weights, 1.5, 1.0, 1.0, 2.0, 0.0, 0.0)


def all_rows(m):
    return np.array(list(product([0.0, 1.0], repeat=m)))


def test_the_prior_of_a_new_row_is_that_of_the_next_customer():
    draw = drawn(k=3, n=10)
    on = draw.row_features.sum(axis=0)
    buffet = feature_prior(draw, 1, 0)
    np.testing.assert_allclose(buffet, [1.0, on[1] / 11, on[2] / 11], rtol=1e-12)
    finite = feature_prior(draw, 0, 3)
    np.testing.assert_allclose(finite, (on + 0.5) / (10 + 1 + 0.5), rtol=1e-12)


@pytest.mark.parametrize("n_features", [3, 14])
def test_densities_of_new_rows_add_up_to_one(n_features):
    draw = drawn(k=n_features, m=4)
    prior = feature_prior(draw, 1, 0)
    log_p = new_row_log_density(draw, Cells.of(all_rows(4)), LIKELIHOODS["logistic"], prior)
    # Fourteen features are sampled, not enumerated.
    assert np.exp(log_p).sum() == pytest.approx(1, abs=1e-9 if n_features == 3 else 0.05)


def test_sampled_densities_are_those_of_enumeration(monkeypatch):
    draw, rows = drawn(k=6, m=4), Cells.of(all_rows(4))
    prior = feature_prior(draw, 1, 0)
    exact = new_row_log_density(draw, rows, LIKELIHOODS["logistic"], prior)
    monkeypatch.setattr("falsezero.models.bmf.predict._ENUMERABLE", 2)
    sampled = new_row_log_density(draw, rows, LIKELIHOODS["logistic"], prior)
    np.testing.assert_allclose(sampled, exact, atol=0.15)
    assert not np.array_equal(sampled, exact)


def test_scores_of_a_fit_are_a_density():
    rng = np.random.default_rng(0)
    table = (rng.random((12, 4)) < 0.5).astype(float)
    table[:6, :2], table[6:, 2:] = 1, 0
    model = BinaryMatrixFactorization(n_chains=2, warmup=30, n_draws=20, random_state=0).fit(table)
    assert np.exp(model.score_samples(all_rows(4))).sum() == pytest.approx(1, abs=1e-9)
    part = np.where(np.arange(4) < 2, all_rows(4), np.nan)[[0, 4, 8, 12]]
    assert np.exp(model.score_samples(part)).sum() == pytest.approx(1, abs=1e-9)


def test_a_gaussian_score_is_a_density_in_the_units_of_the_table():
    rng = np.random.default_rng(1)
    table = rng.normal(50, 10, (20, 1)) + np.array([[0.0, 20.0]])
    model = BinaryMatrixFactorization(
        likelihood="gaussian", n_chains=1, warmup=30, n_draws=20, random_state=0
    ).fit(table)
    grid = np.arange(-60, 190, 1.0)
    rows = np.stack([grid, np.full(len(grid), np.nan)], axis=1)
    assert np.exp(model.score_samples(rows)).sum() == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("size", [1e155, 1e-155, 1e300])
def test_numbers_of_any_size_are_the_same_numbers_in_other_units(size):
    rng = np.random.default_rng(2)
    table = rng.normal(size=(15, 6)) + np.outer(np.arange(15) < 7, np.arange(6) < 3) * 4.0
    options = {"likelihood": "gaussian", "n_chains": 1, "warmup": 20, "n_draws": 10}
    plain, large = (
        BinaryMatrixFactorization(**options, random_state=0).fit(table * unit)
        for unit in (1.0, size)
    )
    np.testing.assert_allclose(large.posterior_predict() / size, plain.posterior_predict())
    shifted = plain.score_samples(table) - 6 * np.log(size)
    np.testing.assert_allclose(large.score_samples(table * size), shifted, rtol=1e-6)


def test_a_shifted_table_is_expected_where_it_was_shifted_to():
    """`keep` of all features gives cells in the table's own units, not in those of the fit."""
    rng = np.random.default_rng(3)
    table = 50 + rng.normal(size=(20, 6)) + np.outer(np.arange(20) < 9, np.arange(6) < 3) * 6.0
    options = {"likelihood": "gaussian", "n_chains": 1, "warmup": 30, "n_draws": 5}
    model = BinaryMatrixFactorization(**options, random_state=0).fit(table)
    every = model.reconstruct(table, keep=np.ones(model.components_.shape[0]))
    assert np.abs(every - table).mean() < 3
