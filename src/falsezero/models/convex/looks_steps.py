"""Content and looks in one likelihood: the four functions that the engine repeats.

z_nt ~ Bernoulli(pi_nt), pi = W F of the convex family, and looks given z by `LookRates`. Given the
evidence L1 and L0 of a cell's looks, the soft pass renews content as it does for certain cells, and
the probabilities r that the thing is there weigh the looks that detection is learnt from.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from falsezero.data.look_blocks import LookBlock, LookBlocks, Patterns
from falsezero.inference.contract import Point
from falsezero.kernels.soft_cells import soft_pass
from falsezero.models.convex.detection import Effects, LookRates, RowEffects, look_up
from falsezero.models.convex.family import RowWeights, floor_of
from falsezero.models.convex.row_prior import PriorCounts, RegressedBayes, RowPrior, RowRegression
from falsezero.models.convex.variational import RowCounts, Sources, VariationalBayes, VariationalEM

_IMPOSSIBLE = -1e30


class State(NamedTuple):
    """What all rows share: sources of the content, rates of detections and of false alarms."""

    alpha: np.ndarray
    beta: np.ndarray
    ones: np.ndarray
    zeros: np.ndarray
    divergence: float
    seen_mean: Any
    seen: Effects | None
    alarm_mean: Any
    alarm: Effects | None
    row_prior: RowPrior | None = None


class Rows(NamedTuple):
    """Row quantities: weights of the content (or Dirichlet counts), and effects on detection."""

    content: np.ndarray
    effect: np.ndarray | None
    effect_variance: np.ndarray | None


class Statistics(NamedTuple):
    """Additive over blocks."""

    ones: np.ndarray
    zeros: np.ndarray
    seen: np.ndarray | None
    alarm: np.ndarray | None
    row_prior: np.ndarray | None
    log_bound: float
    divergence: float


class PointContent(VariationalEM):
    """Content by maximum likelihood, as in the Aspect Bernoulli model."""

    def sources(self, ones: np.ndarray, zeros: np.ndarray) -> Sources:
        """The share of ones among what each component is responsible for."""
        total = np.maximum(ones + zeros, 1e-300)
        share = np.where(ones + zeros > 1e-30, ones / total, 0.5)
        a = np.clip(share, self.floor, 1 - self.floor)
        return Sources(a, 1 - a, a, 1 - a, 0.0)


def content_steps(
    inference: str,
    n_components: int,
    blocks: LookBlocks,
    shapes: tuple[float, float],
    gamma0: float,
) -> Any:
    """Bayesian content, or content by maximum likelihood, always in double precision."""
    content: Any
    if inference == "ml":
        content = PointContent(n_components, blocks, (0.0, 0.0))
    elif blocks.has_variables:
        content = RegressedBayes(n_components, blocks, shapes, gamma0)
    else:
        content = VariationalBayes(n_components, blocks, shapes, gamma0)
    content.dtype, content.floor = np.dtype(float), floor_of(float)
    return content


class LooksSteps:
    """One way of fitting looks: `content` renews what is there, `seen` and `alarm` how it shows."""

    def __init__(
        self,
        content: Any,
        seen: LookRates | None,
        alarm: LookRates | None,
        detection: np.ndarray | None = None,
        regression: RowRegression | None = None,
    ):
        self.content, self.seen, self.alarm, self.detection = content, seen, alarm, detection
        self.regression = regression
        self.row_type: Any = RowCounts if isinstance(content, VariationalBayes) else RowWeights
        self.state_params: dict[str, int | None] = {"alpha": 0, "beta": 0}
        if seen is not None:
            self.state_params["seen_mean"] = None
        if alarm is not None:
            self.state_params["alarm_mean"] = None
        self.local_params: dict[str, int | None] = {"content": 1}

    def init(self, blocks: LookBlocks, rng: np.random.Generator) -> tuple[State, list[Rows]]:
        """Content around the share of cells ever seen, every column at the expected rates."""
        sources, rows = self.content.init(blocks, rng)
        return self.state(sources), self.rows([part[0] for part in rows])

    def state(self, sources: Sources) -> State:
        """Sources with rates that nothing was learnt of yet."""
        seen: Any = (None, None) if self.seen is None else self.seen.start()
        alarm: Any = (None, None) if self.alarm is None else self.alarm.start()
        prior = None if self.regression is None else self.regression.start()
        return State(*sources, *seen, *alarm, prior)  # type: ignore[call-arg]

    def rows(self, content: list[np.ndarray]) -> list[Rows]:
        """Row quantities of each block with this content."""
        return [Rows(part.astype(float), *self._no_effects(len(part))) for part in content]

    def _no_effects(self, n_rows: int) -> RowEffects:
        return RowEffects(None, None) if self.seen is None else self.seen.start_rows(n_rows)

    # -- the four functions -----------------------------------------------------------------------

    def local_step(
        self, block: LookBlock, local: Rows, state: State, rng: Any
    ) -> tuple[Rows, Statistics]:
        """Probability that the thing is there, cell by cell, and what follows for rows and sums."""
        effects = RowEffects(local.effect, local.effect_variance)
        found_one, found_zero, evidence = self.evidence(block.patterns, state, effects)
        content = self._content(local)
        if state.row_prior is not None and block.variables is not None:
            content = PriorCounts(local.content, state.row_prior.counts(block.variables))
        weights, divergence = self.content.row_factors(content)
        seen: Any = soft_pass(block.codes, evidence, weights, state.ones, state.zeros)
        renewed = self.content.renew_rows(block, content, weights, seen)[0]
        sums_one = sums_zero = sums_rows = None
        if self.regression is not None and isinstance(content, PriorCounts):
            prior: Any = state.row_prior
            variables: Any = block.variables
            sums_rows = self.regression.statistics(prior, variables, renewed)
        if self.seen is not None and state.seen is not None:
            divergence += self.seen.row_divergence(effects, state.seen)
            effects, sums_one = self.seen.statistics(
                block.patterns, seen.present, found_one, state.seen, effects
            )
        if self.alarm is not None and state.alarm is not None:
            absent = self.pattern_counts(block) - seen.present
            nothing = RowEffects(None, None)
            _, sums_zero = self.alarm.statistics(
                block.patterns, absent, found_zero, state.alarm, nothing
            )
        stats = Statistics(
            seen.ones, seen.zeros, sums_one, sums_zero, sums_rows, seen.log_likelihood, divergence
        )
        return Rows(renewed, *effects), stats

    def global_step(self, stats: Statistics, state: State, rng: Any) -> State:
        """Sources as in binary ICA, and effects from the expected looks."""
        sources = self.content.sources(state.ones * stats.ones, state.zeros * stats.zeros)
        seen: Any = (state.seen_mean, state.seen)
        alarm: Any = (state.alarm_mean, state.alarm)
        if self.seen is not None and state.seen is not None and stats.seen is not None:
            seen = self.seen.learn(stats.seen, state.seen_mean, state.seen)
        if self.alarm is not None and state.alarm is not None and stats.alarm is not None:
            alarm = self.alarm.learn(stats.alarm, state.alarm_mean, state.alarm)
        prior = state.row_prior
        if self.regression is not None and prior is not None and stats.row_prior is not None:
            prior = self.regression.learn(stats.row_prior, prior)
        return State(*sources, *seen, *alarm, prior)  # type: ignore[call-arg]

    def objective(self, stats: Statistics, state: State) -> float:
        """The bound on the log evidence (with known rates and "ml": the log likelihood)."""
        total = stats.log_bound - stats.divergence - state.divergence
        if self.seen is not None and state.seen is not None:
            total -= self.seen.divergence(state.seen_mean, state.seen)
        if self.alarm is not None and state.alarm is not None:
            total -= self.alarm.divergence(state.alarm_mean, state.alarm)
        if self.regression is not None and state.row_prior is not None:
            total -= self.regression.penalty(state.row_prior)
        return float(total)

    def project(self, trial: Point, reference: Point) -> Point:
        """Content back into its domain; effects may be anywhere."""
        content = self.content.project(self._content_point(trial), self._content_point(reference))
        state = trial.state._replace(**content.state._asdict())
        rows = [
            part._replace(content=new[0])
            for part, new in zip(trial.local, content.local, strict=True)
        ]
        return Point(state, rows)

    # -- looks ------------------------------------------------------------------------------------

    def evidence(self, patterns: Patterns, state: State, rows: RowEffects) -> tuple[Any, Any, Any]:
        """Looks where the thing is there and where it is not, and both as the kernel wants them."""
        found_one = found_zero = None
        if self.seen is not None and state.seen is not None:
            found_one = self.seen.evidence(patterns, state.seen_mean, state.seen, rows)
            log_one = found_one.log_total
        else:
            log_one = _log_known(patterns, self.detection)
        if self.alarm is not None and state.alarm is not None:
            nothing = RowEffects(None, None)
            found_zero = self.alarm.evidence(patterns, state.alarm_mean, state.alarm, nothing)
            log_zero = found_zero.log_total
        else:
            log_zero = np.where(patterns.ones.sum(axis=1) > 0, _IMPOSSIBLE, 0.0)
        log_one, log_zero = np.broadcast_arrays(log_one, log_zero)
        return found_one, found_zero, look_up(patterns, log_one, log_zero)

    @staticmethod
    def pattern_counts(block: LookBlock) -> np.ndarray:
        """How many cells have each pattern, patterns x columns; none where nobody looked."""
        n_patterns = len(block.patterns.ones)
        looked = block.patterns.tries.sum(axis=1) > 0
        if block.codes.shape[1] == 1 and block.n_columns > 1:
            return np.broadcast_to(looked, (n_patterns, block.n_columns)).astype(float)
        flat = block.codes.astype(np.int64) * block.n_columns + np.arange(block.n_columns)
        counts = np.bincount(flat.ravel(), minlength=n_patterns * block.n_columns)
        return counts.reshape(n_patterns, block.n_columns) * looked

    def _content(self, local: Rows) -> Any:
        return self.row_type(local.content)

    def _content_point(self, point: Point) -> Point:
        sources = Sources(*point.state[: len(Sources._fields)])
        return Point(sources, [self._content(part) for part in point.local])


def _log_known(patterns: Patterns, detection: np.ndarray | None) -> np.ndarray:
    """Log probability of the looks at something that is there, for known rates."""
    assert detection is not None
    ones, zeros = patterns.ones.sum(axis=1), (patterns.tries - patterns.ones).sum(axis=1)
    with np.errstate(divide="ignore"):
        log_d, log_m = np.log(detection), np.log1p(-detection)
    hits = np.where(ones > 0, ones * np.maximum(log_d, _IMPOSSIBLE), 0.0)
    return hits + np.where(zeros > 0, zeros * np.maximum(log_m, _IMPOSSIBLE), 0.0)
