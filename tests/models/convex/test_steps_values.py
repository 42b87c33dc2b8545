"""Steps of the convex family at one point, by loops over the cells of a small table."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import betaln, digamma

import falsezero as fz
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Point
from falsezero.models.convex import row_prior
from falsezero.models.convex.aspect_bernoulli import ExactSteps
from falsezero.models.convex.averaged import Averaged, AveragedSteps
from falsezero.models.convex.family import (
    Components,
    RowWeights,
)
from falsezero.models.convex.row_prior import PriorCounts, RegressedBayes, RowRegression
from falsezero.models.convex.variational import RowCounts, VariationalBayes, VariationalEM

TABLE = np.array(
    [[1.0, 0, np.nan, 1], [0, 0, 1, 0], [1, 1, 0, 0], [np.nan, np.nan, np.nan, np.nan]]
)
SEEN = ~np.isnan(TABLE)
MEAN = (np.nansum(TABLE, axis=0) + 0.5) / (SEEN.sum(axis=0) + 1)


def blocks_of(table=TABLE):
    return Blocks.cut(np.asarray(table, dtype=float))


def some_point(k=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 0.9, (k, 4)), rng.dirichlet(np.ones(k), size=4)


def expected_counts(weights, ones, zeros):
    """Ones and zeros of each component and column, cells of each row, and the log bound."""
    k, n_columns = ones.shape
    by_one, by_zero = np.zeros((2, k, n_columns))
    by_row, total = np.zeros(weights.shape), 0.0
    for n, t in zip(*np.nonzero(SEEN), strict=True):
        joint = weights[n] * (ones if TABLE[n, t] else zeros)[:, t]
        total += np.log(joint.sum())
        (by_one if TABLE[n, t] else by_zero)[:, t] += joint / joint.sum()
        by_row[n] += joint / joint.sum()
    return by_one, by_zero, by_row, total


# -- Aspect Bernoulli -----------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [0.0, 3.0])
def test_a_step_of_em_with_pseudo_observations(prior):
    blocks, (a, w) = blocks_of(), some_point()
    steps = ExactSteps(2, blocks, prior)
    np.testing.assert_allclose(steps.column_mean, MEAN)
    new, found = steps.local_step(blocks[0], RowWeights(w.copy()), Components(a), None)
    by_one, by_zero, by_row, total = expected_counts(w, a, 1 - a)
    rows = by_row + prior / 2
    if not prior:
        rows[3] = w[3]
    np.testing.assert_allclose(new.weights, rows / rows.sum(axis=1, keepdims=True))
    log_prior = prior / 2 * np.log(w).sum()
    log_prior += prior * (MEAN * np.log(a) + (1 - MEAN) * np.log(1 - a)).sum()
    assert steps.objective(found, Components(a)) == pytest.approx(total + log_prior)
    ones, zeros = by_one + prior * MEAN, by_zero + prior * (1 - MEAN)
    state = steps.global_step(found, Components(a), None)
    np.testing.assert_allclose(state.components, ones / (ones + zeros))
    mean = (by_one.sum(axis=0) + 0.5) / (by_one.sum(axis=0) + by_zero.sum(axis=0) + 1)
    known = steps.state_of(by_one, by_zero).components
    np.testing.assert_allclose(known, (by_one + prior * mean) / (by_one + by_zero + prior))


def test_components_from_no_counts_are_column_means():
    steps = ExactSteps(2, blocks_of(), 0.0)
    ones, zeros = np.array([[0.0, 2, 0, 0], [3, 0, 0, 0]]), np.array([[0.0, 2, 0, 4], [1, 0, 0, 0]])
    found = steps.state_of(ones, zeros).components
    np.testing.assert_allclose(found[0, 0], 3.5 / 5)
    np.testing.assert_allclose(found[:, 1], [0.5, 2.5 / 5])
    np.testing.assert_allclose(found[:, 2], 0.5)
    assert found[0, 3] == steps.floor


def test_components_begin_between_a_row_and_noise():
    blocks = blocks_of(TABLE[:3])
    steps = ExactSteps(2, blocks)
    mean = steps.column_mean
    draws = np.array([
        steps.init_state(blocks, np.random.default_rng(i)).components for i in range(1500)
    ])  # fmt: skip
    rows = np.where(np.isnan(TABLE[:3]), mean, TABLE[:3])
    # Twice a uniform times the mean, but at most 1, has its own mean.
    noise = np.where(2 * mean <= 1, mean, 1 - 1 / (4 * mean))
    expected = 0.6 * rows.mean(axis=0) + 0.4 * noise
    np.testing.assert_allclose(draws.mean(axis=(0, 1)), expected, atol=0.015)
    near = 0.6 * rows[:, None]
    assert (draws[:, 0] >= near.min(axis=(0, 1)) - 1e-9).all()
    highest = 0.6 * rows.max(axis=0) + 0.4 * np.minimum(2 * mean, 1)
    np.testing.assert_allclose(draws.max(axis=(0, 1)), highest, atol=0.005)
    _, [local] = steps.init(blocks, np.random.default_rng(0))
    np.testing.assert_allclose(local.weights.sum(axis=1), 1)
    many = np.concatenate([
        steps.init_rows(blocks[0], np.random.default_rng(i)).weights for i in range(2000)
    ])  # fmt: skip
    np.testing.assert_allclose(np.quantile(many[:, 0], [0.25, 0.75]), [0.25, 0.75], atol=0.03)
    more = ExactSteps(9, blocks).init_state(blocks, np.random.default_rng(0)).components
    assert more.shape == (9, 4), "rows may be picked more than once"


def test_strides_stay_inside():
    steps = ExactSteps(2, blocks_of())
    a, w = some_point()
    wild = Point(Components(a - 9), [RowWeights(w - 9)])
    point = steps.project(wild, Point(Components(a), [RowWeights(w)]))
    np.testing.assert_allclose(point.state.components, 0.3 * a)
    np.testing.assert_allclose(point.local[0].weights, w)
    over = steps.project(
        Point(Components(a + 9), [RowWeights(w)]), Point(Components(a), [RowWeights(w)])
    )
    np.testing.assert_allclose(over.state.components, 1 - 0.3 * (1 - a))
    np.testing.assert_allclose(steps.clip(np.array([-1.0, 2.0])).components, [1e-12, 1 - 1e-12])


def test_which_prior_and_which_solver():
    model = fz.AspectBernoulli(2, random_state=0)
    blocks = blocks_of()
    assert model._steps(blocks).prior == 1
    assert fz.AspectBernoulli(2, prior=3)._steps(blocks).prior == 3
    model.fit(TABLE)
    assert model.is_averaged_
    assert not fz.AspectBernoulli(2, solver="exact", random_state=0).fit(TABLE).is_averaged_
    assert not fz.AspectBernoulli(2, prior=1, random_state=0).fit(TABLE).is_averaged_
    plain = fz.AspectBernoulli(2, prior=0, random_state=0, max_iter=5, tol=1.0).fit(TABLE)
    assert plain.n_parameters_ == 4 * 2 + 1 * 4
    model.point_shares_ = np.array([0.5, 0.2, 0.125, 0.126, 0.049])
    assert model.n_parameters_ == 4 * 2 + 3 - 1
    assert (np.diff(model.row_weights_.sum(axis=0)) <= 0).all()
    assert plain.log_likelihood_ == pytest.approx(
        expected_counts(plain.row_weights_, plain.components_, 1 - plain.components_)[3]
    )


def test_a_step_over_points_of_a_lattice():
    blocks, steps = blocks_of(), AveragedSteps(2, blocks_of(), 1.5)
    a = some_point()[0]
    shares = np.random.default_rng(1).dirichlet(np.ones(len(steps.points)))
    state = Averaged(a, shares)
    local, found = steps.local_step(blocks[0], None, state, None)
    by_one, by_zero, total = 1.5 * np.tile(MEAN, (2, 1)), 1.5 * np.tile(1 - MEAN, (2, 1)), 0.0
    taken, weights = np.zeros(len(shares)), np.zeros((4, 2))
    for n in range(4):
        joint = shares.copy()
        for t in np.flatnonzero(SEEN[n]):
            p = steps.points @ a[:, t]
            joint = joint * (p if TABLE[n, t] else 1 - p)
        total += np.log(joint.sum())
        posterior = joint / joint.sum()
        taken += posterior
        weights[n] = posterior @ steps.points
        for t in np.flatnonzero(SEEN[n]):
            factor = a[:, t] if TABLE[n, t] else 1 - a[:, t]
            cause = steps.points * factor
            cause = posterior @ (cause / cause.sum(axis=1, keepdims=True))
            (by_one if TABLE[n, t] else by_zero)[:, t] += cause
    np.testing.assert_allclose(local.weights, weights)
    new = steps.global_step(found, state, None)
    np.testing.assert_allclose(new.components, by_one / (by_one + by_zero))
    np.testing.assert_allclose(new.proportions, taken / taken.sum())
    start, rows = steps.init(blocks, np.random.default_rng(0))
    np.testing.assert_allclose(start.proportions, 1 / len(steps.points))
    np.testing.assert_allclose(rows[0].weights, 0.5)


# -- binary ICA -----------------------------------------------------------------------------------

SHAPES, GAMMA = (0.6, 0.8), 0.7


def geometric(counts, axis):
    """exp<log> of Dirichlet (or Beta) parameters along an axis."""
    return np.exp(digamma(counts) - digamma(counts.sum(axis=axis, keepdims=True)))


def some_counts():
    rng = np.random.default_rng(2)
    return rng.uniform(0.2, 3, (2, 2, 4)), rng.uniform(0.8, 3, (4, 2))


@pytest.mark.parametrize("inner", [1, 3])
def test_a_step_of_variational_bayes(inner):
    blocks, (cells, counts) = blocks_of(), some_counts()
    steps = VariationalBayes(2, blocks, SHAPES, GAMMA, inner)
    state = steps.sources(*cells)
    alpha, beta = cells[0] + 0.6, cells[1] + 0.8
    np.testing.assert_allclose(state.alpha, alpha)
    np.testing.assert_allclose(state.beta, beta)
    both = geometric(np.stack([alpha, beta]), 0)
    np.testing.assert_allclose(state.ones, both[0])
    np.testing.assert_allclose(state.zeros, both[1])
    divergence = betaln(0.6, 0.8) - betaln(alpha, beta)
    divergence += cells[0] * np.log(both[0]) + cells[1] * np.log(both[1])
    assert state.divergence == pytest.approx(divergence.sum())
    new, found = steps.local_step(blocks[0], RowCounts(counts.copy()), state, None)
    first = expected_counts(geometric(counts, 1), *both)[3]
    now = counts
    for _ in range(inner):
        by_one, by_zero, by_row, _ = expected_counts(geometric(now, 1), *both)
        now = GAMMA + by_row
    np.testing.assert_allclose(new.counts, now, rtol=1e-6)
    after = steps.global_step(found, state, None)
    np.testing.assert_allclose(after.alpha, by_one + 0.6, rtol=1e-6)
    np.testing.assert_allclose(after.beta, by_zero + 0.8, rtol=1e-6)
    gained = steps.expected_counts(found, state)
    np.testing.assert_allclose(gained[0], by_one, rtol=1e-6)
    np.testing.assert_allclose(gained[1], by_zero, rtol=1e-6)
    rows = 0.0
    for q in counts:
        log = digamma(q) - digamma(q.sum())
        at = np.full(2, 0.5)
        rows += stats.dirichlet(q).logpdf(at) - stats.dirichlet([GAMMA] * 2).logpdf(at)
        rows += ((q - GAMMA) * (log - np.log(0.5))).sum()
    expected = first - rows - divergence.sum()
    assert steps.objective(found, state) == pytest.approx(expected)
    assert steps.is_rugged
    assert not VariationalBayes(2, blocks, SHAPES, 1.0).is_rugged


def test_sources_begin_around_the_column_means():
    blocks = blocks_of()
    steps = VariationalEM(2, blocks, SHAPES)

    class Half:
        def dirichlet(self, alpha, size):
            return np.full((size, 2), 0.5)

        def random(self, size):
            return np.array([[0.1] * 4, [0.9] * 4])

    state, [rows] = steps.init(blocks, Half())
    observed = SEEN.sum(axis=0)
    mean = np.array([np.clip(2 * u * MEAN, 0, 0.5 + 0.5 * u) for u in (0.1, 0.9)])
    np.testing.assert_allclose(state.alpha, 0.6 + observed / 2 * mean)
    np.testing.assert_allclose(state.beta, 0.8 + observed / 2 * (1 - mean))
    np.testing.assert_allclose(rows.weights, 0.5)
    [counts] = VariationalBayes(2, blocks, SHAPES, GAMMA).rows(np.full((4, 2), 0.5), blocks)
    np.testing.assert_allclose(counts.counts, np.tile(GAMMA + 0.5 * SEEN.sum(axis=1)[:, None], 2))


def test_components_are_taken_out_and_strides_kept_inside():
    blocks, (cells, counts) = blocks_of(), some_counts()
    steps = VariationalBayes(2, blocks, SHAPES, GAMMA)
    point = Point(steps.sources(*cells), [RowCounts(counts)])
    np.testing.assert_allclose(steps.cells(point.state), cells.sum(axis=(0, 2)))
    less = steps.without(point, 0)
    np.testing.assert_allclose(less.state.alpha, [[0.6] * 4, cells[0, 1] + 0.6])
    np.testing.assert_allclose(less.state.beta, [[0.8] * 4, cells[1, 1] + 0.8])
    both = counts[:, 1] + counts[:, 0] - GAMMA
    np.testing.assert_allclose(less.local[0].counts, np.stack([np.full(4, GAMMA), both], axis=1))
    wild = point._replace(
        state=point.state._replace(alpha=-point.state.alpha, beta=-point.state.beta),
        local=[RowCounts(counts - 99 * np.array([1, 0]))],
    )
    back = steps.project(wild, point)
    np.testing.assert_allclose(back.state.alpha, 0.3 * cells[0] + 0.6)
    np.testing.assert_allclose(back.state.beta, 0.3 * cells[1] + 0.8)
    known = counts - GAMMA
    moved = np.stack([0.3 * known[:, 0], known[:, 1]], axis=1)
    moved *= known.sum(axis=1, keepdims=True) / moved.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(back.local[0].counts, GAMMA + moved)
    still = steps.project(point._replace(local=wild.local), point)
    assert still.state is point.state
    em = VariationalEM(2, blocks, SHAPES)
    weights = some_point()[1]
    local = em.project_rows(RowWeights(weights - [[9, 0]]), RowWeights(weights)).weights
    moved = np.stack([0.3 * weights[:, 0], weights[:, 1]], axis=1)
    np.testing.assert_allclose(local, moved / moved.sum(axis=1, keepdims=True))
    taken = em.rows_without(RowWeights(weights), 0, [1]).weights
    np.testing.assert_allclose(taken, [[0, 1]] * 4)


def test_rows_with_a_prior_of_their_own():
    blocks, (_, counts) = blocks_of(), some_counts()
    steps = RegressedBayes(2, blocks, SHAPES, GAMMA)
    prior = np.random.default_rng(3).uniform(0.3, 2, (4, 2))
    factors, divergence = steps.row_factors(PriorCounts(counts, prior))
    np.testing.assert_allclose(factors, geometric(counts, 1))
    total, at = 0.0, np.array([0.3, 0.7])
    for q, p in zip(counts, prior, strict=True):
        log = digamma(q) - digamma(q.sum())
        total += stats.dirichlet(q).logpdf(at) - stats.dirichlet(p).logpdf(at)
        total += ((q - p) * (log - np.log(at))).sum()
    assert divergence == pytest.approx(total)
    seen = SimpleNamespace(row_stat=np.full((4, 2), 2.0))
    renewed = steps.renew_rows(None, PriorCounts(counts, prior), factors, seen)
    np.testing.assert_allclose(renewed.counts, prior + 2 * factors)
    moved = steps.project_rows(RowCounts(counts * [[-1, 1]]), RowCounts(counts)).counts
    expected = counts * [[0.3, 1]]
    expected *= counts.sum(axis=1, keepdims=True) / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(moved, expected)


def some_regression():
    rng = np.random.default_rng(4)
    variables = np.column_stack([np.ones(6), rng.normal(size=6)])
    counts = rng.uniform(0.5, 4, (6, 3))
    regression = RowRegression(2, 3, 0.6)
    return regression, variables, counts, rng.normal(size=(2, 3))


def test_the_penalty_of_row_coefficients_is_a_log_density():
    regression, _, _, b = some_regression()
    prior = regression.start()
    assert prior.total == pytest.approx(1.8)
    assert prior.width2 == 1
    assert not prior.coefficients.any()
    prior = prior._replace(coefficients=b, width2=np.array(0.7))
    expected = 0.5 * (b[0] ** 2).sum() / 4 + 0.5 * (b[1] ** 2).sum() / 0.7
    # Three slopes of this width, and the width's own prior of one more slope of width 1.
    expected += 0.5 * (3 + 1) * np.log(0.7) + 0.5 * 1 / 0.7
    assert regression.penalty(prior) == pytest.approx(expected)
    assert row_prior._width2(b) == pytest.approx(((b[1] ** 2).sum() + 1) / 4)
    best = minimize(
        lambda w: regression.penalty(prior._replace(width2=np.exp(w[0]))), [0.0], tol=1e-10
    ).x
    assert row_prior._width2(b) == pytest.approx(np.exp(best[0]), rel=1e-4)


def test_row_coefficients_are_learnt_by_scoring_and_a_line_search():
    regression, variables, counts, b = some_regression()
    prior = regression.start()._replace(coefficients=b)
    vector = regression.statistics(prior, variables, counts)
    ahead = regression.learn(vector, prior)
    np.testing.assert_array_equal(ahead.coefficients, b)
    slope, information = vector[6:12], vector[12:].reshape(6, 6)
    precision = np.repeat([1 / 4, 1 / 1], 3)
    step = np.linalg.solve(information + np.diag(precision), slope - precision * b.ravel())
    np.testing.assert_allclose(ahead.direction.ravel(), step)
    vector = regression.statistics(ahead, variables, counts)
    values = vector[:6] - [regression.penalty(ahead.ahead(x)) for x in row_prior.LENGTHS]
    best = row_prior.LENGTHS[np.argmax(values)]
    assert best > 0
    after = regression.learn(vector, ahead)
    np.testing.assert_allclose(after.coefficients, b + best * ahead.direction)
    assert not after.direction.any()
    assert after.width2 == pytest.approx(row_prior._width2(after.coefficients))
