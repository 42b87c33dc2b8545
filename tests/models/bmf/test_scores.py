"""What draws of binary matrix factorization say about rows: probabilities that add up."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from falsezero import BinaryMatrixFactorization
from falsezero.models.bmf import predict
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
    np.testing.assert_allclose(feature_prior(draw, 1, 0, 2.5)[1:], on[1:] / 12.5, rtol=1e-12)


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


def test_a_feature_that_no_row_has_might_be_had_by_the_next():
    draw = drawn(k=3, n=10)
    draw.row_features[:, 2] = 0
    assert feature_prior(draw, 1, 0)[2] == pytest.approx(0.5 / 11)
    # In the finite model alpha / K counts, where it is more.
    large = draw._replace(row_concentration=2.4)
    assert feature_prior(large, 1, 3)[2] == pytest.approx(0.8 / (11 + 0.8))
    assert feature_prior(draw._replace(row_concentration=0.3), 1, 3)[2] == pytest.approx(0.5 / 11.1)


def test_patterns_are_enumerated_in_pieces_and_up_to_a_limit(monkeypatch):
    draw, rows = drawn(k=4, m=4), Cells.of(all_rows(4))
    prior, logistic = feature_prior(draw, 1, 0), LIKELIHOODS["logistic"]
    whole = new_row_log_density(draw, rows, logistic, prior)
    for terms in (1, 64 * 3):
        monkeypatch.setattr(predict, "_TERMS", terms)
        np.testing.assert_allclose(new_row_log_density(draw, rows, logistic, prior), whole)
    for limit, is_exact in ((3, True), (2, False)):
        monkeypatch.setattr(predict, "_ENUMERABLE", limit)
        found = new_row_log_density(draw, rows, logistic, prior)
        assert np.allclose(found, whole, atol=1e-12) is is_exact


def test_sampled_densities_weigh_patterns_by_prior_and_proposal():
    """The same uniforms, pattern by pattern."""
    draw, rows = drawn(k=4, m=4), np.array([[1.0, 0, np.nan, 1], [0, 0, 1, 1]])
    prior, logistic = feature_prior(draw, 1, 0), LIKELIHOODS["logistic"]
    share, _ = predict.new_row_features(draw, Cells.of(rows), logistic, prior)
    uniforms = np.random.default_rng(1).random((2000, 4))
    expected = []
    for row, own in zip(rows, share, strict=True):
        chance = 0.8 * own + 0.2 * prior
        weights = []
        for u in uniforms:
            on = np.where(prior < 1, u < chance, True)
            p = expit(on @ draw.basis)
            value = np.prod(np.where(row == 1, p, 1 - p)[~np.isnan(row)])
            for k in range(1, 4):
                value *= prior[k] if on[k] else 1 - prior[k]
                value /= chance[k] if on[k] else 1 - chance[k]
            weights.append(value)
        expected.append(np.log(np.mean(weights)))
    found = predict._sampled_log_density(draw, Cells.of(rows), logistic, prior)
    np.testing.assert_allclose(found, expected)


def test_the_nearest_draw_is_nearest_in_squares():
    tables = [np.array(t) for t in ([1.0, 0, 0], [-1, 0, 0], [0.6, 0.6, 0.6], [-0.6, -0.6, -0.6])]
    draws = [SimpleNamespace(predictor=lambda t=t: t) for t in tables]
    likelihood = SimpleNamespace(mean=lambda predictor: predictor)
    assert predict.representative(draws, likelihood) == 0
    assert predict.representative(draws[2:] + draws[:2], likelihood) == 2


def test_features_are_matched_by_their_share_of_the_union():
    reference = np.array([[1], [0]])
    both, same = np.array([[1, 1], [1, 0]]), [[1], [0]]
    np.testing.assert_array_equal(predict.aligned_share([both], reference), same)
