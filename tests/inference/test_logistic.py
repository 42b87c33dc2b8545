"""Bounded logistic regression against a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from falsezero.inference.logistic import fit_logistic_bounded


def some_data(n=500, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    x[:, 3] = x[:, 2] + 0.1 * rng.normal(size=n)
    design = np.column_stack([np.ones(n), x])
    hit = (rng.random(n) < expit(design @ [-1.0, 1.0, -0.5, 0.8, 0.0])).astype(float)
    return design, hit, rng.uniform(0.2, 3.0, n)


@pytest.mark.parametrize("bounded", [False, True])
def test_the_minimum_is_that_of_a_general_optimiser(bounded):
    design, hit, weight = some_data()
    penalty = np.diag([1e-6, 0.5, 0.5, 0.5, 0.5])
    centre = np.array([0.0, 0.3, 0.3, 0.3, 0.3])
    least = np.r_[-np.inf, np.zeros(4)] if bounded else None

    def loss(beta):
        eta, away = design @ beta, beta - centre
        value = weight @ (np.logaddexp(0, eta) - hit * eta) + 0.5 * away @ penalty @ away
        return value, design.T @ (weight * (expit(eta) - hit)) + penalty @ away

    bounds = [(None, None)] + [(0, None) if bounded else (None, None)] * 4
    options = {"ftol": 1e-15, "gtol": 1e-9}
    best = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    found = fit_logistic_bounded(design, hit, penalty, weight=weight, centre=centre, least=least)
    np.testing.assert_allclose(found.coefficients, best.x, atol=1e-4)
    assert found.loss == pytest.approx(best.fun, rel=1e-9)
    assert (best.x.min() < -0.1) is not bounded


def test_a_coefficient_leaves_its_bound_again():
    design, hit, _ = some_data()
    least = np.r_[-np.inf, np.zeros(4)]
    start = np.r_[3.0, 0.0, 5.0, 0.0, 5.0]
    penalty = 0.1 * np.eye(5)
    found = fit_logistic_bounded(design, hit, penalty, least=least, start=start)
    again = fit_logistic_bounded(design, hit, penalty, least=least)
    assert found.loss == pytest.approx(again.loss, rel=1e-7)
    assert found.coefficients[1] > 0.5
    assert found.coefficients[2] == 0.0


def test_huge_values_stay_finite():
    design = np.column_stack([np.ones(4), [-1e4, -1.0, 1.0, 1e4]])
    found = fit_logistic_bounded(design, np.array([0.0, 1.0, 0.0, 1.0]), 1e-3 * np.eye(2))
    assert np.isfinite(found.loss)
    assert np.isfinite(found.coefficients).all()


def test_newton_does_not_overshoot():
    """Rare hits far from the rest: full steps diverge."""
    design = np.column_stack([np.ones(2001), np.r_[np.zeros(2000), 50.0]])
    hit = np.r_[np.zeros(1999), 1.0, 1.0]
    intercept, slope = fit_logistic_bounded(design, hit, np.diag([1e-6, 1e-3])).coefficients
    assert expit(intercept) == pytest.approx(1 / 2000, rel=0.05)
    assert expit(intercept + 50 * slope) > 0.9
