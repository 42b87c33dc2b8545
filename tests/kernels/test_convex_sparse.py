import numpy as np
import pytest
from scipy import optimize, sparse
from tests.reference import convex as slow

from falsezero.data.blocks import Blocks
from falsezero.kernels import convex_sparse as kernel
from falsezero.kernels.sparse_pass import climb
from falsezero.models.convex import hot as sparse_solver
from falsezero.models.convex.aspect_bernoulli import ExactSteps
from falsezero.models.convex.family import Components, RowWeights
from falsezero.models.convex.sparse import SparseSteps


def sparse_problem(seed=0, missing=0.03):
    rng = np.random.default_rng(seed)
    W = rng.dirichlet(np.full(4, 0.3), 60)
    F = rng.beta(0.2, 2.0, (4, 40)).clip(1e-6, 0.99)
    X = (rng.random((60, 40)) < W @ F).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    stored = sparse.csr_array(np.where(np.isnan(X), 7.0, X))
    stored.data[stored.data == 7.0] = np.nan
    return X, Blocks.cut(stored), W, F


def at(blocks, W, F):
    return Components(F), SparseSteps.cold([RowWeights(W[b.rows]) for b in blocks])


def total(steps, blocks, state, local):
    from falsezero.inference import tree

    pairs = [steps.local_step(b, part, state, None) for b, part in zip(blocks, local, strict=True)]
    return [p[0] for p in pairs], tree.total([p[1] for p in pairs])


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_objective_is_the_likelihood_with_plain_zeros_in_second_order(missing):
    X, blocks, W, F = sparse_problem(missing=missing)
    steps = SparseSteps(ExactSteps(4, blocks))
    state, local = at(blocks, W, F)
    _, stats = total(steps, blocks, state, local)
    hot = W @ F > sparse_solver.HOT
    assert hot.sum() > 50
    expected = slow.second_order_likelihood(X, W, F, hot)
    assert steps.objective(stats, state) == pytest.approx(expected, rel=1e-12)


def test_every_step_climbs_from_any_point():
    for seed in range(20):
        _, blocks, _, F = sparse_problem(seed)
        rng = np.random.default_rng(seed)
        steps = SparseSteps(ExactSteps(4, blocks, prior=float(seed % 2)))
        state, local = at(blocks, rng.dirichlet(np.ones(4), 60), rng.random(F.shape) * 0.9)
        local, stats = total(steps, blocks, state, local)
        before = steps.objective(stats, state)
        state = steps.global_step(stats, state, None)
        for _ in range(15):
            # At an odd time above one nobody looks for hot zeros anew.
            local = [part._replace(clock=5) for part in local]
            local, stats = total(steps, blocks, state, local)
            after = steps.objective(stats, state)
            assert after >= before - 1e-9 * abs(before)
            before = after
            state = steps.global_step(stats, state, None)


def test_rows_and_columns_do_not_overshoot_together():
    x = np.zeros((3, 4))
    x[2, 3] = 1
    blocks = Blocks.cut(sparse.csr_array(x))
    weights = np.array([[0.786, 0.214], [0.963, 0.037], [0.084, 0.916]])
    components = np.array([[0.024, 0.104, 0.002, 0.001], [0.0001, 0.003, 0.002, 0.083]])
    steps = SparseSteps(ExactSteps(2, blocks))
    state, local = at(blocks, weights, components)
    local, stats = total(steps, blocks, state, local)
    after = steps.global_step(stats, state, None)
    _, then = total(steps, blocks, after, [part._replace(clock=5) for part in local])
    assert steps.objective(then, after) >= steps.objective(stats, state)


def climbed(w0, count, slope, curve):
    solved, spare = np.empty_like(w0.T), np.empty((4, len(w0)))
    climb(len(w0), w0.T.copy(), count.T.copy(), slope, curve.T.copy(), solved, spare)
    return solved.T


def test_rows_solve_their_simplex_problem():
    rng = np.random.default_rng(0)
    w0 = rng.dirichlet(np.ones(5), 20)
    count, slope = rng.gamma(1.0, 5.0, (20, 5)), rng.normal(0, 5, 5)
    curve = rng.gamma(1.0, 1.0, (20, 5))
    solved = climbed(w0, count, slope, curve)
    np.testing.assert_allclose(solved.sum(axis=1), 1, atol=1e-12)
    # At a maximum on the simplex the derivatives of all positive weights are equal.
    derivative = count / solved - slope - curve / w0 * solved
    np.testing.assert_allclose(derivative, derivative[:, :1].repeat(5, 1), rtol=1e-6, atol=1e-6)


def test_rows_do_not_depend_on_their_company():
    rng = np.random.default_rng(0)
    w0, slope = rng.dirichlet(np.ones(5), 32), rng.gamma(1.0, 2.0, 5)
    count, curve = rng.gamma(0.3, 5.0, (32, 5)), rng.gamma(1.0, 1.0, (32, 5))
    together = climbed(w0, count, slope, curve)
    for n in range(32):
        alone = climbed(w0[n : n + 1], count[n : n + 1], slope, curve[n : n + 1])
        np.testing.assert_allclose(alone[0], together[n], rtol=1e-14)


def test_a_row_without_any_observed_cell_keeps_its_weights():
    F = np.random.default_rng(0).random((3, 8)) * 0.3
    x = sparse.csr_array(np.full((1, 8), np.nan))
    blocks = Blocks.cut(x)
    w0 = np.array([[0.2, 0.3, 0.5]])
    steps = SparseSteps(ExactSteps(3, blocks))
    state, local = at(blocks, w0, F)
    (renewed,), _ = total(steps, blocks, state, local)
    np.testing.assert_allclose(renewed.weights, w0, rtol=1e-9)


def test_columns_solve_their_problem():
    rng = np.random.default_rng(1)
    a0 = rng.uniform(0.01, 0.9, (30, 4))
    ones, zeros = rng.gamma(1, 5, a0.shape), rng.gamma(0.5, 5, a0.shape)
    zeros[:10] = 0
    slope, curve = rng.gamma(1, 10, 4), rng.gamma(1, 1, a0.shape)
    solved = a0.copy()
    kernel.climb_columns(solved, ones, zeros, slope, curve, 1e-12)
    for i in np.ndindex(a0.shape):

        def loss(a, i=i):
            return -(
                ones[i] * np.log(a)
                + zeros[i] * np.log1p(-a)
                - slope[i[1]] * a
                - curve[i] / a0[i] * a**2 / 2
            )

        best = optimize.minimize_scalar(loss, bounds=(1e-12, 1 - 1e-12), method="bounded")
        assert loss(solved[i]) <= best.fun + 1e-8
