"""Weights of rows of counts under a known Theta."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Point
from falsezero.models.discrete_pca.family import Family, Hyper
from falsezero.models.discrete_pca.mean_field import MeanFieldSteps, Rows, Statistics, Words


class KnownTheta(MeanFieldSteps):
    """Mean field for the weights of rows, with Theta fixed.

    `exposure` is the share of a row's tokens that is shown; it matters in a Poisson block, where
    the number of tokens informs the weights.
    """

    def __init__(self, family: Family, blocks: Blocks, hyper: Hyper, exposure: float = 1.0):
        super().__init__(family, blocks, hyper, eta=1.0)
        self.delta *= exposure

    def start(self, blocks: Blocks, theta: np.ndarray) -> Point:
        """Initial rows, which depend only on the number of their tokens."""
        factors = np.ascontiguousarray(theta, dtype=self.dtype)
        state = Words(factors, factors, 0.0, self.hyper)
        return Point(state, [self.start_rows(b, self.hyper) for b in blocks])

    def local_step(self, block: Block, local: Rows, state: Words, rng: Any) -> tuple[Rows, Any]:
        """q(v) and q(l) for the rows of a block, without statistics of words."""
        new, view, log_z, words = self.row_step(block, local, state, 0)
        return new, Statistics(
            words, log_z, view.divergence, view.sum_log, view.sum_mean, block.shape[0]
        )

    def project(self, trial: Point, reference: Point) -> Point:
        """Keep shapes above a share of their previous values."""
        rows = [
            r._replace(shape=np.maximum(t.shape, 0.3 * r.shape).astype(self.dtype))
            for t, r in zip(trial.local, reference.local, strict=True)
        ]
        return Point(reference.state, rows)


def expected_weights(family: Family, local: Rows) -> np.ndarray:
    """E[m] of a Dirichlet, E[l] of gammas."""
    if family.gamma:
        return local.shape / local.rate
    return local.shape / local.shape.sum(axis=1, keepdims=True)
