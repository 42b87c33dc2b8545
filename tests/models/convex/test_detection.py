"""Rates of looks against their formulas: every sum by loops, every update by its optimum."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from tests.reference.look_rates import gaussian_divergence, log_evidence, quadratic, rate_of

from falsezero.data.look_blocks import Patterns
from falsezero.kernels import look_nodes
from falsezero.models.convex import detection
from falsezero.models.convex.detection import Effects, LookRates, Prior, RowEffects

PRIOR = Prior(level=1.3, level_width=1.7, width=0.8, is_learnt=True)
NOTHING = RowEffects(None, None)


def some_patterns(seed=0, n_patterns=4, n_looks=3, n_columns=2, n_observers=2):
    """Patterns of up to four tries, a variable, known and unknown observers."""
    rng = np.random.default_rng(seed)
    tries = rng.integers(0, 4, (n_patterns, n_looks, n_columns)).astype(float)
    ones = np.floor(tries * rng.random(tries.shape) * 1.3).clip(0, tries)
    design = np.stack([np.ones(tries.shape[:2]), rng.normal(size=tries.shape[:2])], axis=2)
    observers = np.resize(np.arange(-1, n_observers), tries.shape[:2])
    return Patterns(ones, tries, design, observers)


def some_effects(seed=1, n_columns=2, n_terms=2, n_observers=2, spread=0.7):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n_columns, n_terms, n_terms))
    mean = rng.normal(size=(n_columns, n_terms))
    return mean, Effects(
        covariance=0.2 * root @ root.swapaxes(1, 2) + 0.1 * np.eye(n_terms),
        centre=rng.normal(size=n_terms),
        width2=rng.uniform(0.5, 2, n_terms),
        observer_mean=rng.normal(size=n_observers),
        observer_variance=rng.uniform(0.2, 0.6, n_observers),
        observer_width2=np.array(0.9),
        row_width2=np.array(0.6),
        spread=np.array(spread),
    )


def some_rows(seed=2, n_patterns=4):
    rng = np.random.default_rng(seed)
    return RowEffects(rng.normal(size=(n_patterns, 1)), rng.uniform(0.1, 0.5, (n_patterns, 1)))


def rates_with(n_observers=2, **options):
    return LookRates((2, 2, n_observers), options.pop("prior", PRIOR), **options)


def test_every_column_starts_at_the_expected_level():
    rates = rates_with(spread=None, has_rows=True)
    mean, effects = rates.start()
    np.testing.assert_array_equal(mean, [[1.3, 0], [1.3, 0]])
    np.testing.assert_array_equal(effects.covariance, [0.1 * np.eye(2)] * 2)
    np.testing.assert_array_equal(effects.centre, [1.3, 0])
    np.testing.assert_allclose(effects.width2, [0.64, 0.64])
    np.testing.assert_array_equal(effects.observer_mean, [0, 0])
    np.testing.assert_array_equal(effects.observer_variance, [0.1, 0.1])
    assert effects.observer_width2 == pytest.approx(0.64)
    assert effects.row_width2 == 0.25
    assert effects.spread == detection.FIRST_SPREAD
    rows = rates.start_rows(3)
    np.testing.assert_array_equal(rows.mean, np.zeros((3, 1)))
    np.testing.assert_array_equal(rows.variance, np.full((3, 1), 0.1))
    known = rates_with(prior=PRIOR._replace(is_learnt=False), spread=0.4)
    _, effects = known.start()
    assert not effects.covariance.any()
    assert not effects.observer_variance.any()
    assert effects.spread == 0.4
    assert known.start_rows(3) == NOTHING


def test_cells_that_do_not_differ_need_one_node():
    assert len(rates_with().nodes) == len(rates_with().log_weights) == 1
    for spread in (None, 0.3):
        rates = rates_with(spread=spread)
        assert len(rates.nodes) == detection.NODES
        weights = np.exp(rates.log_weights)
        assert weights.sum() == pytest.approx(1)
        assert weights @ rates.nodes**2 == pytest.approx(1), "a standard normal has variance 1"


@pytest.mark.parametrize("rows", [NOTHING, some_rows()], ids=["rows alike", "rows differ"])
@pytest.mark.parametrize("n_observers", [0, 2])
def test_evidence_is_the_bound_term_by_term(rows, n_observers):
    patterns, (mean, effects) = some_patterns(), some_effects(n_observers=n_observers)
    rates = rates_with(n_observers, spread=0.7)
    found = rates.evidence(patterns, mean, effects, rows)
    weights = np.exp(rates.log_weights)
    expected = log_evidence(patterns, mean, effects, rows, rates.nodes, weights)
    np.testing.assert_allclose(np.log(found.posterior) + found.log_total[..., None], expected)
    np.testing.assert_allclose(found.log_total, np.log(np.exp(expected).sum(axis=2)))
    for p, j, t in np.ndindex(4, 3, 2):
        eta, variance = rate_of(patterns, p, j, t, mean, effects, rows)
        assert found.base[p, j, t] == pytest.approx(eta)
        assert found.variance[p, j, t] == pytest.approx(variance)
    np.testing.assert_allclose(found.shifts, 0.7 * rates.nodes)


def test_the_rate_of_another_look_is_averaged_over_nodes():
    patterns, (mean, effects), rows = some_patterns(), some_effects(), some_rows()
    rates = rates_with(spread=0.7)
    found = rates.evidence(patterns, mean, effects, rows)
    eta, variance = found.base[:, 0, :, None] + found.shifts, np.full((4, 2), 0.3)
    flatter = expit(eta / np.sqrt(1 + np.pi * 0.3 / 8))
    expected = (found.posterior * flatter).sum(axis=2)
    np.testing.assert_allclose(rates.rate(found, eta, variance), expected)


# -- learning -------------------------------------------------------------------------------------


def learnt_from(rates, effects_spread, rows, n_observers):
    """What one round of learning sees: presences, curvatures, and the sums made of them."""
    patterns = some_patterns()
    mean, effects = some_effects(n_observers=n_observers, spread=effects_spread)
    present = np.random.default_rng(5).uniform(0.5, 3, (4, 2))
    found = rates.evidence(patterns, mean, effects, rows)
    share = present[..., None] * found.posterior
    eta = found.base[..., None] + found.shifts
    xi = np.sqrt(eta**2 + found.variance[..., None])
    slope = np.tanh(xi / 2) / (2 * xi)
    slope = slope * patterns.tries[..., None] * share[:, None]
    new_rows, vector = rates.statistics(patterns, present, found, effects, rows)
    return patterns, mean, effects, share, slope, new_rows, vector


def test_effects_of_rows_are_the_optimum_given_all_others():
    rows, rates = some_rows(), rates_with(spread=0.7, has_rows=True)
    patterns, mean, effects, share, slope, new, _ = learnt_from(rates, 0.7, rows, 2)

    def less(r):
        unknowns = (mean, effects.observer_mean, r, 0.7)
        return -quadratic(patterns, share, slope, unknowns, rates.nodes, effects)

    best = minimize(less, np.zeros(4), tol=1e-12).x
    np.testing.assert_allclose(new.mean[:, 0], best, atol=1e-5)
    curve = 1 / 0.6 + slope.sum(axis=(1, 2, 3))
    np.testing.assert_allclose(new.variance[:, 0], 1 / curve)


@pytest.mark.parametrize("n_observers", [0, 2])
@pytest.mark.parametrize("learns_spread", [False, True])
@pytest.mark.parametrize("rows", [NOTHING, some_rows()], ids=["rows alike", "rows differ"])
def test_learnt_effects_are_the_optimum_of_the_bound(n_observers, learns_spread, rows, monkeypatch):
    monkeypatch.setattr(detection, "SWEEPS", 3000)
    has_rows = rows.mean is not None
    rates = rates_with(n_observers, spread=None if learns_spread else 0.7, has_rows=has_rows)
    patterns, mean, effects, share, slope, new_rows, vector = learnt_from(
        rates, 0.7, rows, n_observers
    )
    r = None if new_rows.mean is None else new_rows.mean[:, 0]
    new_mean, new = rates.learn(vector, mean, effects)

    def less(x):
        spread = x[-1] if learns_spread else 0.7
        unknowns = (x[:4].reshape(2, 2), x[4 : 4 + n_observers], r, spread)
        return -quadratic(patterns, share, slope, unknowns, rates.nodes, effects)

    start = np.zeros(4 + n_observers + learns_spread)
    best = minimize(less, start, tol=1e-12).x
    np.testing.assert_allclose(new_mean.ravel(), best[:4], atol=1e-4)
    np.testing.assert_allclose(new.observer_mean, best[4 : 4 + n_observers], atol=1e-4)
    expected = max(best[-1], 1e-3) if learns_spread else 0.7
    assert new.spread == pytest.approx(expected, abs=1e-4)
    for t in range(2):
        curve = slope[:, :, t].sum(axis=2)
        c = patterns.design
        hessian = sum(curve[p, j] * np.outer(c[p, j], c[p, j]) for p, j in np.ndindex(4, 3))
        precision = hessian + np.diag(1 / effects.width2)
        np.testing.assert_allclose(new.covariance[t] @ precision, np.eye(2), atol=1e-9)
    for o in range(n_observers):
        curve = slope.sum(axis=(2, 3))[patterns.observers == o].sum()
        assert new.observer_variance[o] == pytest.approx(1 / (curve + 1 / 0.9))


def test_known_priors_stay_and_effects_are_certain():
    rates = rates_with(prior=PRIOR._replace(is_learnt=False), spread=0.7)
    _, mean, effects, _, _, _, vector = learnt_from(rates, 0.7, NOTHING, 2)
    same_mean, learnt = rates_with(spread=0.7).learn(vector, mean, effects)
    new_mean, new = rates.learn(vector, mean, effects)
    np.testing.assert_array_equal(new_mean, same_mean)
    np.testing.assert_array_equal(new.observer_mean, learnt.observer_mean)
    for name in ("covariance", "centre", "width2", "observer_variance", "row_width2"):
        np.testing.assert_array_equal(getattr(new, name), getattr(effects, name))


def test_a_spread_never_falls_to_nothing():
    rates = rates_with(spread=None)
    _, mean, effects, _, _, _, vector = learnt_from(rates, 0.7, NOTHING, 2)
    sums = rates._unpacked(vector.copy())
    sums["totals"][:2] = 5.0, -100.0
    changed = np.concatenate([sums[name].ravel() for name in rates.sizes])
    assert rates.learn(changed, mean, effects)[1].spread == 1e-3


def test_totals_of_rows():
    rows, rates = some_rows(), rates_with(spread=0.7, has_rows=True)
    *_, new, vector = learnt_from(rates, 0.7, rows, 2)
    totals = rates._unpacked(vector)["totals"]
    assert totals[2] == pytest.approx((new.mean**2 + new.variance).sum())
    assert totals[3] == 4
    *_, vector = learnt_from(rates_with(spread=0.7), 0.7, NOTHING, 2)
    np.testing.assert_array_equal(rates._unpacked(vector)["totals"][2:], [0, 0])


class Expecting:
    """Draws that are their own expectations, and noise of two standard deviations."""

    def standard_normal(self, size):
        return np.full(size, 2.0)


def test_drawn_sums_are_the_expected_ones_where_draws_are_expectations(monkeypatch):
    monkeypatch.setattr(
        detection,
        "drawn_sums",
        lambda base, *shared: look_nodes.expected_sums(base, 0 * base, *shared[:-1]),
    )
    rates, rows = rates_with(spread=0.7, has_rows=True), some_rows()
    patterns, (mean, effects) = some_patterns(), some_effects()
    nothing = np.zeros_like
    effects = effects._replace(
        covariance=nothing(effects.covariance),
        observer_variance=nothing(effects.observer_variance),
        observer_width2=np.array(0.0) + 1e-300,
    )
    rows = rows._replace(variance=nothing(rows.variance))
    present = np.array([[1.0, 2.0], [0.0, 3.0], [4.0, 1.0], [2.0, 2.0]])
    found = rates.evidence(patterns, mean, effects, rows)
    expected_rows, _ = rates.statistics(patterns, present, found, effects, rows)
    drawn_rows, drawn = rates.statistics(patterns, present, found, effects, rows, Expecting())
    np.testing.assert_allclose(
        drawn_rows.mean, expected_rows.mean + 2 * np.sqrt(expected_rows.variance)
    )
    assert not drawn_rows.variance.any()
    monkeypatch.setattr(LookRates, "_learn_rows", lambda *_: drawn_rows)
    _, same = rates.statistics(patterns, present, found, effects, rows)
    np.testing.assert_allclose(drawn, same)


# -- priors and divergences -----------------------------------------------------------------------


def by_hand(rates, mean, effects):
    """Divergence of columns and observers, and the log densities of what was learnt of priors."""
    prior, total = rates.prior, 0.0
    for t in range(2):
        # Of the correlated effects of a column: the determinant in place of the variances.
        s, w = effects.covariance[t], np.diag(effects.width2)
        away = mean[t] - effects.centre
        total += 0.5 * (np.trace(np.linalg.solve(w, s)) + away @ np.linalg.solve(w, away) - 2)
        total += 0.5 * (np.log(np.linalg.det(w)) - np.log(np.linalg.det(s)))
    for m, v in zip(effects.observer_mean, effects.observer_variance, strict=True):
        total += gaussian_divergence(m, v, 0, effects.observer_width2)
    total += 0.5 * ((effects.centre - [prior.level, 0]) ** 2).sum() / prior.level_width**2
    for w2, usual in (
        *((w2, prior.width) for w2 in effects.width2),
        (effects.observer_width2, prior.width),
        (effects.row_width2, 0.5),
    ):
        total += 0.5 * (np.log(w2) + usual**2 / w2)
    return total


def test_divergence_by_hand():
    rates, (mean, effects) = rates_with(spread=0.7), some_effects()
    assert rates.divergence(mean, effects) == pytest.approx(by_hand(rates, mean, effects))
    known = rates_with(prior=PRIOR._replace(is_learnt=False))
    away = (mean - effects.centre) ** 2 + np.einsum("tdd->td", effects.covariance)
    about = (effects.observer_mean**2 + effects.observer_variance).sum() / 0.9
    expected = 0.5 * ((away / effects.width2).sum() + about)
    assert known.divergence(mean, effects) == pytest.approx(expected)


def test_divergence_of_rows_by_hand():
    rows, rates, (_, effects) = some_rows(), rates_with(has_rows=True), some_effects()
    each = gaussian_divergence(rows.mean, rows.variance, 0, 0.6)
    assert rates.row_divergence(rows, effects) == pytest.approx(each.sum())
    assert rates.row_divergence(NOTHING, effects) == 0


def test_learnt_priors_are_where_the_divergence_is_least():
    """First the centre at the old widths, then the widths at the new centre."""
    rates, (mean, effects) = rates_with(spread=0.7), some_effects()
    new = rates._learn_priors(mean, effects, np.array([0.0, 0.0, 2.4, 5.0]))

    def optimum(name, around, start):
        def value(x):
            return rates.divergence(mean, around._replace(**{name: x.reshape(np.shape(start))}))

        return minimize(value, np.ravel(start), tol=1e-10, method="Nelder-Mead").x

    centre = optimum("centre", effects, effects.centre)
    np.testing.assert_allclose(new.centre, centre, atol=1e-4)
    there = effects._replace(centre=new.centre)
    np.testing.assert_allclose(new.width2, optimum("width2", there, effects.width2), atol=1e-4)
    widths = optimum("observer_width2", there, effects.observer_width2)
    assert new.observer_width2 == pytest.approx(widths[0], abs=1e-4)
    # Five rows whose squares sum to 2.4, and one more of the usual width.
    assert new.row_width2 == pytest.approx((2.4 + 0.5**2) / 6)


def test_evidence_for_the_kernel_is_scaled_and_marks_unseen_cells():
    tries = np.array([[[2.0, 0.0]], [[1.0, 1.0]]])
    patterns = Patterns(np.zeros_like(tries), tries, np.ones((2, 1, 1)), np.full((2, 1), -1))
    log_one = np.array([[-2.0, -3.0], [-700.0, -1.0]])
    log_zero = np.array([[-1.0, 0.0], [-701.0, -1e301]])
    one, zero, scale = detection.look_up(patterns, log_one, log_zero)
    np.testing.assert_allclose(one, [[np.exp(-1), -1], [1, 1]])
    np.testing.assert_allclose(zero, [[1, 1], [np.exp(-1), 0]])
    np.testing.assert_allclose(scale, [[-1, 0], [-700, -1]])
