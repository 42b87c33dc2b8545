"""A model to copy: convex Bernoulli factors by plain EM, in NumPy.

Copy this file to `models/my_model.py`, rename the classes, fill in your formulas, and add one line
to `MODELS` in `models/__init__.py`. The contract tests, `falsezero.load`, `compare`, `explore` and
the shell then find the model. As it stands it is a complete model: row n has weights w_n on the
simplex, and a one in column t with probability p_nt = sum_k w_nk a_kt.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from falsezero.base.capabilities import Capabilities
from falsezero.base.empirical_bayes import EmpiricalBayes
from falsezero.base.estimator import OptimisedModel
from falsezero.data.blocks import UNOBSERVED, Block, Blocks
from falsezero.inference.contract import Fit, Point, Steps


class State(NamedTuple):
    """What all rows share. Give arrays names that readers understand."""

    components: np.ndarray
    """Probability of a one, a_kt."""


class Rows(NamedTuple):
    """Quantities of single rows, one record per block."""

    weights: np.ndarray
    """w_nk; each row sums to one."""


class Statistics(NamedTuple):
    """Sums over rows; they add field by field, which makes threads possible."""

    ones: np.ndarray
    """Expected ones that each component made in each column."""
    zeros: np.ndarray
    log_likelihood: float


def _inside(probability: np.ndarray) -> np.ndarray:
    """Away from 0 and 1, so that every logarithm and quotient stays finite."""
    floor = 1e-12 if probability.dtype == np.float64 else 1e-6
    return np.clip(probability, floor, 1 - floor)


def _normalised(weights: np.ndarray) -> np.ndarray:
    """Rows that sum to one, with no weight so small that its square underflows."""
    weights = np.maximum(weights, np.sqrt(np.finfo(weights.dtype).tiny))
    return weights / weights.sum(axis=1, keepdims=True)


class SkeletonSteps:
    """One way of fitting the model: the functions that the engine calls."""

    # Fields that the accelerator may extrapolate; axis 1: each row has a stride of its own.
    state_params = {"components": None}
    local_params = {"weights": 1}

    def __init__(self, n_components: int):
        self.n_components = n_components

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[State, list[Rows]]:
        """A random start: it may depend on the table, not on how its rows were cut."""
        shape = (self.n_components, blocks.shape[1])
        components = rng.uniform(0.25, 0.75, shape).astype(blocks.dtype)
        return State(components), self.equal_rows(blocks)

    def equal_rows(self, blocks: Blocks) -> list[Rows]:
        """Equal initial weights for all rows."""
        share = 1 / self.n_components
        return [Rows(np.full((b.shape[0], self.n_components), share, blocks.dtype)) for b in blocks]

    def local_step(
        self, block: Block, local: Rows, state: State, rng: Any
    ) -> tuple[Rows, Statistics]:
        """E-step of one block: its new row quantities and its share of the statistics."""
        weights, components, codes = local.weights, state.components, block.codes
        p = _inside(weights @ components)
        # Derivatives of the log likelihood in p: 1 / p for ones, 1 / (1 - p) for zeros.
        of_ones = np.where(codes == 1, 1 / p, 0).astype(p.dtype)
        of_zeros = np.where(codes == 0, 1 / (1 - p), 0).astype(p.dtype)
        ones = components * (weights.T @ of_ones)
        zeros = (1 - components) * (weights.T @ of_zeros)
        pull = of_ones @ components.T + of_zeros @ (1 - components).T
        is_seen = (codes != UNOBSERVED).any(axis=1, keepdims=True)
        new = np.where(is_seen, _normalised(weights * pull), weights)
        log_p = np.where(codes == 1, np.log(p), np.where(codes == 0, np.log1p(-p), 0))
        return Rows(new), Statistics(ones, zeros, float(log_p.sum(dtype=float)))

    def global_step(self, stats: Statistics, state: State, rng: Any) -> State:
        """M-step: the share of ones among the cells that each component made."""
        total = stats.ones + stats.zeros
        share = stats.ones / np.maximum(total, np.finfo(total.dtype).tiny)
        return State(_inside(np.where(total > 0, share, state.components)))

    def objective(self, stats: Statistics, state: State) -> float:
        """Must never fall; belongs to the point at which the statistics were computed."""
        return stats.log_likelihood

    def project(self, trial: Point, reference: Point) -> Point:
        """Bring a stride of the accelerator back into the domain."""
        rows = [Rows(_normalised(part.weights)) for part in trial.local]
        return Point(State(_inside(trial.state.components)), rows)


class Skeleton(EmpiricalBayes, OptimisedModel):
    """One sentence that says what the model is for.

    `EmpiricalBayes` supplies `score_samples` and `sample` to models of zeros and ones; a model with
    a likelihood of its own writes both.

    >>> model = Skeleton(2, random_state=0).fit(np.kron(np.eye(2), np.ones((3, 2))))
    >>> model.transform(np.array([[1.0, 1, 0, 0]])).max().round(3)
    np.float64(1.0)
    """

    capabilities = Capabilities(
        table="binary", link="convex", row_score="density", distributed=True
    )
    _parameter_constraints = {
        **OptimisedModel._parameter_constraints,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        max_iter: int = 1000,
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
        return SkeletonSteps(self.n_components)

    def _start_rows(self, blocks: Blocks) -> Point:
        # Rows may come in single precision to a model that was fitted in double.
        components = _inside(self.components_.astype(blocks.dtype))
        return Point(State(components), SkeletonSteps(self.n_components).equal_rows(blocks))

    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        weights = np.concatenate([part.weights for part in fit.local])
        order = np.argsort(-weights.sum(axis=0), kind="stable")
        self.components_ = fit.state.components[order]
        self.row_weights_ = weights[:, order]

    def _weights(self, local: Any) -> np.ndarray:
        return local.weights
