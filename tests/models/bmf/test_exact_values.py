"""Formulas of binary matrix factorization on small tables, against scipy or by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from falsezero.models.bmf import likelihoods
from falsezero.models.bmf.likelihoods import LIKELIHOODS, GammaProposal, NormalProposal
from falsezero.models.bmf.sampler import (
    Model,
    _slice_draw,
    _with_concentration,
    draw_prior,
    with_log_joint,
)
from falsezero.models.bmf.split_merge import _log_picks, _prior_gain
from falsezero.models.bmf.state import Cells, Features, Priors, State, gamma_log_density

GAUSSIAN, LOGISTIC, POISSON = (LIKELIHOODS[name] for name in ("gaussian", "logistic", "poisson"))
TABLE = np.array([[1.0, 0.0, np.nan], [3.0, 2.0, 1.0]])
PREDICTOR = np.array([[0.4, -1.2, 5.0], [0.9, 2.1, -0.3]])


class Unmoved:
    """Draws that are their own shape or zero, and a note of what was asked for."""

    def standard_gamma(self, shape):
        return shape

    def standard_normal(self, size):
        return np.full(size, 2.0)

    def standard_exponential(self, size):
        return np.ones(size)

    def random(self, size=None):
        return np.full(size, np.exp(-1.0))


def test_cells_know_what_was_observed():
    cells = Cells.of(TABLE)
    np.testing.assert_array_equal(cells.values, [[1, 0, 0], [3, 2, 1]])
    np.testing.assert_array_equal(cells.observed, [[1, 1, 0], [1, 1, 1]])
    assert not cells.complete
    assert Cells.of(np.ones((2, 2))).complete
    assert cells.missing.tolist() == [2]
    assert cells.n_observed == 5
    np.testing.assert_allclose(cells.log_factorials, np.log([[1, 1, 1], [6, 2, 1]]), atol=1e-12)
    np.testing.assert_array_equal(cells.flipped.values, cells.values.T)
    np.testing.assert_array_equal(cells.flipped.observed, cells.observed.T)


def test_likelihoods_of_cells_are_those_of_scipy():
    cells, seen = Cells.of(TABLE), ~np.isnan(TABLE)
    values = np.nan_to_num(TABLE)
    normal = stats.norm.logpdf(values, PREDICTOR, 1 / np.sqrt(1.7))
    found = GAUSSIAN.log_likelihood(cells, PREDICTOR, 1.7)
    np.testing.assert_allclose(found, np.where(seen, normal, 0))
    rate = np.abs(PREDICTOR)
    found = POISSON.log_likelihood(cells, rate, 1.0)
    np.testing.assert_allclose(found, np.where(seen, stats.poisson.logpmf(values, rate), 0))
    binary = Cells.of(np.array([[1.0, 0.0, np.nan], [0.0, 1.0, 1.0]]))
    found = LOGISTIC.log_likelihood(binary, PREDICTOR, 1.0)
    bernoulli = stats.bernoulli.logpmf(binary.values, expit(PREDICTOR))
    np.testing.assert_allclose(found, np.where(binary.observed > 0, bernoulli, 0))
    np.testing.assert_allclose(LOGISTIC.mean(PREDICTOR), expit(PREDICTOR))
    assert GAUSSIAN.mean(PREDICTOR) is PREDICTOR
    assert POISSON.mean(PREDICTOR) is PREDICTOR


def test_priors_of_weights_are_densities():
    weights = np.array([[0.4, 1.2], [0.1, 2.0]])
    normal = stats.norm.logpdf(weights, 0, 1 / np.sqrt(1.7)).sum()
    for likelihood in (GAUSSIAN, LOGISTIC):
        assert likelihood.weight_log_prior(weights, 1.7) == pytest.approx(normal)
        drawn = likelihood.prior_weights((2, 3), 4.0, Unmoved())
        np.testing.assert_array_equal(drawn, np.full((2, 3), 1.0))
    exponential = stats.expon.logpdf(weights, scale=1 / 1.7).sum()
    assert POISSON.weight_log_prior(weights, 1.7) == pytest.approx(exponential)
    np.testing.assert_array_equal(
        POISSON.prior_weights((2, 3), 4.0, Unmoved()), np.full((2, 3), 0.25)
    )
    assert gamma_log_density(0.7, (2.5, 1.3)) == pytest.approx(
        stats.gamma(2.5, scale=1 / 1.3).logpdf(0.7)
    )


def test_scales_and_precisions_have_conjugate_posteriors():
    """A gamma drawn as its own shape leaves shape / rate."""
    weights, prior = np.array([[0.4, 1.2], [0.1, 2.0]]), (2.5, 1.3)
    squares = (weights**2).sum()
    expected = (2.5 + 4 / 2) / (1.3 + squares / 2)
    assert GAUSSIAN.draw_scale(weights, prior, Unmoved()) == pytest.approx(expected)
    expected = (2.5 + 4) / (1.3 + weights.sum())
    assert POISSON.draw_scale(weights, prior, Unmoved()) == pytest.approx(expected)
    cells = Cells.of(TABLE)
    state = SimpleNamespace(predictor=lambda: PREDICTOR)
    error = np.nansum((TABLE - PREDICTOR) ** 2)
    expected = (2.5 + 5 / 2) / (1.3 + error / 2)
    assert GAUSSIAN.draw_precision(state, cells, prior, Unmoved()) == pytest.approx(expected)
    for likelihood in (LOGISTIC, POISSON):
        assert likelihood.draw_precision(state, cells, prior, Unmoved()) == 1
        assert likelihood.completed(state, cells, None) is cells
    noisy = GAUSSIAN.simulate(PREDICTOR, 4.0, Unmoved())
    np.testing.assert_allclose(noisy, PREDICTOR + 2.0 / 2)


def test_weights_of_counts_are_gammas_of_what_they_were_dealt(monkeypatch):
    dealt = np.array([[4.0, 0.0], [2.0, 1.0]])
    monkeypatch.setattr(likelihoods, "deal_counts", lambda *_: dealt)
    rows = Features(np.array([[1, 1], [1, 0]], np.uint8), 1, 0, 1.0)
    columns = Features(np.array([[1, 0], [1, 1], [1, 1]], np.uint8), 1, 0, 1.0)
    state = State(rows, columns, np.ones((2, 2)), 0.7, 1.0)
    found = POISSON.draw_weights(state, Cells.of(TABLE), Unmoved())
    # Observed cells of each pair of features: rows 2 and 3, columns 1 and 2 of it.
    np.testing.assert_allclose(found, (1 + dealt) / (0.7 + np.array([[5, 3], [2, 1]])))


def test_missing_cells_of_a_real_table_are_drawn():
    state = SimpleNamespace(predictor=lambda: PREDICTOR, precision=4.0)
    whole = GAUSSIAN.completed(state, Cells.of(TABLE), Unmoved())
    np.testing.assert_allclose(whole.values, [[1, 0, 5.0 + 2.0 / 2], [3, 2, 1]])
    assert whole.complete
    assert GAUSSIAN.completed(state, whole, None) is whole


def test_proposals_are_the_densities_they_say():
    rng = np.random.default_rng(0)
    root, linear = rng.normal(size=(4, 4)), rng.normal(size=(2, 2))
    precision = root @ root.T + np.eye(4)
    normal = NormalProposal(precision, linear)
    covariance = np.linalg.inv(precision)
    mean = covariance @ linear.ravel()
    at = rng.normal(size=(2, 2))
    expected = stats.multivariate_normal(mean, covariance).logpdf(at.ravel())
    assert normal.log_density(at) == pytest.approx(expected)
    draws = np.array([normal.draw(rng).ravel() for _ in range(4000)])
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.06)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.06)
    shape, rate = rng.uniform(1, 3, (2, 2)), rng.uniform(1, 3, (2, 2))
    gamma = GammaProposal(shape, rate)
    at = np.abs(at)
    assert gamma.log_density(at) == pytest.approx(
        stats.gamma(shape, scale=1 / rate).logpdf(at).sum()
    )
    np.testing.assert_allclose(gamma.mean, shape / rate)
    np.testing.assert_allclose(gamma.draw(Unmoved()), shape / rate)


def test_concentrations_have_conjugate_posteriors():
    on = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1]], dtype=np.uint8)
    buffet = Features(on, 1, 0, 0.8)
    found = _with_concentration(buffet, (2.5, 1.3), Unmoved()).concentration
    assert found == pytest.approx((2.5 + 2) / (1.3 + 1 + 1 / 2 + 1 / 3))
    found = _with_concentration(buffet._replace(beta=3.0), (2.5, 1.3), Unmoved()).concentration
    assert found == pytest.approx((2.5 + 2) / (1.3 + 1 / 3 + 1 / 4 + 1 / 5))


def test_a_slice_steps_out_and_shrinks():
    """Uniforms given one by one: a triangle of height zero at the start, level -1."""
    given = iter([0.25, 0.9, 0.1, 0.5])
    rng = SimpleNamespace(random=lambda: next(given), standard_exponential=lambda: 1.0)
    # First from -0.5 to 1.5; the low end is inside and steps out to -2.5, beyond the level. Then
    # 1.1 is refused and the new high end, -2.14 the new low end, and their middle is taken.
    drawn = _slice_draw(lambda x: -abs(x), 0.0, rng)
    assert drawn == pytest.approx((1.1 + (-2.5 + 0.1 * 3.6)) / 2)


def test_the_log_joint_has_a_term_for_everything():
    rows = Features(np.array([[1, 1], [1, 0]], dtype=np.uint8), 1, 0, 0.8)
    columns = Features(np.array([[1, 0], [1, 1], [1, 1]], dtype=np.uint8), 1, 2, 1.4)
    weights = np.array([[0.3, -0.8], [1.1, 0.2]])
    state, cells = State(rows, columns, weights, 1.7, 2.2), Cells.of(TABLE)
    priors = Priors((1.1, 1.2), (1.3, 1.4), (1.5, 1.6), (1.7, 1.8))
    total = GAUSSIAN.log_likelihood(cells, state.predictor(), 2.2).sum()
    for number, prior in zip((0.8, 1.4, 1.7, 2.2), vars(priors).values(), strict=True):
        total += gamma_log_density(number, prior)
    total += GAUSSIAN.weight_log_prior(weights, 1.7)
    # One dish of one of two customers; two features of which one is had by two of three.
    total += np.log(0.8) + np.log(1 / 2) - 0.8 * 1.5
    mass = 1.4 / 2
    p = stats.betabinom(3, mass, 1)
    total += p.logpmf(2) - np.log(3)
    columns = columns._replace(finite=1, concentration=0.7)
    again = state._replace(columns=columns)
    one = with_log_joint(again, cells, Model(GAUSSIAN, None, None, priors=priors)).log_joint
    total += gamma_log_density(0.7, (1.3, 1.4)) - gamma_log_density(1.4, (1.3, 1.4))
    assert one == pytest.approx(total)


def test_prior_draws_have_shape_over_rate():
    fixed = np.ones((3, 1), dtype=np.uint8), np.ones((2, 1), dtype=np.uint8)
    priors = Priors((2.0, 4.0), (3.0, 4.0), (5.0, 4.0), (7.0, 4.0))
    rng = np.random.default_rng(0)
    states = [draw_prior(Model(GAUSSIAN, *fixed, 2, 1, priors), rng) for _ in range(2000)]
    assert all(s.weights.shape == (3, 2) for s in states)
    means = [np.mean([x(s) for s in states]) for x in (
        lambda s: s.rows.concentration, lambda s: s.columns.concentration,
        lambda s: s.weight_scale, lambda s: s.precision,
    )]  # fmt: skip
    np.testing.assert_allclose(means, [0.5, 0.75, 1.25, 1.75], rtol=0.06)


# -- splits and merges ----------------------------------------------------------------------------


def test_a_split_gains_the_prior_of_its_parts():
    on = np.array([[1], [1], [1], [0], [1]], dtype=np.uint8)
    choice = np.array([0, 1, 2, 0])
    buffet = Features(on, 0, 0, 0.8)
    # Three rows keep the first part and two the second: (0, 2, 0) and (1, 2).
    one = buffet.column_log_prior(np.array([3.0, 2.0])).sum()
    expected = one - buffet.column_log_prior(np.array([4.0])).sum()
    assert _prior_gain(buffet, choice) == pytest.approx(expected)
    finite = Features(np.hstack([on, 0 * on]), 0, 2, 0.8)
    one = finite.column_log_prior(np.array([3.0, 2.0])).sum()
    expected = one - finite.column_log_prior(np.array([4.0, 0.0])).sum()
    assert _prior_gain(finite, choice) == pytest.approx(expected)


def test_picks_count_the_features_of_both_rows():
    on = np.array([[1, 1, 1], [1, 0, 1], [1, 0, 0]], dtype=np.uint8)
    rows = Features(on, 1, 0, 1.0)
    found = _log_picks(rows, np.array([0, 1]), np.array([1, 0]))
    assert found == pytest.approx(np.log(3 / 2) + np.log(1 / 1))
