"""The pass over a sparse table does not depend on where its arrays happen to lie in memory."""

import numpy as np
import pytest

from falsezero.kernels.sparse_pass import climb


def at_offset(array, offset):
    """A copy whose memory begins `offset` bytes after a cache line."""
    memory = np.empty(array.nbytes + 128, dtype=np.uint8)
    start = -memory.ctypes.data % 64 + offset
    copy = memory[start : start + array.nbytes].view(array.dtype)
    copy[:] = array
    return copy


@pytest.mark.parametrize("n_components", [3, 4, 9])
def test_weights_have_the_same_bits_wherever_they_lie(n_components):
    rng = np.random.default_rng(0)
    w0 = rng.dirichlet(np.ones(n_components))
    count, slope = rng.gamma(1.0, 3.0, n_components), rng.gamma(1.0, 2.0, n_components)
    curve = rng.gamma(1.0, 1.0, n_components)
    answers = set()
    for offset in range(0, 64, 8):
        together = at_offset(np.concatenate([w0, count, slope, curve, w0]), offset)
        parts = np.split(together, 5)
        climb(*parts)
        answers.add(parts[4].tobytes())
        apart = [at_offset(part, offset) for part in (w0, count, slope, curve, w0)]
        climb(*apart)
        answers.add(apart[4].tobytes())
    assert len(answers) == 1
