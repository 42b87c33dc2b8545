"""Objectives and draws of Discrete PCA at one point, against densities written out."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import psi
from tests.models.discrete_pca.common import (
    ALPHA,
    BETA,
    COUNTS,
    ETA,
    MODELS,
    blocks_of,
    family_of,
    run,
    steps_of,
)

from falsezero.inference.contract import Point
from falsezero.models.discrete_pca.family import (
    Hyper,
    dirichlet_alpha,
    gamma_rate,
    gamma_shape,
    gamma_shape_at,
    learnt_priors,
)
from falsezero.models.discrete_pca.gibbs import DirectGibbsSteps, Drawn, DrawnRows, Statistics
from falsezero.models.discrete_pca.mean_field import EMSteps, MeanFieldSteps

EVERY = pytest.mark.parametrize("name", list(MODELS))


def log_likelihood(family, weights, theta):
    """log p(w | l, Theta), group by group."""
    total = 0.0
    for row, own in zip(COUNTS, weights, strict=True):
        mean = theta @ own
        total += stats.poisson.logpmf(row, mean)[family.poisson].sum()
        for g in range(len(family.names)):
            inside = (family.groups == g) & ~family.poisson
            if inside.any():
                part, share = row[inside], mean[inside] / mean[inside].sum()
                total += stats.multinomial.logpmf(part, part.sum(), share)
    return total


def log_prior(family, weights, theta, of_logs):
    """Log densities of the weights and of Theta, or of their logarithms."""
    total = of_logs * (np.log(weights).sum() + np.log(theta).sum())
    for own in weights:
        if family.gamma:
            total += stats.gamma(ALPHA, scale=1 / BETA).logpdf(own).sum()
        else:
            total += stats.dirichlet(ALPHA).logpdf(own)
    for g in range(len(family.names)):
        inside = family.groups == g
        for column in theta[inside].T:
            total += stats.dirichlet(np.full(inside.sum(), ETA)).logpdf(column / column.sum())
    return total


@EVERY
def test_em_climbs_the_joint_density_of_logarithms(name):
    steps, blocks = steps_of(EMSteps, name), blocks_of(COUNTS)
    steps.start_sweeps = 0
    family = steps.family
    state, [rows] = steps.init(blocks, np.random.default_rng(0))
    for _ in range(3):
        weights = rows.shape / rows.rate if family.gamma else rows.shape
        if not family.gamma:
            weights = weights / weights.sum(axis=1, keepdims=True)
        theta = family.normalise(state.shape)
        new, stats_ = steps.local_step(blocks[0], rows, state, None)
        expected = log_likelihood(family, weights, theta)
        expected += log_prior(family, weights, theta, of_logs=1)
        assert steps.objective(stats_, state) == pytest.approx(expected)
        state, rows = steps.global_step(stats_, state, None), new


@EVERY
def test_rows_begin_with_their_tokens_spread_evenly(name):
    steps, [block] = steps_of(MeanFieldSteps, name), blocks_of(COUNTS)
    rows = steps.start_rows(block, Hyper(ALPHA, BETA))
    tokens = COUNTS.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(rows.shape, ALPHA + tokens / 2)
    family = steps.family
    bags = COUNTS[:, ~family.poisson].sum(axis=1, keepdims=True) if family.gamma else 0 * tokens
    if family.gamma:
        pull = bags / (ALPHA / BETA).sum()
        np.testing.assert_allclose(rows.rate, BETA + family.delta + pull)


def test_words_begin_near_the_column_totals():
    steps, blocks = steps_of(MeanFieldSteps, "dirichlet"), blocks_of(COUNTS)
    steps.start_sweeps = 0
    draws = [steps.init(blocks, np.random.default_rng(i))[0].shape for i in range(300)]
    total = COUNTS.sum(axis=0)
    expected = np.tile(ETA + total[:, None] / 2, (1, 2))
    np.testing.assert_allclose(np.mean(draws, axis=0), expected, rtol=0.02)
    np.testing.assert_allclose(np.std(draws, axis=0), total[:, None] / 2 * [[0.1, 0.1]], rtol=0.2)


@pytest.mark.parametrize("kind", [MeanFieldSteps, EMSteps])
def test_strides_keep_three_tenths_of_every_shape(kind):
    steps, blocks = steps_of(kind, "dirichlet"), blocks_of(COUNTS)
    state, rows = steps.init(blocks, np.random.default_rng(0))
    wild = Point(
        state._replace(shape=-state.shape), [part._replace(shape=-part.shape) for part in rows]
    )
    point = steps.project(wild, Point(state._replace(cycle=4), rows))
    np.testing.assert_allclose(point.state.shape, 0.3 * state.shape)
    np.testing.assert_allclose(point.local[0].shape, 0.3 * rows[0].shape)
    assert point.state.cycle == 4


def test_cycles_are_counted_and_the_inner_loop_may_end_after_the_first():
    blocks = blocks_of(COUNTS)
    steps = steps_of(MeanFieldSteps, "dirichlet", inner=50, first_only=True)
    state, [rows] = steps.init(blocks, np.random.default_rng(0))
    assert state.cycle == 0
    settled, found = steps.local_step(blocks[0], rows, state, None)
    again, *_ = steps.row_step(blocks[0], settled, state, 0)
    np.testing.assert_allclose(again.shape, settled.shape, atol=2e-3)
    later = steps.global_step(found, state, None)
    assert later.cycle == 1
    once, _ = steps.local_step(blocks[0], rows, later, None)
    plain, *_ = steps.row_step(blocks[0], rows, later, 0)
    np.testing.assert_allclose(once.shape, plain.shape)


def test_priors_are_learnt_from_means_over_rows():
    log, mean = np.array([-1.4, -0.8]), np.array([0.5, 0.9])

    def learnt(name, learn):
        return learnt_priors(family_of(name), Hyper(ALPHA, BETA), learn, log, mean)

    for name in ("dirichlet", "gamma-poisson"):
        np.testing.assert_array_equal(learnt(name, (False, False)).alpha, ALPHA)
        np.testing.assert_array_equal(learnt(name, (False, False)).beta, BETA)
    np.testing.assert_allclose(learnt("dirichlet", (True, True)).alpha, dirichlet_alpha(ALPHA, log))
    np.testing.assert_array_equal(learnt("dirichlet", (True, True)).beta, BETA)
    both = learnt("gamma-poisson", (True, True))
    np.testing.assert_allclose(both.alpha, gamma_shape(mean, log))
    np.testing.assert_allclose(both.beta, gamma_rate(both.alpha, mean))
    shape = learnt("gamma-poisson", (True, False))
    np.testing.assert_allclose(shape.alpha, gamma_shape_at(BETA, log))
    np.testing.assert_array_equal(shape.beta, BETA)
    rate = learnt("gamma-poisson", (False, True))
    np.testing.assert_array_equal(rate.alpha, ALPHA)
    np.testing.assert_allclose(rate.beta, ALPHA / mean)


# -- the sampler ----------------------------------------------------------------------------------


class Unmoved:
    """Gamma variates that are their own shapes."""

    def standard_gamma(self, shape, size=None):
        return np.broadcast_to(np.asarray(shape, dtype=float), size or np.shape(shape))


def some_rows():
    weights = np.array([[0.6, 1.4], [0.3, 0.2]])
    return DrawnRows(weights, np.array([0.7, 0.1]), np.array([[3.0, 1.0], [0.0, 3.0]]), None)


@EVERY
def test_the_log_joint_is_that_of_weights_and_theta(name):
    steps, [block] = steps_of(DirectGibbsSteps, name), blocks_of(COUNTS)
    family, rows = steps.family, some_rows()
    if not family.gamma:
        rows = rows._replace(weights=rows.weights / rows.weights.sum(axis=1, keepdims=True))
    theta = family.normalise(np.random.default_rng(0).uniform(0.2, 1, (4, 2)))
    state = Drawn(theta, np.zeros((4, 2)), Hyper(ALPHA, BETA), 0)
    _, found = steps.local_step(block, rows, state, np.random.default_rng(1))
    expected = log_likelihood(family, rows.weights, theta)
    expected += log_prior(family, rows.weights, theta, of_logs=0)
    assert steps.objective(found, state) == pytest.approx(expected)
    assert found.n_rows == 2
    np.testing.assert_allclose(found.words.sum(axis=1), COUNTS.sum(axis=0))


@EVERY
def test_weights_are_drawn_from_their_gammas(name):
    steps, [block] = steps_of(DirectGibbsSteps, name), blocks_of(COUNTS)
    rows, family = some_rows(), steps.family
    new = steps.draw_weights(block, rows, Hyper(ALPHA, BETA), Unmoved())
    shape = ALPHA + rows.counts
    if not family.gamma:
        np.testing.assert_allclose(new.weights, shape / shape.sum(axis=1, keepdims=True))
        return
    rate = BETA + family.delta + rows.pull[:, None]
    np.testing.assert_allclose(steps.rates(rows, Hyper(ALPHA, BETA)), rate)
    np.testing.assert_allclose(new.weights, shape / rate)
    bags = COUNTS[:, ~family.poisson].sum(axis=1)
    np.testing.assert_allclose(new.pull, bags / new.weights.sum(axis=1))


def test_rows_begin_at_the_priors_mean():
    [block] = blocks_of(COUNTS)
    rows = steps_of(DirectGibbsSteps, "dirichlet").start_rows(block, None)
    np.testing.assert_allclose(rows.weights, [ALPHA / ALPHA.sum()] * 2)
    rows = steps_of(DirectGibbsSteps, "gamma-multinomial").start_rows(block, None)
    np.testing.assert_allclose(rows.weights, [ALPHA / BETA] * 2)
    np.testing.assert_allclose(rows.pull, COUNTS.sum(axis=1) / (ALPHA / BETA).sum())
    assert not rows.counts.any()
    assert not rows.z.size, "only collapsed samplers draw tokens one by one"


def test_theta_is_drawn_from_its_posterior_and_sweeps_are_counted():
    steps = steps_of(DirectGibbsSteps, "dirichlet in groups", warmup=29, learn=(True, False))
    words = np.array([[3.0, 0], [1, 2], [0, 5], [1, 1]])
    log = np.array([-1.4, -0.8])
    found = Statistics(words, 0.0, 2 * log, np.ones(2), 2)
    theta = steps.family.normalise(ETA + words)
    learnt = []
    for sweep in range(32):
        state = Drawn(theta, words, Hyper(ALPHA, BETA), sweep)
        new = steps.global_step(found, state, Unmoved())
        np.testing.assert_allclose(new.theta, theta)
        np.testing.assert_array_equal(new.counts, words)
        assert new.sweep == sweep + 1
        if new.hyper is not state.hyper:
            learnt.append(sweep)
            last = new.hyper
    # Every tenth sweep of the warm-up, and none after it.
    assert learnt == [9, 19]
    again = learnt_priors(steps.family, Hyper(ALPHA, BETA), (True, False), log, np.ones(2) / 2)
    np.testing.assert_array_equal(last.alpha, again.alpha)
    np.testing.assert_allclose(steps.add_components(new), theta)
    np.testing.assert_allclose(steps.add_components(new, np.ones((4, 2))), 1 + theta)


def test_learnt_dirichlets_match_the_mean_logarithms():
    log = np.array([-1.4, -0.8])
    alpha = dirichlet_alpha(ALPHA, log, 3000)
    np.testing.assert_allclose(psi(alpha) - psi(alpha.sum()), log, atol=1e-6)


@pytest.mark.parametrize("kind", [MeanFieldSteps, EMSteps])
def test_objectives_rise_from_a_sampled_start(kind):
    steps, blocks = steps_of(kind, "dirichlet in groups"), blocks_of(COUNTS)
    values = [value for _, value in run(steps, blocks, np.random.default_rng(0), 8)]
    assert (np.diff(values) > -1e-9).all()
    state, rows = steps.init(blocks, np.random.default_rng(0))
    # What the sampler dealt out: every token once, beside the priors.
    np.testing.assert_allclose((rows[0].shape - ALPHA).sum(axis=1), COUNTS.sum(axis=1))
    np.testing.assert_allclose((state.shape - ETA).sum(axis=1), COUNTS.sum(axis=0), rtol=1e-5)


def test_large_counts_are_scaled_down_and_up_again():
    counts = 1000 * COUNTS
    steps, blocks = steps_of(MeanFieldSteps, "dirichlet", counts), blocks_of(counts)
    state, rows = steps.init(blocks, np.random.default_rng(0))
    np.testing.assert_allclose((rows[0].shape - ALPHA).sum(axis=1), counts.sum(axis=1), rtol=0.2)
    assert (state.shape - ETA).sum() == pytest.approx(counts.sum(), rel=1e-4)
