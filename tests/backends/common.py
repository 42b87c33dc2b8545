"""Tables and settings for fits on a cluster."""

import numpy as np
from scipy import sparse


def dense(missing=0.0):
    rng = np.random.default_rng(0)
    table = (rng.random((1500, 300)) < rng.beta(1, 3, 300)).astype(float)
    table[rng.random(table.shape) < missing] = np.nan
    return table


def few_ones(missing=0.0):
    rng = np.random.default_rng(1)
    table = sparse.random_array((2000, 700), density=0.02, rng=rng, format="csr")
    table.data[:] = np.where(rng.random(table.nnz) < missing, np.nan, 1.0)
    return table


SETTINGS = {"n_components": 3, "random_state": 0, "max_iter": 8, "tol": 0.0}
