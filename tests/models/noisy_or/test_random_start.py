"""The paper's random start: where its parameters lie."""

import numpy as np
from scipy import sparse
from scipy.special import expit

from falsezero.data.blocks import Blocks
from falsezero.models.noisy_or.start import random_sources


def test_random_sources_lie_in_their_ranges():
    rng = np.random.default_rng(0)
    table = (rng.random((50, 400)) < rng.uniform(0.1, 0.9, 400)).astype(float)
    blocks = Blocks.cut(sparse.csr_array(table))
    state = random_sources(200, blocks, np.random.default_rng(1))
    loadings, leak = -np.expm1(-state.theta), -np.expm1(-state.leak)
    share = leak / ((table.sum(axis=0) + 0.5) / 51)
    priors = expit(state.odds)
    for values, low, high in ((loadings, 0.01, 0.2), (share, 0.1, 0.9), (priors, 0.1, 0.5)):
        assert values.min() >= low - 1e-12
        assert values.max() <= high + 1e-12
        spread = high - low
        assert values.min() < low + 0.03 * spread
        assert values.max() > high - 0.03 * spread
    assert state.hold == 0
