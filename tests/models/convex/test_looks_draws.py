"""Posterior draws of repeated looks, and row weights that depend on what is known of the rows."""

from itertools import pairwise

import numpy as np
import pytest
from tests.reference.looks import dirichlet_log_density, enumerated_posterior

import falsezero as fz
from falsezero.data.errors import DataError
from falsezero.inference.chains import sample
from falsezero.inference.contract import Point
from falsezero.kernels.soft_draws import draw_curvature
from falsezero.models.convex.looks_gibbs import LooksGibbs
from falsezero.models.convex.row_prior import RowRegression, expected_logs

NAN = np.nan


def test_draws_of_presence_have_the_enumerated_posterior():
    """One column, known detection: the content is integrated out by writing out every z."""
    values = np.array([[[1.0], [0.0]], [[0.0], [0.0]], [[0.0], [NAN]], [[0.0], [0.0]]])
    model = fz.RepeatedLooks(1, detection=0.4, random_state=0).fit(values)
    blocks = model._blocks(values, reset=False)
    steps = LooksGibbs(
        model._steps(blocks),
        Point(model.state_, model._settled(blocks)),
        np.array([0.5, 0.5, 0.5]),
        learns_shapes=False,
    )
    [chain] = sample(
        steps, blocks, [np.random.SeedSequence(0)], warmup=100, draws=6000,
        record=lambda point: point.state.drawn.ones[0, 0],
    )  # fmt: skip
    ones, tries = np.array([1, 0, 0, 0]), np.array([2, 2, 1, 2])
    miss = np.where(ones > 0, 1.0, 0.6**tries)
    content = np.array(chain.draws)[:, None]
    present = np.where(ones > 0, 1.0, content * miss / (content * miss + 1 - content)).mean(axis=0)
    exact = enumerated_posterior(ones, tries, 0.4, 0.5, 0.5)
    np.testing.assert_allclose(present, exact, atol=0.02)


@pytest.mark.parametrize("n_looks", [1.0, 7.0, 300.0])
def test_curvatures_have_the_moments_of_polya_gamma(n_looks):
    rng = np.random.default_rng(0)
    drawn = np.array([draw_curvature(n_looks, 1.7, rng) for _ in range(20000)])
    mean = n_looks * np.tanh(0.85) / 3.4
    variance = n_looks * (np.sinh(1.7) - 1.7) / (4 * 1.7**3 * np.cosh(0.85) ** 2)
    assert drawn.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / 20000))
    assert drawn.var() == pytest.approx(variance, rel=0.06)
    assert draw_curvature(0.0, 1.7, rng) == 0


SETTINGS = {
    "columns": ({}, {}),
    "rows too": ({"row_effect": 1.0}, {"row_effects": True}),
    "cells differ": ({"heterogeneity": 1.5}, {"heterogeneity": "learn"}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_intervals_hold_what_they_promise(name):
    """Intervals of fifty and ninety per cent hold the truth about that often."""
    drawn, options = SETTINGS[name]
    made = fz.datasets.make_looks(150, 40, 3, 2, shape=(0.6, 0.6), random_state=1, **drawn)
    model = fz.RepeatedLooks(2, inference="gibbs", n_draws=60, random_state=0, **options)
    model.fit(made.looks)
    occupied = made.present.sum(axis=0)
    share = {}
    for level in (0.5, 0.9):
        table = model.intervals(made.looks, level=level)
        share[level] = (
            (table["occupied_low"] <= occupied) & (occupied <= table["occupied_high"])
        ).mean()
    assert 0.35 <= share[0.5] <= 0.8
    assert share[0.9] >= 0.75
    zero = made.looks.counts[0] == 0
    present = model.present(made.looks).to_numpy()[zero]
    assert present.mean() == pytest.approx(made.present[zero].mean(), rel=0.25)
    assert np.corrcoef(model.detection_, made.detection)[0, 1] > 0.85


def test_variational_fits_are_surer_of_absences_than_draws():
    made = fz.datasets.make_looks(200, 40, 3, 3, shape=(0.6, 0.6), random_state=3)
    zero = made.looks.counts[0] == 0
    means = {}
    for inference in ("vb", "gibbs"):
        model = fz.RepeatedLooks(3, inference=inference, n_draws=60, random_state=0)
        means[inference] = model.fit(made.looks).present(made.looks).to_numpy()[zero].mean()
    truth = made.present[zero].mean()
    assert means["vb"] < means["gibbs"]
    assert abs(means["gibbs"] - truth) < abs(means["vb"] - truth)


def test_draws_are_the_same_again_and_on_threads():
    looks = fz.datasets.make_looks(60, 10, 3, 2, random_state=0).looks
    options = {"inference": "gibbs", "n_draws": 10, "row_effects": True, "random_state": 0}
    one = fz.RepeatedLooks(2, **options).fit(looks)
    two = fz.RepeatedLooks(2, n_jobs=2, **options).fit(looks)
    np.testing.assert_array_equal(one.detection_draws_, two.detection_draws_)
    np.testing.assert_array_equal(one.present(looks).to_numpy(), two.present(looks).to_numpy())
    assert one.misses(3).shape == (4, 10)
    assert (np.diff(one.misses(3), axis=0) < 0).all()


# -- what is known of the rows ------------------------------------------------------------------


def regressed(seed=0, n_rows=240, n_columns=30, unvisited=40):
    """Looks whose row weights follow a variable; the last rows were never visited."""
    rng = np.random.default_rng(seed)
    height = rng.normal(size=n_rows)
    m = np.exp(np.outer(height, [2.5, 0.0, -2.5]))
    weights = np.array([rng.dirichlet(4 * row / row.sum()) for row in m])
    content = weights @ rng.beta(0.4, 0.6, size=(3, n_columns))
    present = rng.random(content.shape) < content
    rates = rng.uniform(0.3, 0.8, n_columns)
    values = (rng.random((n_rows, 3, n_columns)) < (present * rates)[:, None]).astype(float)
    values[n_rows - unvisited :] = NAN
    return values, {"height": height}, content


def test_gradient_and_information_of_row_coefficients():
    """The gradient by differences of the slow twin; the information is that of drawn weights."""
    rng = np.random.default_rng(0)
    variables = np.column_stack([np.ones(7), rng.normal(size=(7, 2))])
    counts = rng.uniform(0.3, 5, size=(7, 3))
    regression = RowRegression(3, 3, gamma0=0.7)
    prior = regression.start()._replace(coefficients=0.3 * rng.normal(size=(3, 3)))
    vector, logs = regression.statistics(prior, variables, counts), expected_logs(counts)

    def twin(coefficients):
        return dirichlet_log_density(coefficients, 2.1, variables, logs)

    assert vector[0] == pytest.approx(twin(prior.coefficients))
    slope = vector[6:15].reshape(3, 3)
    for at in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[at] = 1e-5
        by_difference = (twin(prior.coefficients + step) - twin(prior.coefficients - step)) / 2e-5
        assert slope[at] == pytest.approx(by_difference, rel=1e-5, abs=1e-6)
    scores = []
    for _ in range(4000):
        drawn = np.log(np.maximum([rng.dirichlet(a) for a in prior.counts(variables)], 1e-300))
        alpha, m = prior.counts(variables), prior.mean(variables)
        g = drawn - np.array([[_digamma(a) for a in row] for row in alpha]) + _digamma(2.1)
        scores.append((variables.T @ (alpha * (g - (m * g).sum(axis=1, keepdims=True)))).ravel())
    information = vector[15:].reshape(9, 9)
    spread = np.cov(np.array(scores).T)
    np.testing.assert_allclose(spread, information, atol=0.1 * np.diag(information).max())


def _digamma(x):
    from scipy.special import digamma

    return digamma(x)


@pytest.mark.parametrize("acceleration", ["squarem", None])
def test_the_objective_never_falls_with_row_variables(acceleration):
    values, known, _ = regressed(n_rows=60, n_columns=10, unvisited=5)
    model = fz.RepeatedLooks(3, random_state=0, max_iter=60, tol=0, acceleration=acceleration)
    with pytest.warns(UserWarning, match="did not settle"):
        model.fit(fz.Looks(values, row_variables=known))
    for before, after in pairwise(model.history_):
        assert after["objective"] >= before["objective"] - 1e-8 * abs(before["objective"])


@pytest.mark.parametrize("inference", ["vb", "gibbs"])
def test_rows_never_visited_get_predictions(inference, tmp_path):
    values, known, content = regressed()
    looks, nameless = fz.Looks(values, row_variables=known), fz.Looks(values)
    options = {"inference": inference, "n_draws": 40, "tol": 1e-5, "random_state": 0}
    model = fz.RepeatedLooks(3, **options).fit(looks)
    blank = model.present(looks).to_numpy()[-40:]
    alike = fz.RepeatedLooks(3, **options).fit(nameless).present(nameless).to_numpy()[-40:]
    error, without = (np.sqrt(((p - content[-40:]) ** 2).mean()) for p in (blank, alike))
    assert error < 0.75 * without
    fz.save(model, tmp_path / "model.fz")
    back = fz.load(tmp_path / "model.fz")
    np.testing.assert_array_equal(back.present(looks).to_numpy(), model.present(looks).to_numpy())
    np.testing.assert_array_equal(back.row_coefficients_, model.row_coefficients_)
    with pytest.raises(DataError, match="The rows have no variable 'height'"):
        model.present(nameless)


def test_a_variable_that_says_nothing_changes_little():
    values, known, _ = regressed(n_rows=100, unvisited=0)
    noise = {"noise": np.random.default_rng(1).normal(size=100)}
    plain = fz.RepeatedLooks(3, random_state=0, tol=1e-6).fit(values)
    noisy, telling = (
        fz.RepeatedLooks(3, random_state=0, tol=1e-6).fit(fz.Looks(values, row_variables=given))
        for given in (noise, known)
    )
    assert np.abs(noisy.row_coefficients_[1:]).max() < 0.5
    assert np.abs(telling.row_coefficients_[1:]).max() > 1.0
    assert noisy.objective_ < telling.objective_ - 20
    ignored = fz.RepeatedLooks(3, row_variables=[], random_state=0, tol=1e-6)
    ignored.fit(fz.Looks(values, row_variables=known))
    assert ignored.objective_ == plain.objective_
