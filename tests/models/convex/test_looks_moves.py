"""Moves and conditional draws of the sampler of repeated looks, against densities written out."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit, logit
from tests.models.convex.test_detection import PRIOR, some_effects, some_patterns
from tests.reference.look_rates import quadratic

from falsezero.models.convex import looks_gibbs, looks_moves
from falsezero.models.convex.detection import LookRates
from falsezero.models.convex.looks_steps import LooksSteps, State

SHAPES = np.array([0.7, 1.6, 0.9])


class Scripted:
    """Random numbers as told: uniforms one after the other, normals all alike."""

    def __init__(self, uniforms=(), normal=0.0):
        self.uniforms, self.normal = list(uniforms), normal

    def random(self, size=None):
        return (
            np.array([self.uniforms.pop(0) for _ in range(size)]) if size else self.uniforms.pop(0)
        )

    def standard_normal(self, size=None):
        return self.normal if size is None else np.full(size, self.normal)

    def choice(self, options):
        return options[1]

    def chisquare(self, degrees, size):
        return np.full(size, float(degrees))

    def beta(self, a, b):
        return np.where(b > 1e6, 0.0, np.where(a > 1e6, 1.0, a / (a + b)))


def some_state(spread=0.7):
    rng = np.random.default_rng(3)
    mean, effects = some_effects(spread=spread)
    a = rng.uniform(0.1, 0.9, (3, 2))
    return State(a, 1 - a, a, 1 - a, 0.0, mean, effects, None, None)


def some_steps(spread=None):
    return LooksSteps(None, LookRates((2, 2, 2), PRIOR, spread=spread), None)


def test_the_kind_of_a_move():
    drawn = some_state()

    def kind(u, spread):
        trial = looks_moves.proposed(drawn, SHAPES, some_steps(spread), Scripted([u], 1.0))
        if np.isfinite(trial.together):
            return "spread"
        return "rates" if trial.drawn.ones is drawn.ones else "trade"

    assert [kind(u, None) for u in (0.0, 0.33, 0.34, 0.66, 0.67, 1.0)] == [
        *("spread", "spread", "rates", "rates", "trade", "trade"),
    ]
    assert [kind(u, 0.7) for u in (0.0, 0.33, 0.67)] == ["rates", "rates", "trade"]
    assert kind(1 / 3, None) == "rates"
    assert kind(2 / 3, None) == "rates"
    known = LooksSteps(None, None, None, np.full(2, 0.5))
    assert looks_moves.proposed(drawn, SHAPES, known, Scripted()) is None
    unknown = drawn._replace(seen=None)
    assert looks_moves.proposed(unknown, SHAPES, some_steps(), Scripted()) is None


@pytest.mark.parametrize("trades", [False, True])
def test_other_rates_have_the_ratio_of_their_densities(trades):
    old = some_state()
    trial = looks_moves._other_rates(old, SHAPES, Scripted(normal=0.8), trades)
    new, step = trial.drawn, 0.3 * 0.8
    np.testing.assert_allclose(new.seen_mean - old.seen_mean, [[step, 0], [step, 0]])
    prior = stats.norm(old.seen.centre[0], np.sqrt(old.seen.width2[0]))
    expected = prior.logpdf(new.seen_mean[:, 0]) - prior.logpdf(old.seen_mean[:, 0])
    if trades:
        np.testing.assert_allclose(new.ones, expit(logit(old.ones) - 0.7 * step))
        content = stats.beta(*SHAPES[:2])
        ratio = content.logpdf(new.ones) - content.logpdf(old.ones)
        # Shifts are of the log odds, whose unit is a (1 - a) of a probability.
        ratio += np.log(new.ones * new.zeros) - np.log(old.ones * old.zeros)
        expected = expected + ratio.sum(axis=0)
    for a, b in ((new.alpha, new.ones), (new.beta, 1 - new.ones), (new.zeros, 1 - new.ones)):
        np.testing.assert_allclose(a, b)
    np.testing.assert_allclose(trial.by_column, expected)
    assert np.isnan(trial.together)


def test_another_spread_has_the_ratio_of_its_densities():
    old, rates = some_state(), LookRates((2, 2, 2), PRIOR, spread=None)
    trial = looks_moves._other_spread(old, rates, Scripted(normal=1.5))
    new, s, r = trial.drawn, 0.7 * np.exp(0.3), np.pi / 8
    assert new.seen.spread == pytest.approx(s)
    kappa = np.sqrt((1 + r * s**2) / (1 + r * 0.7**2))
    scale = np.array([kappa, 1.0])
    np.testing.assert_allclose(new.seen_mean, old.seen_mean * scale)
    np.testing.assert_allclose(new.seen.centre, old.seen.centre * scale)
    np.testing.assert_allclose(new.seen.width2, old.seen.width2 * scale**2)

    def log_density(state):
        effects = state.seen
        total = stats.halfnorm(scale=2.0).logpdf(effects.spread)
        columns = stats.norm(effects.centre[0], np.sqrt(effects.width2[0]))
        total += columns.logpdf(state.seen_mean[:, 0]).sum()
        total += stats.norm(PRIOR.level, PRIOR.level_width).logpdf(effects.centre[0])
        return total + stats.invgamma(0.5, scale=PRIOR.width**2 / 2).logpdf(effects.width2[0])

    # Volumes: the spread walks on its logarithm; two columns, the centre, and the squared width.
    volume = np.log(s / 0.7) + (2 + 1 + 2) * np.log(kappa)
    expected = log_density(new) - log_density(old) + volume
    assert trial.together == pytest.approx(expected)
    np.testing.assert_array_equal(trial.by_column, [0, 0])


def test_a_trial_is_accepted_column_by_column_or_as_a_whole():
    old = some_state()
    trial = looks_moves._other_rates(old, SHAPES, Scripted(normal=0.8), trades=True)
    trial = trial._replace(by_column=np.array([-1.0, -2.0]))
    gains = np.array([0.5, 1.0])
    just, not_quite = np.exp(-0.5) * 0.99, np.exp(-1.0) * 1.01
    new = looks_moves.accepted(old, trial, gains, None, Scripted([just, not_quite]))
    for name in ("alpha", "beta", "ones", "zeros"):
        first, second = getattr(new, name).T
        np.testing.assert_array_equal(first, getattr(trial.drawn, name)[:, 0])
        np.testing.assert_array_equal(second, getattr(old, name)[:, 1])
    np.testing.assert_array_equal(new.seen_mean[0], trial.drawn.seen_mean[0])
    np.testing.assert_array_equal(new.seen_mean[1], old.seen_mean[1])
    whole = trial._replace(together=np.array(-2.0))
    limit = np.exp(0.5 + 1.0 - 2.0)
    for u, expected in ((limit * 0.99, trial.drawn), (limit * 1.01, old)):
        assert looks_moves.accepted(old, whole, gains, None, Scripted([u])) is expected


# -- conditional draws ----------------------------------------------------------------------------


def quadratic_sums(rates, seed=4):
    """Random shares and curvatures, and the sums that the sampler would make of them."""
    rng = np.random.default_rng(seed)
    patterns = some_patterns()
    share = rng.uniform(0.2, 2, (4, 2, len(rates.nodes)))
    slope = rng.uniform(0.1, 0.4, (4, 3, 2, len(rates.nodes)))
    half = patterns.ones - patterns.tries / 2
    linear = half * share.sum(axis=2)[:, None]
    u = rates.nodes
    sums = rates._sums(patterns, slope.sum(axis=3), slope @ u, linear)
    pulled = (half * (share @ u)[:, None]).sum()
    sums["totals"] = np.array([(slope @ u**2).sum(), pulled, 2.4, 5.0])
    return patterns, share, slope, np.concatenate([sums[name].ravel() for name in rates.sizes])


@pytest.mark.parametrize("learns_spread", [False, True])
@pytest.mark.parametrize("n_observers", [0, 2])
def test_each_effect_is_drawn_around_its_optimum_given_the_others(learns_spread, n_observers):
    rates = LookRates((2, 2, n_observers), PRIOR, spread=None if learns_spread else 0.7)
    patterns, share, slope, vector = quadratic_sums(rates)
    _, effects = some_effects(n_observers=n_observers)
    mean, new = looks_gibbs.draw_effects(rates, vector, effects, Scripted())

    def less(columns, observers, spread):
        unknowns = (columns.reshape(2, 2), observers, None, spread)
        return -quadratic(patterns, share, slope, unknowns, rates.nodes, effects)

    old = effects.observer_mean
    best = minimize(lambda x: less(x, old, 0.7), np.zeros(4), tol=1e-12).x
    np.testing.assert_allclose(mean.ravel(), best, atol=1e-5)
    if n_observers:
        best = minimize(lambda w: less(mean, w, 0.7), np.zeros(2), tol=1e-12).x
        np.testing.assert_allclose(new.observer_mean, best, atol=1e-5)
    if learns_spread:
        # The spread's own prior is half-normal with deviation 2.
        def with_prior(s):
            return less(mean, new.observer_mean, s[0]) + 0.5 * s[0] ** 2 / 4

        best = abs(minimize(with_prior, [0.5], tol=1e-12).x[0])
        assert new.spread == pytest.approx(max(best, 1e-3), abs=1e-5)
    else:
        assert new.spread == 0.7


def test_a_drawn_spread_has_a_floor():
    rates = LookRates((2, 2, 2), PRIOR, spread=0.7)
    *_, vector = quadratic_sums(rates)
    _, effects = some_effects(spread=0.0)
    assert looks_gibbs.draw_effects(rates, vector, effects, Scripted())[1].spread == 1e-3


def test_noise_of_the_drawn_effects_is_that_of_their_precision():
    rates = LookRates((2, 2, 2), PRIOR, spread=None)
    _, _, slope, vector = quadratic_sums(rates)
    patterns, (_, effects) = some_patterns(), some_effects()
    still, still_effects = looks_gibbs.draw_effects(rates, vector, effects, Scripted())
    mean, moved = looks_gibbs.draw_effects(rates, vector, effects, Scripted(normal=2.0))
    c = patterns.design
    for t in range(2):
        curve = slope[:, :, t].sum(axis=2)
        hessian = sum(curve[p, j] * np.outer(c[p, j], c[p, j]) for p, j in np.ndindex(4, 3))
        root = np.linalg.cholesky(np.linalg.inv(hessian + np.diag(1 / effects.width2)))
        np.testing.assert_allclose(mean[t] - still[t], root @ [2.0, 2.0])
    sums = rates._unpacked(vector)
    for o in range(2):
        at = patterns.observers == o
        curve = slope.sum(axis=(2, 3))[at].sum() + 1 / effects.observer_width2
        away = (mean - still) @ c[at].T * slope.sum(axis=3)[at].T
        expected = (still_effects.observer_mean[o]) - away.sum() / curve + 2.0 / np.sqrt(curve)
        assert moved.observer_mean[o] == pytest.approx(expected)
    curved, pulled = sums["totals"][:2]
    rest = (sums["with_spread"] * mean).sum() + sums["observers"][2] @ moved.observer_mean
    precision = curved + 1 / 4
    expected = (pulled - rest) / precision + 2.0 / np.sqrt(precision)
    assert moved.spread == pytest.approx(abs(expected))


@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_priors_are_drawn_from_their_conditional_distributions(noise):
    rates, (mean, effects) = LookRates((2, 2, 2), PRIOR), some_effects()
    totals = np.array([0.0, 0.0, 2.4, 5.0])
    new = looks_gibbs._draw_priors(rates, mean, effects, totals, Scripted(normal=noise))
    for d, level in enumerate((PRIOR.level, 0.0)):
        precision = 2 / effects.width2[d] + 1 / PRIOR.level_width**2
        pull = mean[:, d].sum() / effects.width2[d] + level / PRIOR.level_width**2
        assert new.centre[d] == pytest.approx(pull / precision + noise / np.sqrt(precision))
        squares = ((mean[:, d] - new.centre[d]) ** 2).sum()
        assert new.width2[d] == pytest.approx((squares + PRIOR.width**2) / 3)
    squares = (effects.observer_mean**2).sum()
    assert new.observer_width2 == pytest.approx((squares + PRIOR.width**2) / 3)
    assert new.row_width2 == pytest.approx((2.4 + 0.5**2) / 6)
