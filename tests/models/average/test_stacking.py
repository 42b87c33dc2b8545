"""Hidden finds and the weights that find them again, against plain optimisation."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from falsezero.models.average.stacking import (
    Stack,
    StackingTrial,
    clipped_logit,
    cross_fit,
    deal_ones,
    fit_logistic,
    hide_entries,
    learn,
    pick_ones_by_row,
)


def some_features(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal([1.0, -2.0], [1.0, 3.0], (n, 2))
    hit = rng.random(n) < expit(0.8 * x[:, 0] - 0.3 * x[:, 1] - 1)
    return x, hit.astype(float), rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("ridge", [0.1, 20.0])
def test_the_regression_is_the_minimum_of_its_loss(ridge):
    x, hit, weight = some_features()
    mean = np.average(x, axis=0, weights=weight)
    spread = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight))
    z = (x - mean) / spread

    def loss(beta):
        eta = beta[0] + z @ beta[1:]
        penalty = 0.5 * ridge * (beta[1:] ** 2).sum() + 0.5e-6 * beta[0] ** 2
        return weight @ (np.logaddexp(0, eta) - hit * eta) + penalty

    best = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-8}).x
    intercept, weights = fit_logistic(x, hit, weight, ridge)
    np.testing.assert_allclose(weights, best[1:] / spread, rtol=1e-4)
    assert intercept == pytest.approx(best[0] - mean @ (best[1:] / spread), rel=1e-4)


def test_a_strong_ridge_is_reached_step_by_step():
    """The optimality condition of one feature, its weight held near zero."""
    x, hit, _ = some_features()
    mean, spread = x[:, :1].mean(), x[:, :1].std()
    for ridge in (1.0, 1e4):
        intercept, weights = fit_logistic(x[:, :1], hit, np.ones(400), ridge)
        p = expit(intercept + weights[0] * x[:, 0])
        slope = (p - hit) @ ((x[:, 0] - mean) / spread)
        assert slope == pytest.approx(-ridge * weights[0] * spread, rel=1e-4)
        assert weights[0] > 0


def test_without_hits_the_intercept_is_held_by_its_own_penalty():
    x, _, _ = some_features()
    intercept, weights = fit_logistic(x, np.zeros(400), np.ones(400), 1.0)
    np.testing.assert_allclose(weights, 0, atol=1e-5)
    level = intercept + x.mean(axis=0) @ weights
    assert 400 * expit(level) == pytest.approx(-1e-6 * level, rel=1e-3)


def test_newton_does_not_overshoot():
    """Rare hits far from the rest: full steps diverge."""
    x = np.r_[np.zeros(2000), 50.0][:, None]
    hit = np.r_[np.zeros(1999), 1.0, 1.0]
    intercept, weights = fit_logistic(x, hit, np.ones(2001), 1e-3)
    assert expit(intercept) == pytest.approx(1 / 2000, rel=0.05)
    assert expit(intercept + 50 * weights[0]) > 0.9


def test_log_odds_stop_at_a_floor():
    np.testing.assert_allclose(
        clipped_logit(np.array([0, 1])), np.log(1e-4 / 0.9999) * np.array([1, -1])
    )


def ones_and_gaps():
    rng = np.random.default_rng(0)
    values = sparse.csr_array((rng.random((300, 200)) < 0.5).astype(float))
    values.data[::7] = np.nan
    return values


def test_ones_are_dealt_out_like_folds():
    values = ones_and_gaps()
    is_one = values.data == 1
    dealt = np.array(deal_ones(values, 0.1, 10, np.random.default_rng(1)))
    np.testing.assert_array_equal(dealt.sum(axis=0), is_one)
    np.testing.assert_allclose(dealt.sum(axis=1) / is_one.sum(), 0.1, atol=0.01)
    few = np.array(deal_ones(values, 0.3, 4, np.random.default_rng(1)))
    np.testing.assert_allclose(few.sum(axis=1) / is_one.sum(), 0.3, atol=0.02)
    assert few[:3].sum(axis=0).max() == 1
    assert few.sum(axis=0)[is_one].min() == 1


def test_some_rows_lose_more_ones():
    values = ones_and_gaps()
    hidden = pick_ones_by_row(values, 0.2, np.random.default_rng(1))
    assert (values.data[hidden] == 1).all()
    assert hidden.sum() / (values.data == 1).sum() == pytest.approx(0.2, abs=0.02)
    by_row = np.add.reduceat(hidden, values.indptr[:-1]) / np.diff(values.indptr)
    even = deal_ones(values, 0.2, 1, np.random.default_rng(1))[0]
    assert np.std(by_row) > 2 * np.std(
        np.add.reduceat(even, values.indptr[:-1]) / np.diff(values.indptr)
    )


def test_hidden_entries_become_zeros():
    values = ones_and_gaps()
    hidden = deal_ones(values, 0.2, 1, np.random.default_rng(1))[0]
    spoilt = hide_entries(values, hidden)
    assert (spoilt.data == 1).sum() == (values.data == 1).sum() - hidden.sum()
    assert np.isnan(spoilt.data).sum() == np.isnan(values.data).sum()


def trial(scheme, share=0.1, seed=0, n=6000):
    """Zeros of a table whose true log odds are the first feature; the second one is noise."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(-1.0, 1.0, n)
    odds = share * np.exp(truth)
    hidden = rng.random(n) < odds / (1 + odds)
    features = np.column_stack([truth, rng.normal(size=n)])
    rows, columns = np.arange(n) % 50, np.arange(n) // 50
    return StackingTrial(scheme, share, rows, columns, hidden, np.ones(n), features)


def test_the_level_is_that_of_the_table_not_of_the_trial():
    draws = [trial("cells"), trial("rows", seed=1), trial("cells", seed=2)]
    stack = learn(draws, 1e-3)
    np.testing.assert_allclose(stack.weights, [1, 0], atol=0.1)
    assert stack.intercept == pytest.approx(0, abs=0.15)
    one = learn(draws, 1e-3, which=[0])
    assert one.weights.shape == (1,)
    assert Stack(0.5, np.array([2.0])).log_odds(np.array([[3.0]]))[0] == 6.5


def test_finds_hidden_by_row_are_for_judging_only():
    even, by_row = trial("cells"), trial("rows", seed=1, share=0.5)
    alone, both = learn([even], 1.0), learn([even, by_row], 1.0)
    assert both.intercept == alone.intercept
    np.testing.assert_array_equal(both.weights, alone.weights)


def test_a_trial_told_twice_teaches_no_more():
    """The ridge counts once for each trial."""
    once, twice = learn([trial("cells")], 50.0), learn([trial("cells")] * 2, 50.0)
    np.testing.assert_allclose(twice.weights, once.weights, rtol=1e-5)
    assert twice.intercept == pytest.approx(once.intercept, abs=1e-5)


def test_the_ridge_does_not_lower_the_slope():
    stack = learn([trial("cells")], 300.0, which=[0])
    assert stack.weights[0] == pytest.approx(learn([trial("cells")], 1e-3, which=[0]).weights[0])


def test_without_hidden_cells_the_level_is_that_of_the_rows():
    none = trial("cells")._replace(hidden=np.zeros(6000, bool))
    rows = trial("rows", seed=1)
    x = np.concatenate([none.features, rows.features])
    hit = np.concatenate([none.hidden, rows.hidden]).astype(float)
    intercept, weights = fit_logistic(x, hit, np.ones(len(x)), 1e-3)
    stack = learn([none, rows], 1e-3)
    assert stack.intercept == pytest.approx(intercept - np.log(0.1), rel=1e-3)
    np.testing.assert_allclose(stack.weights, weights, rtol=1e-3)


def test_every_row_is_judged_by_the_others():
    draws = [trial("cells")]
    (found,) = cross_fit(draws, 1.0, 50, seed=0)
    fold = np.random.default_rng(0).permutation(50) % 3
    for i in range(3):
        stack = learn(draws, 1.0, fold != i)
        inside = fold[draws[0].rows] == i
        np.testing.assert_allclose(found[inside], stack.log_odds(draws[0].features[inside]))
