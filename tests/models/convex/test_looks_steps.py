"""One step of the model of repeated looks, cell by cell: content, looks, and the bound."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma
from tests.models.convex.test_look_answers import dressed

import falsezero as fz
from falsezero.data.look_blocks import Patterns
from falsezero.inference.contract import Point
from falsezero.models.convex import looks_steps
from falsezero.models.convex.detection import RowEffects
from falsezero.models.convex.looks_steps import LooksSteps

NOTHING = RowEffects(None, None)
SHAPES, GAMMA = (0.7, 1.2), 0.8
CASES = {
    "detection learnt": {},
    "false alarms": {"false_alarms": True},
    "rows differ": {"false_alarms": True, "row_effects": True},
    "cells differ": {"heterogeneity": 0.7},
    "detection known": {"detection": [0.6, 0.9, 0.3]},
    "rows have variables": {"false_alarms": True, "row_effects": True, "row_variables": "all"},
}


def a_step(name, n_steps=2):
    """A state some steps after the start, its rows, and what one step more makes of them."""
    looks = dressed()
    if name == "rows have variables":
        known = {"height": np.arange(14.0), "kind": np.arange(14) % 2}
        looks = fz.Looks(
            looks.to_numpy(), observers=looks.observers, variables=looks.variables,
            row_variables=known,
        )  # fmt: skip
    alpha0, beta0 = SHAPES
    model = fz.RepeatedLooks(2, alpha0=alpha0, beta0=beta0, gamma0=GAMMA, **CASES[name])
    blocks = model._blocks(looks, reset=True)
    steps = model._steps(blocks)
    [block] = blocks
    state, [rows] = steps.init(blocks, np.random.default_rng(0))
    for _ in range(n_steps):
        rows, found = steps.local_step(block, rows, state, None)
        state = steps.global_step(found, state, None)
    return steps, block, state, rows, *steps.local_step(block, rows, state, None)


def logs_of_looks(steps, block, state, rows):
    """Log probability of the looks at each cell where the thing is there, and where it is not."""
    effects = RowEffects(rows.effect, rows.effect_variance)
    patterns = block.patterns
    ones, tries = patterns.ones.sum(axis=1), patterns.tries.sum(axis=1)
    if steps.seen is None:
        d = steps.detection
        with np.errstate(divide="ignore", invalid="ignore"):
            one = np.log(d**ones * (1 - d) ** (tries - ones))
    else:
        one = steps.seen.evidence(patterns, state.seen_mean, state.seen, effects).log_total
    if steps.alarm is None:
        zero = np.where(ones > 0, -np.inf, 0.0)
    else:
        zero = steps.alarm.evidence(patterns, state.alarm_mean, state.alarm, NOTHING).log_total
    one, zero = np.broadcast_arrays(one, zero)
    return block.cells(one), block.cells(zero)


@pytest.mark.parametrize("name", CASES)
def test_a_step_and_its_bound_by_loops(name):
    steps, block, state, rows, new, found = a_step(name)
    one, zero = logs_of_looks(steps, block, state, rows)
    prior = np.full((14, 2), GAMMA)
    if state.row_prior is not None:
        prior = state.row_prior.counts(block.variables)
        assert np.ptp(prior) > 0.01, "rows have priors of their own"
    q = rows.content
    log_w = digamma(q) - digamma(q.sum(axis=1, keepdims=True))
    w, bound = np.exp(log_w), 0.0
    counts, ones, zeros = prior.copy(), np.zeros((2, 3)), np.zeros((2, 3))
    present = np.zeros((14, 3))
    for n, t in np.argwhere(block.is_observed):
        joint_one = w[n] * state.ones[:, t] * np.exp(one[n, t])
        joint_zero = w[n] * state.zeros[:, t] * np.exp(zero[n, t])
        total = joint_one.sum() + joint_zero.sum()
        bound += np.log(total)
        counts[n] += (joint_one + joint_zero) / total
        ones[:, t] += joint_one / total
        zeros[:, t] += joint_zero / total
        present[n, t] = joint_one.sum() / total
    np.testing.assert_allclose(new.content, counts, rtol=1e-9)
    np.testing.assert_allclose(found.log_bound, bound, rtol=1e-9)
    at, divergence = np.full(2, 0.5), 0.0
    for n in range(14):
        divergence += stats.dirichlet(q[n]).logpdf(at) - stats.dirichlet(prior[n]).logpdf(at)
        divergence += ((q[n] - prior[n]) * (log_w[n] - np.log(at))).sum()
    divergence += state.divergence
    effects = RowEffects(rows.effect, rows.effect_variance)
    if steps.seen is not None:
        divergence += steps.seen.row_divergence(effects, state.seen)
        divergence += steps.seen.divergence(state.seen_mean, state.seen)
    if steps.alarm is not None:
        divergence += steps.alarm.divergence(state.alarm_mean, state.alarm)
    if steps.regression is not None:
        divergence += steps.regression.penalty(state.row_prior)
    assert steps.objective(found, state) == pytest.approx(bound - divergence)
    after = steps.global_step(found, state, None)
    np.testing.assert_allclose(after.alpha, SHAPES[0] + ones, rtol=1e-9)
    np.testing.assert_allclose(after.beta, SHAPES[1] + zeros, rtol=1e-9)
    check_rates(steps, block, state, effects, present, after)
    if steps.regression is not None:
        sums = steps.regression.statistics(state.row_prior, block.variables, counts)
        expected = steps.regression.learn(sums, state.row_prior)
        np.testing.assert_allclose(after.row_prior.coefficients, expected.coefficients)
        np.testing.assert_allclose(after.row_prior.direction, expected.direction, rtol=1e-6)


def by_pattern(block, cells):
    """Sums of a quantity of cells over those of each pattern, patterns x columns."""
    totals = np.zeros((len(block.patterns.ones), 3))
    for n, t in np.ndindex(14, 3):
        totals[block.codes[n, min(t, block.codes.shape[1] - 1)], t] += cells[n, t]
    return totals


def check_rates(steps, block, state, effects, present, after):
    """Rates are learnt from looks at what is there, false alarms from looks at what is not."""
    absent = np.where(block.is_observed, 1 - present, 0.0)
    for kind, cells, rows in (("seen", present, effects), ("alarm", absent, NOTHING)):
        rates, mean = getattr(steps, kind), getattr(state, f"{kind}_mean")
        if rates is None:
            assert getattr(after, kind) is None
            continue
        own = getattr(state, kind)
        at = rates.evidence(block.patterns, mean, own, rows)
        _, sums = rates.statistics(block.patterns, by_pattern(block, cells), at, own, rows)
        expected_mean, expected = rates.learn(sums, mean, own)
        np.testing.assert_allclose(getattr(after, f"{kind}_mean"), expected_mean, rtol=1e-6)
        found = getattr(after, kind)
        for field in expected._fields:
            np.testing.assert_allclose(
                getattr(found, field), getattr(expected, field), rtol=1e-6, err_msg=field
            )


def test_what_strides_may_move():
    assert set(a_step("detection known")[0].state_params) == {"alpha", "beta"}
    assert set(a_step("detection learnt")[0].state_params) == {"alpha", "beta", "seen_mean"}
    steps, _, state, rows, *_ = a_step("rows differ")
    assert set(steps.state_params) == {"alpha", "beta", "seen_mean", "alarm_mean"}
    assert steps.local_params == {"content": 1}
    wild = Point(
        state._replace(alpha=-state.alpha, seen_mean=state.seen_mean + 5),
        [rows._replace(content=-rows.content)],
    )
    kept = steps.project(wild, Point(state, [rows]))
    assert (kept.state.alpha > 0).all()
    assert (kept.local[0].content > 0).all()
    np.testing.assert_array_equal(kept.state.seen_mean, state.seen_mean + 5)
    np.testing.assert_array_equal(kept.local[0].effect, rows.effect)


def test_known_rates_may_be_certain():
    """What is always seen where it is cannot be there after a miss; the impossible is finite."""
    tries = np.array([[[2.0, 2.0, 2.0]]])
    patterns = Patterns(np.array([[[1.0, 2.0, 0.0]]]), tries, np.ones((1, 1, 1)), None)
    found = looks_steps._log_known(patterns, np.array([0.25, 1.0, 1.0]))
    np.testing.assert_allclose(found[0, :2], [np.log(0.25) + np.log(0.75), 0.0])
    assert found[0, 2] == 2 * looks_steps._IMPOSSIBLE
    found = looks_steps._log_known(patterns, np.array([0.0, 0.5, 0.0]))
    assert found[0, 0] == looks_steps._IMPOSSIBLE
    assert found[0, 2] == 0


def test_content_by_maximum_likelihood():
    looks = dressed()
    model = fz.RepeatedLooks(2, inference="ml")
    blocks = model._blocks(looks, reset=True)
    steps = model._steps(blocks)
    assert isinstance(steps, LooksSteps)
    ones, zeros = np.array([[3.0, 0.0, 5.0]]), np.array([[1.0, 0.0, 0.0]])
    found = steps.content.sources(ones, zeros)
    floor = steps.content.floor
    np.testing.assert_allclose(found.alpha, [[0.75, 0.5, 1 - floor]], rtol=1e-15)
    for name, expected in (("beta", 1 - found.alpha), ("ones", found.alpha)):
        np.testing.assert_array_equal(getattr(found, name), expected)
    np.testing.assert_array_equal(found.zeros, 1 - found.alpha)
    assert found.divergence == 0
