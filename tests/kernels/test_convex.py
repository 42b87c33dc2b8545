import numpy as np
import pytest
from tests.reference import convex as slow

from falsezero.data.blocks import Blocks
from falsezero.kernels.convex import convex_pass
from falsezero.models.convex.family import fused_pass

SINGLE = 1e-5
"""Statistics are summed in single precision, the likelihood in double."""


def problem(n_rows=30, n_columns=45, n_components=4, missing=0.1, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.dirichlet(np.ones(n_components), n_rows)
    F = rng.uniform(0.02, 0.98, (n_components, n_columns))
    X = (rng.random((n_rows, n_columns)) < W @ F).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, W, F


def run(X, W, F1, F0=None, dtype=np.float64):
    (block,) = Blocks.cut(X, block_rows=len(X))
    zeros = None if F0 is None else F0.astype(dtype)
    return convex_pass(block.codes, W.astype(dtype), F1.astype(dtype), zeros)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_columns", [1, 7, 32, 33, 700])
def test_convex_form_agrees_with_its_slow_twin(missing, n_columns):
    X, W, F = problem(n_columns=n_columns, missing=missing)
    ones, zeros, rows, log_likelihood = run(X, W, F)
    expected = slow.statistics(X, W, F)
    np.testing.assert_allclose(ones, expected[0], rtol=SINGLE)
    np.testing.assert_allclose(zeros, expected[1], rtol=SINGLE)
    np.testing.assert_allclose(rows, expected[2], rtol=SINGLE)
    np.testing.assert_allclose(log_likelihood, slow.log_likelihood(X, W, F), rtol=1e-12)


def test_general_form_agrees_with_its_slow_twin():
    X, W, F1 = problem()
    F0 = np.random.default_rng(1).uniform(0.1, 0.9, F1.shape)
    ones, zeros, rows, log_likelihood = run(X, 0.7 * W, F1, F0)
    expected = slow.statistics(X, 0.7 * W, F1, F0)
    np.testing.assert_allclose(ones, expected[0], rtol=SINGLE)
    np.testing.assert_allclose(zeros, expected[1], rtol=SINGLE)
    np.testing.assert_allclose(rows, expected[2], rtol=SINGLE)
    np.testing.assert_allclose(log_likelihood, slow.log_likelihood(X, 0.7 * W, F1, F0), rtol=1e-12)


def test_weights_too_faint_for_single_precision_count_as_none():
    X, W, F = problem()
    W[::2, 0] = 1e-41
    W /= W.sum(axis=1, keepdims=True)
    ones, zeros, rows, _ = run(X, W, F)
    expected = slow.statistics(X, W, F)
    np.testing.assert_allclose(ones, expected[0], rtol=SINGLE)
    np.testing.assert_allclose(zeros, expected[1], rtol=SINGLE)
    np.testing.assert_allclose(rows, expected[2], rtol=SINGLE)


def test_single_precision_is_close():
    X, W, F = problem()
    fast = run(X, W, F, dtype=np.float32)
    assert fast.ones.dtype == np.float32
    np.testing.assert_allclose(fast.log_likelihood, slow.log_likelihood(X, W, F), rtol=1e-5)


def test_the_smallest_probabilities_stay_finite():
    n_columns = 500
    F = np.full((1, n_columns), 1e-12)
    fast = run(np.ones((50, n_columns)), np.ones((50, 1)), F)
    np.testing.assert_allclose(fast.log_likelihood, 50 * n_columns * np.log(1e-12), rtol=1e-12)
    assert np.isfinite(fast.ones).all()


def test_tiles_of_a_sparse_block_add_up_to_the_dense_pass():
    from scipy import sparse

    X, W, F = problem(n_rows=300, n_columns=600, missing=0.05)
    stored = sparse.csr_array(np.nan_to_num(X, nan=7.0))
    stored.data[stored.data == 7.0] = np.nan
    (block,) = Blocks.cut(stored, block_rows=300)
    assert len(list(block.tiles())) > 1
    tiled = fused_pass(block, W, F)
    dense = run(X, W, F)
    for a, b in zip(tiled, dense, strict=True):
        np.testing.assert_allclose(a, b, rtol=SINGLE)
