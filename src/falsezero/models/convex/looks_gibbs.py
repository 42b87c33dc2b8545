"""Content and looks by Gibbs sampling: draws where variational Bayes has factorised posteriors.

A factorised posterior takes detection, content and presences as if they were known apart, and is
too sure of absences: where detection is low, content may be high, and what nobody saw is there more
often than at the means. The sampler keeps these together. Every other iteration draws

    1. presence z and component c of every cell, given row weights, components and rates;
    2. the cell effects u, and curvatures omega ~ PG(looks, eta), given which looks are quadratic
       in eta (Polson, Scott and Windle 2013);
    3. row weights from their Dirichlet and components from their Beta posteriors;
    4. effects of rows, columns and observers, the spread of cells, and the priors' centres and
       widths, each from its conditional distribution;
    5. alpha0, beta0 and gamma0 by a random walk on the logarithm, with log-normal priors around the
       values given.

Given presences, rates hardly move, because presences were drawn given the rates. The iterations in
between therefore propose other rates and judge them by the likelihood with presences summed out:
see `looks_moves`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from falsezero.data.look_blocks import LookBlock
from falsezero.inference.contract import Point
from falsezero.kernels.soft_draws import column_log_likelihoods, draw_cells
from falsezero.models.convex.detection import Effects, LookRates, RowEffects
from falsezero.models.convex.family import normalise_rows
from falsezero.models.convex.looks_moves import SPREAD_WIDTH, Proposal, accepted, proposed
from falsezero.models.convex.looks_steps import LooksSteps, Rows, State
from falsezero.models.convex.row_prior import log_density

_LEAST = 1e-15
_STRIDE, _LONGEST = 2.4, 0.5


class GibbsState(NamedTuple):
    """A draw of all that rows share, the Beta and Dirichlet shapes, and what is proposed next."""

    drawn: State
    shapes: np.ndarray
    gamma: np.ndarray
    """The proposed shape of the row weights."""
    trial: Proposal | None
    """Proposed rates, in iterations that judge them."""


class GibbsStatistics(NamedTuple):
    """Additive over blocks."""

    ones: np.ndarray
    zeros: np.ndarray
    seen: np.ndarray | None
    alarm: np.ndarray | None
    log_likelihood: float
    gain: float
    """Log density of the row weights at the proposed shape less that at the present one."""
    n_rows: float
    column_gains: np.ndarray
    """Log likelihood of each column under the trial less that under the present state."""


class LooksGibbs:
    """The sampler on the engine, from the point that a variational fit has reached."""

    state_params: dict[str, int | None] = {}
    local_params: dict[str, int | None] = {}

    def __init__(
        self, steps: LooksSteps, start: Point, shapes: np.ndarray, learns_shapes: bool = True
    ):
        self.steps, self.start, self.centre = steps, start, np.log(shapes)
        self.learns_shapes = learns_shapes

    def init(self, blocks: Any, rng: np.random.Generator) -> tuple[GibbsState, list[Rows]]:
        """The variational means."""
        shapes = np.exp(self.centre)
        state = GibbsState(pointed(self.start.state), shapes, shapes[2], None)
        return state, pointed_rows(self.start)

    def local_step(
        self, block: Any, local: Rows, state: GibbsState, rng: np.random.Generator
    ) -> tuple[Rows, GibbsStatistics]:
        """Cells, row weights and row effects of a block, or how it judges a trial."""
        if state.trial is not None:
            return local, self._judged(block, local, state, state.trial)
        steps, drawn = self.steps, state.drawn
        effects = RowEffects(local.effect, local.effect_variance)
        found_one, found_zero, evidence = steps.evidence(block.patterns, drawn, effects)
        cells = draw_cells(block.codes, evidence, local.content, drawn.ones, rng)
        sums_one = sums_zero = None
        if steps.seen is not None and drawn.seen is not None:
            effects, sums_one = steps.seen.statistics(
                block.patterns, cells.present, found_one, drawn.seen, effects, rng
            )
        if steps.alarm is not None and drawn.alarm is not None:
            absent = steps.pattern_counts(block) - cells.present
            nothing = RowEffects(None, None)
            _, sums_zero = steps.alarm.statistics(
                block.patterns, absent, found_zero, drawn.alarm, nothing, rng
            )
        share = _prior_share(block, drawn)
        weights, logs = _dirichlet(state.shapes[2] * share + cells.row_counts, rng)
        now, then = (log_density(shape * share, logs) for shape in _gammas(state))
        gain = float((then - now).sum())
        stats = GibbsStatistics(
            cells.ones,
            cells.zeros,
            sums_one,
            sums_zero,
            cells.log_likelihood,
            gain,
            len(weights),
            np.zeros(block.n_columns),
        )
        return Rows(weights, *effects), stats

    def _judged(
        self, block: LookBlock, local: Rows, state: GibbsState, trial: Proposal
    ) -> GibbsStatistics:
        """Log likelihoods of the columns, presences summed out, now and under the trial."""
        effects = RowEffects(local.effect, local.effect_variance)
        now, then = (
            column_log_likelihoods(
                block.codes,
                self.steps.evidence(block.patterns, drawn, effects)[2],
                local.content,
                drawn.ones,
            )
            for drawn in (state.drawn, trial.drawn)
        )
        nothing = np.zeros_like(state.drawn.ones)
        return GibbsStatistics(nothing, nothing, None, None, float(now.sum()), 0.0, 0.0, then - now)

    def global_step(
        self, stats: GibbsStatistics, state: GibbsState, rng: np.random.Generator
    ) -> GibbsState:
        """Shapes, components and rates; every other time, whether a trial is accepted."""
        if state.trial is not None:
            drawn = accepted(state.drawn, state.trial, stats.column_gains, self.steps, rng)
            return state._replace(drawn=drawn, trial=None)
        shapes, drawn = self._shapes(stats, state, rng), state.drawn
        a = rng.beta(shapes[0] + stats.ones, shapes[1] + stats.zeros).clip(_LEAST, 1 - _LEAST)
        new = drawn._replace(alpha=a, beta=1 - a, ones=a, zeros=1 - a)
        for kind in ("seen", "alarm"):
            rates, effects = getattr(self.steps, kind), getattr(drawn, kind)
            if rates is not None:
                mean, effects = draw_effects(rates, getattr(stats, kind), effects, rng)
                changed: dict[str, Any] = {f"{kind}_mean": mean, kind: effects}
                new = new._replace(**changed)
        stride = min(_LONGEST, _STRIDE / np.sqrt(stats.n_rows))
        gamma = np.asarray(shapes[2] * np.exp(stride * rng.standard_normal()))
        return GibbsState(new, shapes, gamma, proposed(new, shapes, self.steps, rng))

    def _shapes(self, stats: GibbsStatistics, state: GibbsState, rng: Any) -> np.ndarray:
        """alpha0, beta0 and gamma0 after a proposal for each of the two kinds."""
        if not self.learns_shapes:
            return state.shapes
        shapes = state.shapes.copy()
        before, after = np.log([shapes[2], float(state.gamma)]) - self.centre[2]
        if np.log(rng.random()) < stats.gain + 0.5 * (before**2 - after**2):
            shapes[2] = state.gamma

        def evidence(logs: np.ndarray) -> float:
            a, b = np.exp(logs)
            total = gammaln(a + stats.ones) + gammaln(b + stats.zeros)
            total -= gammaln(a + b + stats.ones + stats.zeros)
            constant = stats.ones.size * (gammaln(a + b) - gammaln(a) - gammaln(b))
            return float(total.sum() + constant - 0.5 * ((logs - self.centre[:2]) ** 2).sum())

        stride = min(_LONGEST, _STRIDE / np.sqrt(stats.ones.size))
        now = np.log(shapes[:2])
        then = now + stride * rng.standard_normal(2)
        if np.log(rng.random()) < evidence(then) - evidence(now):
            shapes[:2] = np.exp(then)
        return shapes

    def objective(self, stats: GibbsStatistics, state: GibbsState) -> float:
        """Log likelihood of the looks, presences summed out."""
        return stats.log_likelihood

    def project(self, trial: Point, reference: Point) -> Point:
        """Draws are never extrapolated."""
        return trial


def pointed(state: State) -> State:
    """A state at its posterior means, certain of them."""
    a = np.clip(state.alpha / (state.alpha + state.beta), _LEAST, 1 - _LEAST)
    nothing: Any = np.zeros(())
    state = state._replace(alpha=a, beta=1 - a, ones=a, zeros=1 - a, divergence=nothing)
    for kind in ("seen", "alarm"):
        effects = getattr(state, kind)
        if effects is not None:
            certain = effects._replace(
                covariance=np.zeros_like(effects.covariance),
                observer_variance=np.zeros_like(effects.observer_variance),
            )
            state = state._replace(**{kind: certain})
    return state


def pointed_rows(start: Point) -> list[Rows]:
    """Row weights and effects at their posterior means."""
    return [
        Rows(
            normalise_rows(part.content.copy()),
            part.effect,
            None if part.effect is None else np.zeros_like(part.effect),
        )
        for part in start.local
    ]


def draw_effects(
    rates: LookRates, vector: np.ndarray, effects: Effects, rng: np.random.Generator
) -> tuple[np.ndarray, Effects]:
    """Effects of columns and observers, the spread and the priors, each given all the others."""
    sums = rates._unpacked(vector)
    observers, spread = effects.observer_mean, float(effects.spread)
    covariance = np.linalg.inv(sums["hessian"] + np.eye(rates.n_terms) / effects.width2)
    pull = sums["linear"] + effects.centre / effects.width2
    pull = pull - spread * sums["with_spread"] - sums["crossed"] @ observers
    noise = rng.standard_normal(pull.shape)
    mean = np.einsum("tde,te->td", covariance, pull)
    mean = mean + np.einsum("tde,te->td", np.linalg.cholesky(covariance), noise)
    if rates.n_observers:
        variance = 1 / (sums["observers"][0] + 1 / effects.observer_width2)
        crossed = np.einsum("tdo,td->o", sums["crossed"], mean)
        observers = variance * (sums["observers"][1] - crossed - spread * sums["observers"][2])
        observers = observers + np.sqrt(variance) * rng.standard_normal(len(observers))
    if rates.learns_spread:
        curved, pulled, _, _ = sums["totals"]
        rest = (sums["with_spread"] * mean).sum() + sums["observers"][2] @ observers
        precision = curved + SPREAD_WIDTH**-2
        # The nodes are symmetric, so that a spread and its negative are the same model.
        spread = abs((pulled - rest + np.sqrt(precision) * rng.standard_normal()) / precision)
    effects = effects._replace(observer_mean=observers, spread=np.array(max(spread, 1e-3)))
    return mean, _draw_priors(rates, mean, effects, sums["totals"], rng)


def _draw_priors(
    rates: LookRates, mean: np.ndarray, effects: Effects, totals: np.ndarray, rng: Any
) -> Effects:
    """Centres from their Gaussian, squared widths from their scaled inverse chi-square."""
    prior, n_columns = rates.prior, len(mean)
    level = np.where(np.arange(rates.n_terms) == 0, prior.level, 0.0)
    variance = 1 / (n_columns / effects.width2 + prior.level_width**-2)
    centre = variance * (mean.sum(axis=0) / effects.width2 + level * prior.level_width**-2)
    centre = centre + np.sqrt(variance) * rng.standard_normal(len(centre))

    def width2(squares: Any, number: float, usual: float) -> np.ndarray:
        return np.asarray((squares + usual) / rng.chisquare(number + 1, np.shape(squares)))

    usual = prior.width**2
    return effects._replace(
        centre=centre,
        width2=width2(((mean - centre) ** 2).sum(axis=0), n_columns, usual),
        observer_width2=width2((effects.observer_mean**2).sum(), rates.n_observers, usual),
        row_width2=width2(totals[2], totals[3], 0.25),
    )


def _gammas(state: GibbsState) -> tuple[float, float]:
    """The shape of the row weights now, and as proposed."""
    return float(state.shapes[2]), float(state.gamma)


def _prior_share(block: LookBlock, drawn: State) -> np.ndarray:
    """Dirichlet parameters of a block's rows for gamma0 = 1: 1, or as their variables say."""
    n_components = len(drawn.ones)
    if drawn.row_prior is None or block.variables is None:
        return np.ones((len(block.codes), n_components))
    return n_components * drawn.row_prior.mean(block.variables)


def _dirichlet(counts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draws from Dirichlet distributions and their logarithms, exact where they underflow.

    A gamma variate with shape a is one with shape a + 1 times the a-th root of a uniform.
    """
    logs = np.log(rng.standard_gamma(counts + 1)) + np.log1p(-rng.random(counts.shape)) / counts
    logs -= logsumexp(logs, axis=1, keepdims=True)
    return normalise_rows(np.exp(logs)), logs
