"""Steps of the sampler of repeated looks: what it starts from, counts, and accepts."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln
from tests.models.convex.test_looks_moves import SHAPES, Scripted

import falsezero as fz
from falsezero.data.look_blocks import LookBlocks
from falsezero.inference.contract import Point
from falsezero.models.convex import looks_gibbs, looks_moves
from falsezero.models.convex.detection import RowEffects
from falsezero.models.convex.looks_gibbs import GibbsStatistics, LooksGibbs
from falsezero.models.convex.looks_steps import LooksSteps


def a_sampler(**options):
    """The sampler on a small table, its first state, rows and block."""
    rng = np.random.default_rng(7)
    values = (rng.random((12, 3, 2)) < 0.5).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    model = fz.RepeatedLooks(3, random_state=0, max_iter=400, tol=1e-4, **options)
    model.fit(values)
    blocks = model._blocks(values, reset=False)
    point = Point(model.state_, model._settled(blocks))
    steps = LooksGibbs(model._steps(blocks), point, SHAPES)
    return steps, *steps.init(blocks, rng), blocks[0], model


@pytest.fixture(name="sampler", scope="module")
def _sampler():
    return a_sampler(row_effects=True, false_alarms=True)


def test_the_sampler_starts_at_the_means_certain_of_them(sampler):
    _, state, [rows], _, model = sampler
    drawn, fitted = state.drawn, model.state_
    np.testing.assert_allclose(drawn.ones, fitted.alpha / (fitted.alpha + fitted.beta))
    for name, expected in (("alpha", drawn.ones), ("beta", 1 - drawn.ones)):
        np.testing.assert_array_equal(getattr(drawn, name), expected)
    np.testing.assert_array_equal(drawn.zeros, 1 - drawn.ones)
    assert drawn.divergence == 0
    for effects in (drawn.seen, drawn.alarm):
        assert not effects.covariance.any()
        assert not effects.observer_variance.any()
    np.testing.assert_allclose(rows.content.sum(axis=1), 1)
    np.testing.assert_allclose(rows.content, model.row_weights_, atol=5e-3)
    assert not rows.effect_variance.any()
    np.testing.assert_allclose(state.shapes, SHAPES)
    assert state.gamma == pytest.approx(0.9)
    assert state.trial is None


def test_means_never_reach_the_edge(sampler):
    _, _, _, _, model = sampler
    sure = model.state_._replace(alpha=np.array([[1e17, 0.0]]), beta=np.array([[1.0, 1.0]]))
    assert looks_gibbs.pointed(sure).ones.tolist() == [[1 - 1e-15, 1e-15]]


def test_a_step_of_a_block_counts_its_draws(sampler):
    steps, state, [rows], block, _ = sampler
    state = state._replace(gamma=np.array(1.4))
    new, found = steps.local_step(block, rows, state, np.random.default_rng(0))
    looked = block.is_observed
    assert found.ones.sum() + found.zeros.sum() == looked.sum()
    assert found.n_rows == 12
    np.testing.assert_array_equal(found.column_gains, [0, 0])
    gain = sum(
        stats.dirichlet.logpdf(w, np.full(3, 1.4)) - stats.dirichlet.logpdf(w, np.full(3, 0.9))
        for w in new.content
    )
    assert found.gain == pytest.approx(gain, rel=1e-6)
    assert found.log_likelihood == pytest.approx(log_likelihoods(steps, state, rows, block).sum())


def log_likelihoods(steps, state, rows, block):
    """Of each column, cell by cell with presence summed out."""
    effects = RowEffects(rows.effect, rows.effect_variance)
    one, zero, scale = steps.steps.evidence(block.patterns, state.drawn, effects)[2]
    total = np.zeros(2)
    for n, t in np.ndindex(12, 2):
        code = block.codes[n, 0]
        if block.is_observed[n, t]:
            p = rows.content[n] @ state.drawn.ones[:, t]
            total[t] += np.log(p * one[code, t] + (1 - p) * zero[code, t]) + scale[code, t]
    return total


def test_a_block_judges_a_trial_by_its_columns(sampler):
    steps, state, [rows], block, _ = sampler
    trial = looks_moves._other_rates(state.drawn, SHAPES, Scripted(normal=0.8), trades=True)
    new, found = steps.local_step(block, rows, state._replace(trial=trial), None)
    assert new is rows
    now = log_likelihoods(steps, state, rows, block)
    then = log_likelihoods(steps, state._replace(drawn=trial.drawn), rows, block)
    np.testing.assert_allclose(found.column_gains, then - now)
    assert found.log_likelihood == pytest.approx(now.sum())
    assert steps.objective(found, state) == found.log_likelihood
    assert (found.gain, found.n_rows) == (0, 0)
    assert not found.ones.any()
    assert not found.zeros.any()
    # Accepted in the first column alone.
    after = steps.global_step(found, state._replace(trial=trial), Scripted([1e-300, 1e9]))
    assert after.trial is None
    np.testing.assert_array_equal(after.drawn.ones[:, 0], trial.drawn.ones[:, 0])
    np.testing.assert_array_equal(after.drawn.ones[:, 1], state.drawn.ones[:, 1])


def some_statistics(gain=0.0, n_rows=12.0):
    ones, zeros = np.array([[3.0, 0.0], [2.0, 5.0]]), np.array([[1.0, 4.0], [0.0, 2.0]])
    return GibbsStatistics(ones, zeros, None, None, 0.0, gain, n_rows, np.zeros(2))


def test_components_are_drawn_from_their_posterior(sampler):
    steps, state, [rows], block, _ = sampler
    _, found = steps.local_step(block, rows, state, np.random.default_rng(0))
    still = LooksGibbs(steps.steps, steps.start, SHAPES, learns_shapes=False)
    after = still.global_step(found, state, Scripted([0.9], normal=0.5))
    expected = (0.7 + found.ones) / (0.7 + 1.6 + found.ones + found.zeros)
    np.testing.assert_allclose(after.drawn.ones, expected)
    np.testing.assert_allclose(after.drawn.alpha, expected)
    for name in ("beta", "zeros"):
        np.testing.assert_allclose(getattr(after.drawn, name), 1 - expected)
    np.testing.assert_array_equal(after.shapes, state.shapes)
    # Strides shorten with the number of rows, and are never longer than one half.
    assert after.gamma == pytest.approx(0.9 * np.exp(min(0.5, 2.4 / np.sqrt(12)) * 0.5))
    many = still.global_step(found._replace(n_rows=400.0), state, Scripted([0.9], normal=0.5))
    assert many.gamma == pytest.approx(0.9 * np.exp(2.4 / 20 * 0.5))
    assert after.trial is not None
    for kind in ("seen", "alarm"):
        mean, effects = looks_gibbs.draw_effects(
            getattr(steps.steps, kind), getattr(found, kind), getattr(state.drawn, kind),
            Scripted(normal=0.5),
        )  # fmt: skip
        np.testing.assert_array_equal(getattr(after.drawn, f"{kind}_mean"), mean)
        np.testing.assert_array_equal(getattr(after.drawn, kind).width2, effects.width2)


def test_components_never_reach_the_edge(sampler):
    steps, state, [rows], block, _ = sampler
    _, found = steps.local_step(block, rows, state, np.random.default_rng(0))
    still = LooksGibbs(steps.steps, steps.start, SHAPES, learns_shapes=False)
    sure = found._replace(ones=np.where(found.ones > 2, 1e9, found.ones), zeros=0 * found.zeros)
    drawn = still.global_step(sure, state, Scripted([0.9])).drawn
    assert drawn.ones.max() == 1 - 1e-15
    never = found._replace(zeros=np.where(found.zeros > 2, 1e9, found.zeros), ones=0 * found.ones)
    assert still.global_step(never, state, Scripted([0.9])).drawn.ones.min() == 1e-15
    edge = state.drawn._replace(ones=np.full_like(drawn.ones, 1 - 1e-16))
    trial = looks_moves._other_rates(edge, SHAPES, Scripted(normal=-9.0), trades=True)
    np.testing.assert_array_equal(trial.drawn.ones, 1 - 1e-15)


def test_the_shape_of_row_weights_is_accepted_by_its_ratio(sampler):
    steps, state, *_ = sampler
    state = state._replace(gamma=np.array(2.5), shapes=np.array([0.7, 1.6, 0.6]))
    prior = stats.norm(np.log(0.9), 1.0)
    gain = -1.2
    ratio = np.exp(gain + prior.logpdf(np.log(2.5)) - prior.logpdf(np.log(0.6)))
    for u, expected in ((0.99 * ratio, 2.5), (1.01 * ratio, 0.6)):
        shapes = steps._shapes(some_statistics(gain), state, Scripted([u, 2.0]))
        np.testing.assert_allclose(shapes, [0.7, 1.6, expected])
    assert state.shapes[2] == 0.6, "the old state stays as it was"


def test_the_shapes_of_components_are_accepted_by_their_evidence(sampler):
    steps, state, *_ = sampler
    state = state._replace(shapes=np.array([0.5, 1.1, 0.9]))
    found, noise = some_statistics(), 1.5
    stride = min(0.5, 2.4 / np.sqrt(4))
    new = np.array([0.5, 1.1]) * np.exp(stride * noise)

    def log_density(a, b):
        likelihood = (betaln(a + found.ones, b + found.zeros) - betaln(a, b)).sum()
        walk = stats.norm.logpdf(np.log([a, b]), np.log(SHAPES[:2]), 1.0)
        return likelihood + walk.sum()

    ratio = np.exp(log_density(*new) - log_density(0.5, 1.1))
    assert ratio < 1
    for u, expected in ((0.99 * ratio, new), (1.01 * ratio, [0.5, 1.1])):
        shapes = steps._shapes(found, state, Scripted([2.0, u], normal=noise))
        np.testing.assert_allclose(shapes, [*expected, 0.9])
    # With many components and columns the walk takes shorter strides.
    many = found._replace(ones=np.full((10, 10), 3.0), zeros=np.full((10, 10), 3.0))
    shapes = steps._shapes(many, state, Scripted([2.0, 1e-300], normal=noise))
    np.testing.assert_allclose(shapes[:2], np.array([0.5, 1.1]) * np.exp(0.24 * noise))


def test_dirichlet_draws_have_their_moments():
    counts = np.tile([0.3, 2.0, 5.0], (20000, 1))
    weights, logs = looks_gibbs._dirichlet(counts, np.random.default_rng(0))
    np.testing.assert_allclose(weights, np.exp(logs), atol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    truth = stats.dirichlet([0.3, 2.0, 5.0])
    error = np.sqrt(truth.var() / 20000)
    assert (abs(weights.mean(axis=0) - truth.mean()) < 4 * error).all()
    np.testing.assert_allclose(weights.var(axis=0), truth.var(), rtol=0.05)


def test_absent_cells_are_those_looked_at_and_not_present():
    """Every pattern of looks, counted by column; cells that nobody looked at count nowhere."""
    values = np.array([[[1.0, np.nan]], [[0.0, 1.0]], [[0.0, np.nan]]])
    for differ in (False, True):
        [block] = LookBlocks.of(fz.as_looks(values), rows_differ=differ)
        counts = LooksSteps.pattern_counts(block)
        tries = block.patterns.tries.sum(axis=1)
        assert (counts[np.broadcast_to(tries == 0, counts.shape)] == 0).all()
        np.testing.assert_array_equal(counts.sum(axis=0), [3, 1])
        ones = np.broadcast_to(block.patterns.ones.sum(axis=1), counts.shape)
        np.testing.assert_array_equal((counts * ones).sum(axis=0), [1, 1])
