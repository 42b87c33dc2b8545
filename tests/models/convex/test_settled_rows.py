"""Rows at their optimum, given the components: each by itself, whatever block it lies in."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from scipy.special import digamma, gammaln

from falsezero.data import blocks as data_blocks
from falsezero.data.blocks import Blocks
from falsezero.models.convex import rows as rows_of
from falsezero.models.convex.family import RowWeights, fused_pass
from falsezero.models.convex.rows import settled_sparse_weights, settled_weights
from falsezero.models.convex.sparse import SparseRows, SparseSteps
from falsezero.models.convex.variational import RowCounts, VariationalBayes
from falsezero.models.convex.variational_sparse import SparseEM

N = 70
GAMMA = 1.3


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(data_blocks, "_tile_rows", lambda n_columns: 16)


def many_rows(missing=0.2):
    """More rows than a tile holds, few columns; nothing is seen of row 5."""
    rng = np.random.default_rng(0)
    table = (rng.random((N, 4)) < 0.4).astype(float)
    table[rng.random(table.shape) < missing] = np.nan
    table[5] = np.nan if missing else 0
    return table, rng.uniform(0.05, 0.9, (3, 4)), rng.uniform(0.05, 0.9, (3, 4))


def slopes(row, w, ones, zeros, share):
    """Derivatives along each weight; equal where a weight is free, lower where it is 0."""
    factors = np.where(row == 1, ones, zeros)[:, ~np.isnan(row)]
    return (factors / (w @ factors)).sum(axis=1) + share / np.maximum(w, 1e-300)


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_weights_are_where_no_slope_is_left(share):
    table, ones, zeros = many_rows()
    [block] = Blocks.cut(table, block_rows=N)
    assert sum(1 for _ in block.tiles()) == 5
    start = np.full((N, 3), 1 / 3)
    found = settled_weights(block, start, ones, zeros, share)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-9)
    for n in range(N):
        if np.isnan(table[n]).all() and not share:
            continue
        slope = slopes(table[n], found[n], ones, zeros, share)
        top = found[n] @ slope
        assert (slope <= top + 1e-4 * max(1, abs(top))).all()
    plain = settled_weights(block, start, ones, share=share)
    both = settled_weights(block, start, ones, 1 - ones, share)
    np.testing.assert_array_equal(plain, both)


def surrogate(row, w, ones, others, hot):
    """The likelihood of a row with plain zeros in second order."""
    p = w @ others
    cells = np.where(hot, np.log1p(-p), -p - p**2 / 2)
    return np.where(row == 1, np.log(w @ ones), np.where(np.isnan(row), 0.0, cells)).sum()


@pytest.mark.parametrize("share", [0.0, 0.6])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_sparse_weights_are_the_maximum_of_their_surrogate(share, missing, monkeypatch):
    monkeypatch.setattr(rows_of, "_ROWS_AT_A_TIME", 16)
    table, ones, _ = many_rows(missing)
    table, others = table[:40], np.random.default_rng(1).uniform(0.02, 0.4, (3, 4))
    [block] = Blocks.cut(sparse.csr_array(table), block_rows=40)
    [start] = SparseSteps.cold([RowWeights(np.full((40, 3), 1 / 3))])
    found = settled_sparse_weights(block, start, ones, others, share)
    p = found.weights @ others
    for n in range(40):
        if np.isnan(table[n]).all() and not share:
            continue
        hot = np.zeros(4, dtype=bool)
        hot[found.hot_columns[found.hot_start[n] : found.hot_start[n + 1]]] = True
        # At the limit, lists and weights may go on changing each other.
        clear = np.abs(p[n] - 0.15) > 0.02
        np.testing.assert_array_equal(hot[clear], ((table[n] == 0) & (p[n] > 0.15))[clear])

        def less(x, row=table[n], hot=hot):
            w = np.exp(x - np.logaddexp.reduce(x))
            return -surrogate(row, w, ones, others, hot) - share * np.log(w).sum()

        best = minimize(less, np.zeros(3), tol=1e-10)
        own = less(np.log(np.maximum(found.weights[n], 1e-12)))
        assert own <= best.fun + 1e-5


def test_counts_settle_row_by_row():
    """Bayesian rows of a block as if each were alone, at the optimum of their bound."""
    table, _, _ = many_rows()
    blocks = Blocks.cut(table, block_rows=N)
    steps = VariationalBayes(3, blocks, (0.6, 0.8), GAMMA)
    rng = np.random.default_rng(2)
    state = steps.sources(rng.uniform(1, 5, (3, 4)), rng.uniform(1, 5, (3, 4)))
    start = np.full((N, 3), GAMMA + 1.0)
    found = steps.settle(blocks[0], RowCounts(start), state).counts
    np.testing.assert_array_equal(start, GAMMA + 1.0)
    for n in (0, 5, 17, 40, N - 1):
        seen = ~np.isnan(table[n])
        factors = np.where(table[n] == 1, state.ones, state.zeros)[:, seen]

        def less(x, factors=factors):
            q = np.exp(x)
            log = digamma(q) - digamma(q.sum())
            divergence = gammaln(q.sum()) - gammaln(3 * GAMMA) + 3 * gammaln(GAMMA)
            divergence += -gammaln(q).sum() + ((q - GAMMA) * log).sum()
            return divergence - np.log(np.exp(log) @ factors).sum()

        best = minimize(less, np.zeros(3), tol=1e-12)
        np.testing.assert_allclose(found[n], np.exp(best.x), rtol=2e-3)
        assert less(np.log(found[n])) <= best.fun + 1e-7


def terms(row, w, ones, zeros, share):
    """Value, gradient and minus the Hessian (upper triangle) of a row's log likelihood."""
    factors = np.where(row == 1, ones, zeros)[:, ~np.isnan(row)]
    p = w @ factors
    curve = (factors / p**2) @ factors.T + np.diag(share / w**2)
    gradient = (factors / p).sum(axis=1) + share / w
    return np.log(p).sum() + share * np.log(w).sum(), gradient, curve[np.triu_indices(3)]


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_the_surface_of_a_row_and_its_derivatives(share):
    table, ones, zeros = many_rows()
    [block] = Blocks.cut(table, block_rows=N)
    w = np.random.default_rng(3).dirichlet(np.ones(3), size=4)
    rows = np.array([2, 5, 9, 11])
    tile = next(iter(block.tiles()))
    surface = rows_of._ExactSurface(tile.codes, ones, zeros, share)
    expected = [terms(table[n], own, ones, zeros, share) for n, own in zip(rows, w, strict=True)]
    for found, part in zip(surface(rows, w), zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(found, np.stack(part), rtol=1e-10)


@pytest.mark.parametrize("share", [0.0, 0.6])
@pytest.mark.parametrize("first", [0, 3])
def test_the_sparse_surface_of_a_row_and_its_derivatives(share, first):
    """Plain zeros add -p - p^2/2, listed cells what they are."""
    table, ones, _ = many_rows()
    others = np.random.default_rng(1).uniform(0.02, 0.4, (3, 4))
    [block] = Blocks.cut(sparse.csr_array(table), block_rows=N)
    rng = np.random.default_rng(3)
    w, rows = rng.dirichlet(np.ones(3), size=4), np.array([2, 5, 9, 11])
    hot = (table == 0) & (rng.random(table.shape) < 0.5)
    start = np.concatenate([[0], np.cumsum(hot.sum(axis=1))])
    local = SparseRows(None, start, np.nonzero(hot)[1].astype(np.int32), 1)
    columns = np.ascontiguousarray(ones.T), np.ascontiguousarray(others.T)
    surface = rows_of._SparseSurface(block, local, columns, others, share)
    value, gradient, packed = surface.from_row(first, rows - first, w)
    for i, n in enumerate(rows):

        def total(x, n=n):
            return surrogate(table[n], x, ones, others, hot[n]) + share * np.log(x).sum()

        assert value[i] == pytest.approx(total(w[i]))
        slope = approx_fprime(w[i], total, 1e-7)
        np.testing.assert_allclose(gradient[i], slope, rtol=1e-4, atol=1e-4)
        curve = -approx_fprime(w[i], lambda x, i=i: surface(rows[i : i + 1], x[None])[1][0], 1e-6)
        np.testing.assert_allclose(packed[i], curve[np.triu_indices(3)], rtol=1e-3, atol=1e-3)


def test_variational_em_settles_sparse_rows_without_a_prior_on_weights():
    table, _, _ = many_rows(missing=0.0)
    blocks = Blocks.cut(sparse.csr_array(table[:20]), block_rows=20)
    steps, rng = SparseEM(3, blocks, (0.6, 0.8)), np.random.default_rng(2)
    state = steps.sources(rng.uniform(1, 5, (3, 4)), rng.uniform(5, 30, (3, 4)))
    [start] = steps.rows(np.full((20, 3), 1 / 3), blocks)
    found = steps.settle(blocks[0], start, state).weights
    alone = settled_sparse_weights(blocks[0], start, state.ones, 1 - state.zeros, 0.0)
    np.testing.assert_allclose(found, alone.weights, atol=1e-9)
    # With a prior no weight would be zero.
    assert found.min() < 1e-6


@pytest.mark.parametrize("n_tiles", [1, 2, 3])
def test_a_pass_over_tiles_is_that_over_the_whole_block(n_tiles):
    table, ones, _ = many_rows()
    n = 16 * n_tiles - 3
    [block] = Blocks.cut(sparse.csr_array(table[:n]), block_rows=n)
    [whole] = Blocks.cut(table[:n], block_rows=n)
    assert sum(1 for _ in block.tiles()) == n_tiles
    weights = np.random.default_rng(3).dirichlet(np.ones(3), size=n)
    both = fused_pass(block, weights, ones), fused_pass(whole, weights, ones)
    for found, expected in zip(*both, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
