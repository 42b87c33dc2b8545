"""A model to copy: the mixture-free skeleton of a convex Bernoulli factor model.

Copy this file to `models/my_model.py`, fill in the formulas, add one line to `MODELS` in
`models/__init__.py` and one to `_HOMES` in the package's `__init__.py`. The contract tests find it.
As it stands it is a complete model of one component: every column has its own rate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from falsezero.base.capabilities import Capabilities
from falsezero.base.estimator import OptimisedModel
from falsezero.data.blocks import UNOBSERVED, Block, Blocks
from falsezero.inference.contract import Fit, Point, Steps


class State(NamedTuple):
    """What all rows share. Name each array in the reader's words."""

    rates: np.ndarray


class Rows(NamedTuple):
    """What belongs to single rows, beside their block."""

    weights: np.ndarray


class Statistics(NamedTuple):
    """Sums over rows: they add field by field, which is what makes threads possible."""

    ones: np.ndarray
    observed: np.ndarray
    log_likelihood: float


class SkeletonSteps:
    """One way of fitting the model, in the four functions that the engine repeats."""

    state_params = {"rates": None}
    local_params = {"weights": 1}

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[State, list[Rows]]:
        """A random start, from all blocks at once."""
        rates = rng.uniform(0.25, 0.75, blocks.shape[1])
        return State(rates), [Rows(np.ones((block.shape[0], 1))) for block in blocks]

    def local_step(
        self, block: Block, local: Rows, state: State, rng: Any
    ) -> tuple[Rows, Statistics]:
        """E-step of one block: its new row quantities and its share of the statistics."""
        ones, seen = block.codes == 1, block.codes != UNOBSERVED
        log_p = np.where(ones, np.log(state.rates), np.log1p(-state.rates))
        return local, Statistics(ones.sum(axis=0), seen.sum(axis=0), float(log_p[seen].sum()))

    def global_step(self, stats: Statistics, state: State, rng: Any) -> State:
        """M-step: the share of ones among the observed cells of each column."""
        rates = stats.ones / np.maximum(stats.observed, 1)
        return State(np.clip(rates, 1e-12, 1 - 1e-12))

    def objective(self, stats: Statistics, state: State) -> float:
        """What must not fall, where the statistics were taken."""
        return stats.log_likelihood

    def project(self, trial: Point, reference: Point) -> Point:
        """Bring a stride of the accelerator back into the domain."""
        return trial._replace(state=State(np.clip(trial.state.rates, 1e-12, 1 - 1e-12)))


class Skeleton(OptimisedModel):
    """One sentence that says what the model is for.

    >>> model = Skeleton().fit(np.array([[0, 1.0], [1, 1.0]]))
    >>> model.components_.round(3)
    array([[0.5, 1. ]])
    """

    capabilities = Capabilities(table="binary", link="convex", row_score="density")

    def __init__(
        self,
        n_components: int = 1,
        *,
        max_iter: int = 100,
        tol: float = 1e-7,
        n_init: int = 1,
        acceleration: str | None = "squarem",
        binarize: float | None = None,
        checkpoint: Any = None,
        callback: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.acceleration = acceleration
        self.binarize = binarize
        self.checkpoint = checkpoint
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _steps(self, blocks: Blocks) -> Steps:
        return SkeletonSteps()

    def _start_rows(self, blocks: Blocks) -> Point:
        state = State(self.components_[0])
        return Point(state, [Rows(np.ones((block.shape[0], 1))) for block in blocks])

    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        self.components_ = fit.state.rates[None, :]
        self.row_weights_ = np.concatenate([part.weights for part in fit.local])

    def _weights(self, local: Any) -> np.ndarray:
        return local.weights
