"""The only loops: every model is fitted by exhausting one generator of `Iteration`s.

EM, variational Bayes and Gibbs sampling are the same two half-steps, so a model hands over an
object with four small functions (`Steps`) and the engine repeats them over row blocks.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Generator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from falsezero.backends import in_runs
from falsezero.data.blocks import Block, Blocks
from falsezero.inference import tree
from falsezero.inference.accelerate import squarem
from falsezero.inference.checkpoint import Checkpoint
from falsezero.inference.contract import (
    Advance,
    Fit,
    Iteration,
    Point,
    RebasedStatistics,
    Run,
    Steps,
)
from falsezero.inference.monitor import Listener, Monitor

_SHARDS = 32
"""Blocks are handed out in at most so many shards, and statistics added up within a shard first. A
number of its own, not of the workers, so that the sums are the same wherever shards were done."""

_RESTARTS = 50
"""Times that a fit may settle its rows anew and go on: each gains, so few are needed."""


def advancer(
    steps: Steps,
    blocks: Blocks,
    run: Run,
    *,
    frozen: bool = False,
    rng: np.random.Generator | None = None,
) -> Advance:
    """One local step over all blocks and one global step, as a function of a point.

    With `frozen` the state stays as it is and only row quantities move (`transform`). Samplers
    hand in `rng`; each block then draws from a stream of its own, so that threads change nothing.
    """

    shards = in_runs(blocks, _SHARDS)

    def advance(point: Point) -> tuple[Point, float, bool]:
        streams = rng.spawn(len(blocks)) if rng is not None else [None] * len(blocks)
        parts = run(
            partial(_local_steps, steps, point.state),
            shards,
            in_runs(point.local, _SHARDS),
            in_runs(streams, _SHARDS),
            join=_join,
        )
        local, stats = _join(parts)
        objective = float(steps.objective(stats, point.state))
        state = point.state if frozen else steps.global_step(stats, point.state, rng)
        rebased = isinstance(stats, RebasedStatistics) and stats.rebased > 0
        return Point(state, local), objective, rebased

    return advance


def _local_steps(
    steps: Steps, state: Any, blocks: Sequence[Block], local: list[Any], streams: list[Any]
) -> tuple[list[Any], Any]:
    """Local steps over the blocks of a shard: their new row quantities, the sum of statistics.

    It needs nothing but its arguments, so that any process can do it.
    """
    pairs = [
        steps.local_step(block, part, state, stream)
        for block, part, stream in zip(blocks, local, streams, strict=True)
    ]
    return [part for part, _ in pairs], tree.total([stats for _, stats in pairs])


def _join(parts: list[tuple[list[Any], Any]]) -> tuple[list[Any], Any]:
    """What `_local_steps` gave for some neighbouring shards, as if they were one."""
    local = [part for parts_of_shard, _ in parts for part in parts_of_shard]
    return local, tree.total([stats for _, stats in parts])


def iterate(advance: Advance, point: Point) -> Generator[Iteration]:
    """Take plain steps for ever."""
    while True:
        point, objective, rebased = advance(point)
        yield Iteration(point, objective, "step", rebased=rebased)


def optimise(
    steps: Steps,
    blocks: Blocks,
    seeds: list[np.random.SeedSequence],
    run: Run,
    *,
    max_iter: int,
    tol: float,
    accelerate: bool = True,
    listeners: tuple[Listener, ...] = (),
    checkpoint: Checkpoint | None = None,
) -> Fit:
    """Fit from each seed and keep the best, with its own history and its own converged flag."""
    best: Fit | None = None
    first = 0
    if checkpoint is not None:
        first, best = checkpoint.restarts_done(lambda: Point(*_start(steps, blocks, seeds[0])))
    for number in range(first, len(seeds)):
        monitor = Monitor(max_iter=max_iter, tol=tol, listeners=listeners)
        point, stride = Point(*_start(steps, blocks, seeds[number])), 1.0
        if checkpoint is not None:
            point, stride = checkpoint.resume(number, point, monitor)
        advance = advancer(steps, blocks, run)
        strides = squarem(steps, advance, point, stride=stride)
        iterations = strides if accelerate else iterate(advance, point)
        # The point may be large, and is the loop's own from here on.
        del point, strides
        save = None if checkpoint is None else checkpoint.saver(number)
        fit = exhaust(iterations, advance, monitor, save)
        if best is None or fit.objective > best.objective:
            best = fit
        if checkpoint is not None:
            checkpoint.keep_best(number + 1, best)
    assert best is not None
    if not best.converged and best.n_iter >= max_iter:
        warnings.warn(
            f"The fit did not settle within max_iter={max_iter} iterations; "
            "raise max_iter, or tol if a rougher answer will do.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return best


def _start(steps: Steps, blocks: Blocks, seed: np.random.SeedSequence) -> tuple[Any, list[Any]]:
    return steps.init(blocks, np.random.default_rng(seed))


def exhaust(
    iterations: Generator[Iteration],
    advance: Advance,
    monitor: Monitor,
    save: Any = None,
) -> Fit:
    """Iterate until the monitor says it has settled, then measure where it ended."""
    earlier = monitor.history[-1]["seconds"] if monitor.history else 0.0
    began = time.perf_counter() - earlier
    for iteration in iterations:
        seconds = time.perf_counter() - began
        monitor.record(iteration.objective, seconds, iteration.what, iteration.rebased)
        if monitor.finished:
            break
        if save is not None and iteration.restartable:
            save(iteration, monitor)
    point = iteration.point
    # What the loop holds besides, such as the last two points, is not needed for the last pass.
    del iteration
    iterations.close()
    _, objective, rebased = advance(point)
    monitor.record(objective, time.perf_counter() - began, "final", rebased)
    return Fit(*point, objective, monitor.history, monitor.converged, monitor.n_iter)


def settle_rows(
    steps: Steps,
    blocks: Blocks,
    point: Point,
    run: Run,
    *,
    max_iter: int,
    tol: float,
) -> list[Any]:
    """Row quantities for a fixed state: the `transform` of every model fitted by optimisation.

    Steps with a method ``settle(block, local, state)`` take each row to its own optimum, whatever
    its company. Those of other models iterate over all rows until the objective has settled.
    """
    if hasattr(steps, "settle"):
        parts = run(
            partial(_settle_shard, steps, point.state),
            in_runs(blocks, _SHARDS),
            in_runs(point.local, _SHARDS),
        )
        return [local for part in parts for local in part]
    return _iterate_rows(steps, blocks, point, run, max_iter=max_iter, tol=tol)


def _iterate_rows(
    steps: Steps, blocks: Blocks, point: Point, run: Run, *, max_iter: int, tol: float
) -> list[Any]:
    """Row quantities after steps over all rows at once, until the objective has settled."""
    advance = advancer(steps, blocks, run, frozen=True)
    monitor = Monitor(max_iter=max_iter, tol=tol)
    return exhaust(squarem(steps, advance, point, frozen=True), advance, monitor).local


def _settle_shard(steps: Any, state: Any, blocks: Sequence[Block], local: list[Any]) -> list[Any]:
    return [steps.settle(*pair, state) for pair in zip(blocks, local, strict=True)]


def end_with_rows(steps: Any, blocks: Blocks, fit: Fit, rows: list[Any], run: Run) -> Fit:
    """A fit whose rows have settled from `rows` on, so that `transform` gives the same."""
    began = time.perf_counter()
    local = settle_rows(steps, blocks, Point(fit.state, rows), run, max_iter=0, tol=0.0)
    advance = advancer(steps, blocks, run, frozen=True)
    _, objective, rebased = advance(Point(fit.state, local))
    last = fit.history[-1]
    row = {
        **last,
        "objective": objective,
        "seconds": last["seconds"] + time.perf_counter() - began,
        "what": "rows settled",
        "rebased": rebased,
    }
    return fit._replace(local=local, objective=objective, history=[*fit.history, row])


def restart_rows(
    steps: Any, blocks: Blocks, fit: Fit, fresh: list[Any], run: Run, *, max_iter: int, tol: float
) -> Fit:
    """Settle the rows anew and go on from there, for as long as the objective gains by it.

    For models whose rows have several optima: rows stay in the one they were in when the
    components were still others. Three ways on are tried each time: from the best rows for these
    components, from rows that knew nothing, and from what those become while the components wait.
    The best one adds its end to the history.
    """
    advance = advancer(steps, blocks, run)
    for _ in range(_RESTARTS):
        unlearnt = Point(fit.state, fresh)
        starts = [
            settle_rows(steps, blocks, unlearnt, run, max_iter=max_iter, tol=tol),
            _iterate_rows(steps, blocks, unlearnt, run, max_iter=max_iter, tol=tol),
            fresh,
        ]
        trials = [
            exhaust(
                squarem(steps, advance, Point(fit.state, local)),
                advance,
                Monitor(max_iter=max_iter, tol=tol),
            )
            for local in starts
        ]
        best = max(trials, key=lambda trial: trial.objective)
        if not best.objective > fit.objective + tol * abs(fit.objective):
            return fit
        fit = continued(fit, best, "rows restarted")
    return fit


def continued(fit: Fit, trial: Fit, what: str) -> Fit:
    """A trial that began where a fit had ended, as one fit: the trial adds one row of history."""
    last = trial.history[-1]
    row = {
        **last,
        "iteration": fit.n_iter + trial.n_iter,
        "seconds": fit.history[-1]["seconds"] + last["seconds"],
        "what": what,
    }
    return trial._replace(history=[*fit.history, row], n_iter=fit.n_iter + trial.n_iter)
