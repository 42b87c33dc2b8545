"""The sparse solvers at one point, the series of the likelihood, and what the family shares."""

import numpy as np
import pytest
from scipy import sparse
from tests.models.convex.test_steps_values import GAMMA, SHAPES, blocks_of, some_point
from tests.reference.convex import posterior

import falsezero as fz
from falsezero.data.blocks import Blocks
from falsezero.models.convex import family, series
from falsezero.models.convex.aspect_bernoulli import ExactSteps
from falsezero.models.convex.family import (
    Components,
    RowWeights,
    clip_to_reference,
    concatenate_ordered,
    floor_of,
    is_worth_sparse,
    normalise_rows,
    renewed_rows,
    smallest_weight,
    uniform_rows,
)
from falsezero.models.convex.hot import find_hot
from falsezero.models.convex.series import _grams, _highest_power, _with_bounds
from falsezero.models.convex.sparse import SparseSteps
from falsezero.models.convex.variational_sparse import SparseBayes, SparseEM, _over_plain_zeros

# -- tables of few ones ---------------------------------------------------------------------------


def sparse_point(seed=0, n=6, t=7, k=3):
    rng = np.random.default_rng(seed)
    table = (rng.random((n, t)) < 0.25).astype(float)
    return table, rng.dirichlet(np.ones(k), size=n), rng.uniform(0.01, 0.3, (k, t))


def test_the_sparse_objective_takes_plain_zeros_in_second_order():
    table, w, a = sparse_point()
    blocks = Blocks.cut(sparse.csr_array(table))
    steps = SparseSteps(ExactSteps(3, blocks, 1.2))
    [rows] = SparseSteps.cold([RowWeights(w)])
    assert rows.clock == 1
    state = Components(a)
    new, found = steps.local_step(blocks[0], rows, state, None)
    p = w @ a
    hot = np.zeros(table.shape, dtype=bool)
    start = new.hot_start
    for n in range(6):
        hot[n, new.hot_columns[start[n] : start[n + 1]]] = True
    cells = np.where(table == 1, np.log(p), np.where(hot, np.log(1 - p), -p - p**2 / 2))
    mean = (table.sum(axis=0) + 0.5) / 7
    log_prior = 0.4 * np.log(w).sum()
    log_prior += 1.2 * (mean * np.log(a) + (1 - mean) * np.log(1 - a)).sum()
    assert steps.objective(found, state) == pytest.approx(cells.sum() + log_prior)
    np.testing.assert_allclose(found.weight_sum, new.weights.sum(axis=0))
    np.testing.assert_allclose(found.gram, new.weights.T @ new.weights)
    assert (new.clock, found.rebased) == (2, 1)
    rebased = []
    for clock in range(1, 10):
        _, found = steps.local_step(blocks[0], new._replace(clock=clock), state, None)
        rebased.append(found.rebased)
    assert rebased == [1, 1, 0, 1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("prior", [0.0, 1.5])
def test_columns_are_solved_where_the_slope_vanishes(prior):
    """c1 / a - c0 / (1 - a) - sum w - (W'W f)_k a / f_k, the prior's ones and zeros counted in."""
    table, w, f = sparse_point(n=40)
    blocks = Blocks.cut(sparse.csr_array(table))
    steps = SparseSteps(ExactSteps(3, blocks, prior))
    [rows] = SparseSteps.cold([RowWeights(w)])
    _, found = steps.local_step(blocks[0], rows, Components(f), None)
    a = steps.global_step(found, Components(f), None).components
    mean = (table.sum(axis=0) + 0.5) / 41
    ones, zeros = f * found.ones.T + prior * mean, (1 - f) * found.zeros.T + prior * (1 - mean)
    slope = ones / a - zeros / (1 - a) - found.weight_sum[:, None] - (found.gram @ f) * a / f
    inside = (a > 1e-9) & (a < 1 - 1e-9)
    assert inside.mean() > 0.9
    np.testing.assert_allclose(slope[inside], 0, atol=1e-6 * found.weight_sum.max())


def test_rows_of_one_block_begin_as_those_of_the_exact_solver():
    table, _, _ = sparse_point(n=9)
    [block] = blocks = Blocks.cut(sparse.csr_array(table))
    exact = ExactSteps(3, blocks, 1.0)
    rows = SparseSteps(exact).init_rows(block, np.random.default_rng(4))
    expected = exact.init_rows(block, np.random.default_rng(4))
    np.testing.assert_allclose(rows.weights, expected.weights)
    assert rows.clock == 1
    assert not rows.hot_start.any()


@pytest.mark.parametrize("missing", [False, True])
def test_hot_zeros_are_all_zeros_above_the_limit(missing):
    rng = np.random.default_rng(0)
    table = (rng.random((30, 9)) < 0.2).astype(float)
    if missing:
        table[rng.random(table.shape) < 0.2] = np.nan
    w, a = rng.dirichlet(np.ones(3), size=30), rng.uniform(0, 0.9, (3, 9))
    [block] = Blocks.cut(sparse.csr_array(table))
    found = find_hot(block, w, a)
    expected = [
        np.flatnonzero((row == 0) & (p > 0.15)) for row, p in zip(table, w @ a, strict=True)
    ]
    assert len(expected[0]) > 0, "the first row has some"
    np.testing.assert_array_equal(np.diff(found["hot_start"]), [len(each) for each in expected])
    np.testing.assert_array_equal(found["hot_columns"], np.concatenate(expected))


def test_counts_of_a_batch_without_visiting_plain_zeros():
    table, w, a = sparse_point()
    blocks = Blocks.cut(sparse.csr_array(table))
    steps = SparseSteps(ExactSteps(3, blocks, 0.0))
    [rows] = SparseSteps.cold([RowWeights(w)])
    ones, zeros = steps.batch_counts(blocks[0], rows, Components(a))
    by_one, by_zero = np.zeros((2, 3, 7))
    for n, t in np.ndindex(6, 7):
        p = w[n] @ a[:, t]
        if table[n, t]:
            by_one[:, t] += w[n] * a[:, t] / p
        else:
            by_zero[:, t] += w[n] * (1 - a[:, t]) * (1 + p)
    np.testing.assert_allclose(ones, by_one)
    np.testing.assert_allclose(zeros, by_zero)
    state = steps.state_of(ones, zeros).components
    np.testing.assert_allclose(state, np.clip(ones / (ones + zeros), 1e-12, 1))


def test_sums_over_plain_zeros():
    _, w, a = sparse_point()
    expected = np.zeros((6, 3))
    for n, k, t in np.ndindex(6, 3, 7):
        p = w[n] @ a[:, t]
        expected[n, k] += (1 - a[k, t]) * (1 + p) + p**2
    np.testing.assert_allclose(_over_plain_zeros(w, a), expected)


def test_the_sparse_bound_takes_plain_zeros_in_second_order():
    table, w, _ = sparse_point()
    blocks = Blocks.cut(sparse.csr_array(table))
    steps = SparseBayes(3, blocks, SHAPES, GAMMA)
    rng = np.random.default_rng(1)
    state = steps.sources(rng.uniform(0, 0.5, (3, 7)), rng.uniform(5, 9, (3, 7)))
    [rows] = steps.rows(w, blocks)
    assert rows.clock == 1
    factors, divergence = steps.row_factors(rows)
    total = factors.sum(axis=1, keepdims=True)
    share, g = factors / total, 1 - state.zeros
    new, found = steps.local_step(blocks[0], rows, state, None)
    hot = np.zeros(table.shape, dtype=bool)
    for n in range(6):
        hot[n, new.hot_columns[new.hot_start[n] : new.hot_start[n + 1]]] = True
    p = share @ g
    cells = np.where(
        table == 1, np.log(share @ state.ones), np.where(hot, np.log(1 - p), -p - p**2 / 2)
    )
    expected = cells.sum() + 7 * np.log(total).sum() - divergence - state.divergence
    assert steps.objective(found, state) == pytest.approx(expected)
    counts = np.zeros((6, 3))
    by_one, by_zero = np.zeros((2, 3, 7))
    for n, t in np.ndindex(6, 7):
        if table[n, t]:
            cause = share[n] * state.ones[:, t] / (share[n] @ state.ones[:, t])
            by_one[:, t] += cause
        elif hot[n, t]:
            cause = share[n] * state.zeros[:, t] / (1 - p[n, t])
            by_zero[:, t] += cause
        else:
            # A plain zero's shares, in first order of p, and what they leave of the cell.
            cause = share[n] * ((1 - g[:, t]) * (1 + p[n, t]) + p[n, t] ** 2)
            by_zero[:, t] += share[n] * (1 - g[:, t]) * (1 + p[n, t])
        counts[n] += cause
    np.testing.assert_allclose(new.counts, GAMMA + counts)
    after = steps.global_step(found, state, None)
    np.testing.assert_allclose(after.alpha, 0.6 + by_one, rtol=1e-6)
    np.testing.assert_allclose(after.beta, 0.8 + by_zero, rtol=1e-6)
    assert new.clock == 2


def test_rows_of_a_sparse_table_with_one_cell_are_renewed():
    table = np.array([[np.nan, 1, np.nan], [np.nan] * 3])
    blocks = Blocks.cut(sparse.csr_array(table))
    steps = SparseEM(2, blocks, SHAPES)
    [rows] = steps.rows(np.full((2, 2), 0.5), blocks)
    new = steps.renew_rows_from(blocks[0], rows, np.array([[3.0, 1.0], [0.0, 0.0]]))
    np.testing.assert_allclose(new.weights, [[0.75, 0.25], [0.5, 0.5]])


# -- the series of the likelihood -----------------------------------------------------------------


@pytest.mark.parametrize(("k", "power"), [(1, 4), (21, 4), (22, 3), (48, 3), (49, 2)])
def test_powers_that_are_affordable(k, power):
    assert _highest_power(k) == power


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("at_a_time", [3, 4096])
def test_gram_matrices_are_sums_of_powers(order, at_a_time, monkeypatch):
    monkeypatch.setattr(series, "_AT_A_TIME", at_a_time)
    _, w, a = sparse_point()
    both = zip(_grams(w, order), _grams(a.T, order), strict=True)
    found = [np.sum(of_rows * of_columns) for of_rows, of_columns in both]
    p = w @ a
    np.testing.assert_allclose(found, [(p**j).sum() for j in range(1, order + 1)])
    sizes = [(3,), (3, 3), (6, 3), (6, 6)]
    assert [part.shape for part in _grams(w[:0], order)] == sizes[:order]


def test_the_rest_of_the_series_lies_between_its_bounds():
    found = _with_bounds(np.array([5.0, 0.6, 0.1]), -20.0, 0.25, 0.003)
    known = 5.0 + 0.6 / 2 + 0.1 / 3
    low = min(0.1**2 / 0.6, 0.25 * 0.1) / 4
    high = 0.25 * 0.1 / (4 * 0.75)
    assert found.value == pytest.approx(-20 - known - (low + high) / 2)
    assert found.error == pytest.approx((high - low) / 2 + 0.003)
    nothing = _with_bounds(np.array([0.0, 0.0]), -20.0, 0.25, 0.0)
    assert nothing == (-20, 0)


# -- what the family shares -----------------------------------------------------------------------


def test_weights_of_rows():
    np.testing.assert_allclose(
        clip_to_reference(np.array([0.0, 1.0, 0.4]), np.full(3, 0.5)), [0.15, 0.85, 0.4]
    )
    assert floor_of(np.float64) == 1e-12
    assert floor_of(np.float32) == 1e-6
    assert smallest_weight(np.float64) ** 2 == pytest.approx(np.finfo(float).tiny)
    rows = normalise_rows(np.array([[3.0, 1.0], [0.0, 2.0]]))
    np.testing.assert_allclose(rows, [[0.75, 0.25], [0, 1]], atol=1e-12)
    assert rows[1, 0] > 0
    parts = [np.array([[1.0, 2.0, 3.0]]), np.array([[4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])]
    np.testing.assert_array_equal(
        concatenate_ordered(parts, np.array([2, 0])), [[3, 1], [6, 4], [9, 7]]
    )
    [uniform] = uniform_rows(blocks_of(), 4)
    np.testing.assert_array_equal(uniform.weights, np.full((4, 4), 0.25))


def test_rows_are_renewed_where_something_was_observed():
    [block] = blocks_of()
    w, stat = some_point()[1], np.full((4, 2), 2.0)
    stat[3] = 0
    new = renewed_rows(block, w, stat)
    np.testing.assert_allclose(new, w)
    np.testing.assert_allclose(renewed_rows(block, w, stat * [[1, 3]])[3], w[3])
    drawn = renewed_rows(block, w, stat, share=0.5)
    np.testing.assert_allclose(drawn[3], [0.5, 0.5])
    np.testing.assert_allclose(drawn[0], (2 * w[0] + 0.5) / 3)
    [single] = blocks_of([[np.nan, 1, np.nan, np.nan]])
    np.testing.assert_allclose(
        renewed_rows(single, w[:1], np.array([[1.0, 0.0]])), [[1, 0]], atol=1e-6
    )


def test_causes_of_cells_are_bayes_rule():
    rng = np.random.default_rng(0)
    table = (rng.random((5, 4)) < 0.5).astype(float)
    table[2, 1] = np.nan
    model = fz.AspectBernoulli(3)
    model.components_, w = rng.uniform(0.1, 0.9, (3, 4)), rng.dirichlet(np.ones(3), size=5)
    [block] = Blocks.cut(table)
    expected = posterior(table, w, model.components_)
    expected[np.isnan(table)] = np.nan
    np.testing.assert_allclose(model.cell_causes(block, w), expected.transpose(2, 0, 1))
    [some] = Blocks.cut(table[:, [3, 1]])
    found = model.cell_posterior(some, w, np.array([3, 1]))
    np.testing.assert_allclose(found, expected[:, [3, 1]].transpose(2, 0, 1))


def test_which_container_a_table_is_kept_in(monkeypatch):
    def kept(values, solver="auto"):
        return sparse.issparse(fz.AspectBernoulli(2, solver=solver)._store(values))

    small = np.eye(3)
    assert not kept(small)
    assert not kept(sparse.csr_array(small))
    assert kept(sparse.csr_array(small), "sparse")
    assert kept(small, "sparse")
    assert not kept(small, "exact")
    assert is_worth_sparse((4001, 1000), 4001 * 40 - 1)
    assert not is_worth_sparse((4001, 1000), 4001 * 40)
    assert not is_worth_sparse((4000, 1000), 0)
    monkeypatch.setattr(family, "_LARGE", 40)
    full, rare = np.ones((11, 10)), np.zeros((11, 10))
    rare[0, 0] = 1
    # A sparse table stays as it is where it is worth it, or has twice as many cells as are large.
    expected = {4: (False, False), 5: (False, True), 8: (False, True), 9: (True, True)}
    for n_rows, sparse_kept in expected.items():
        found = [kept(sparse.csr_array(table[:n_rows])) for table in (full, rare)]
        assert tuple(found) == sparse_kept
        # A dense one is made sparse only where that is worth it.
        assert not kept(full[:n_rows])
        assert kept(rare[:n_rows]) == (n_rows > 4)


def test_components_of_a_table_in_single_precision_are_what_that_can_hold():
    table = fz.datasets.make_sparse_aspect_bernoulli(600, 200, 4, random_state=0).values
    fits = [
        fz.AspectBernoulli(4, prior=prior, solver="sparse", tol=0, max_iter=60, random_state=0).fit(
            table.astype(dtype)
        )
        for prior in (0, 1)
        for dtype in (np.float32, float)
    ]
    for single, double in (fits[:2], fits[2:]):
        rounded = single.components_.astype(np.float32).astype(float)
        np.testing.assert_array_equal(single.components_, rounded)
        steps = [row for row in single.history_ if not row["rebased"]]
        gains = np.diff([row["objective"] for row in steps])
        assert gains.min() > -1e-9 * abs(single.objective_)
        assert single.log_likelihood_ == pytest.approx(double.log_likelihood_, rel=1e-3)
