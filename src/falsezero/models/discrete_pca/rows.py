"""Weights of rows of counts under a Theta that is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Point
from falsezero.models.discrete_pca.family import Family, Hyper
from falsezero.models.discrete_pca.mean_field import MeanFieldSteps, Rows, Statistics, Words


class KnownTheta(MeanFieldSteps):
    """Mean field for the weights of rows alone, with Theta as it was learnt.

    `exposure` is the share of a row's tokens that is shown, where a Poisson block makes the number
    of tokens tell of the weights.
    """

    def __init__(self, family: Family, blocks: Blocks, hyper: Hyper, exposure: float = 1.0):
        super().__init__(family, blocks, hyper, eta=1.0)
        self.delta *= exposure

    def start(self, blocks: Blocks, theta: np.ndarray) -> Point:
        """Rows that know nothing of their tokens but their number."""
        factors = np.ascontiguousarray(theta, dtype=self.dtype)
        state = Words(factors, factors, 0.0, self.hyper)
        return Point(state, [self.start_rows(b, self.hyper) for b in blocks])

    def local_step(self, block: Block, local: Rows, state: Words, rng: Any) -> tuple[Rows, Any]:
        """q(v) and q(l) for the rows of a block; words ask for nothing."""
        new, view, log_z, words = self.row_step(block, local, state, 0)
        return new, Statistics(
            words, log_z, view.divergence, view.sum_log, view.sum_mean, block.shape[0]
        )

    def project(self, trial: Point, reference: Point) -> Point:
        """Shapes stay above a share of what they were."""
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
