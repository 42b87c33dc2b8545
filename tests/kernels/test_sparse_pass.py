"""The pass over a sparse table does not depend on where its arrays happen to lie in memory."""

import numpy as np
import pytest
from scipy import sparse

from falsezero.kernels.sparse_pass import on_lines, sparse_pass


def at_offset(array, offset):
    """A copy whose memory begins `offset` bytes after a cache line."""
    memory = np.empty(array.nbytes + 128, dtype=np.uint8)
    start = -memory.ctypes.data % 64 + offset
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


@pytest.mark.parametrize("n_components", [3, 4, 9])
def test_weights_have_the_same_bits_wherever_they_lie(n_components):
    rng = np.random.default_rng(0)
    w0 = rng.dirichlet(np.ones(n_components), 20)
    columns = rng.random((12, n_components))
    pattern = sparse.random(20, 12, 0.4, format="csr", random_state=1)
    none = np.zeros(21, np.int64), np.empty(0, np.int32)
    lists = pattern.indptr.astype(np.int64), pattern.indices, *none, *none
    sums = columns.sum(axis=0), columns.T @ columns
    answers = set()
    for offset in range(0, 64, 8):
        parts = [at_offset(part, offset) for part in (w0, columns, *sums)]
        new, ones = at_offset(w0, offset), at_offset(np.zeros(columns.shape), offset)
        found = sparse_pass(*parts, 0.0, *lists, new, ones, np.zeros(columns.shape))
        answers.add((new.tobytes(), ones.tobytes(), found))
    assert len(answers) == 1


def test_a_pass_over_single_precision_adds_up_in_doubles():
    rng = np.random.default_rng(2)
    w0 = rng.dirichlet(np.ones(5), 40).astype(np.float32)
    single = rng.uniform(0.01, 0.4, (30, 5)).astype(np.float32)
    pattern = sparse.random(40, 30, 0.3, format="csr", random_state=3)
    none = np.zeros(41, np.int64), np.empty(0, np.int32)
    lists = pattern.indptr.astype(np.int64), pattern.indices, *none, *none
    double = single.astype(float)
    sums = double.sum(axis=0), double.T @ double
    answers = []
    for columns in (single, double):
        at_lines = on_lines(columns.shape, columns.dtype)
        at_lines[:] = columns
        new, ones = np.empty_like(w0), on_lines(columns.shape, float)
        found = sparse_pass(w0, at_lines, *sums, 0.5, *lists, new, ones, np.zeros(ones.shape))
        answers.append((*found, new, ones))
    for of_single, of_double in zip(*answers, strict=True):
        np.testing.assert_allclose(of_single, of_double, rtol=1e-13)
    p = w0.astype(float) @ double.T
    counts = np.where(pattern.toarray() > 0, 1 / p + 1 + p, 0.0)
    np.testing.assert_allclose(answers[0][3], counts.T @ w0.astype(float), rtol=1e-13)
