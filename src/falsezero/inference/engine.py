"""The only loops: every model is fitted by exhausting one generator of `Iteration`s.

EM, variational Bayes and Gibbs sampling consist of the same two half-steps, so a model supplies an
object with a few small functions (`Steps`), and the engine repeats them over blocks of rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Generator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from falsezero.backends import SHARDS, in_runs, map_shards
from falsezero.data.blocks import Block, Blocks
from falsezero.data.row_files import RowFiles, new_names, opened, put
from falsezero.inference import tree
from falsezero.inference.accelerate import combine, shared_squares, squarem
from falsezero.inference.checkpoint import Checkpoint
from falsezero.inference.contract import (
    Advance,
    BlockwiseStart,
    Fit,
    Iteration,
    Point,
    RebasedStatistics,
    Run,
    SettlingSteps,
    Steps,
)
from falsezero.inference.monitor import Listener, Monitor

_RESTARTS = 50
"""How often a fit may restart its rows; each restart raises the objective, so few are needed."""


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
    pass `rng`; each block then has its own random stream, so that threads change nothing.
    """

    shards = in_runs(blocks, SHARDS)

    def advance(point: Point) -> tuple[Point, float, bool]:
        streams = rng.spawn(len(blocks)) if rng is not None else [None] * len(blocks)
        names = new_names(blocks.row_files, len(blocks))
        parts = run(
            partial(_local_steps, steps, point.state),
            shards,
            in_runs(point.local, SHARDS),
            in_runs(streams, SHARDS),
            in_runs(names, SHARDS),
            join=_join,
        )
        local, stats = _join(parts)
        if blocks.row_files is not None:
            local = RowFiles.own(local)
        objective = float(steps.objective(stats, point.state))
        state = point.state if frozen else steps.global_step(stats, point.state, rng)
        rebased = isinstance(stats, RebasedStatistics) and stats.rebased > 0
        return Point(state, local), objective, rebased

    return advance


def _local_steps(
    steps: Steps,
    state: Any,
    blocks: Sequence[Block],
    local: list[Any],
    streams: list[Any],
    names: list[str | None],
) -> tuple[list[Any], Any]:
    """Local steps over the blocks of a shard: their new row quantities, the sum of statistics.

    It depends only on its arguments, so that any process can run it.
    """
    renewed, found = [], []
    for block, part, stream, name in zip(blocks, local, streams, names, strict=True):
        new, stats = steps.local_step(block, opened(part), state, stream)
        renewed.append(put(new, name))
        found.append(stats)
    return renewed, tree.total(found)


def _join(parts: list[tuple[list[Any], Any]]) -> tuple[list[Any], Any]:
    """Combine the results of `_local_steps` for neighbouring shards into one."""
    local = [part for parts_of_shard, _ in parts for part in parts_of_shard]
    return local, tree.total([stats for _, stats in parts])


def iterate(advance: Advance, point: Point) -> Generator[Iteration]:
    """Repeat plain steps without end."""
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
        first, best = checkpoint.restarts_done(lambda: start(steps, blocks, seeds[0], run))
    for number in range(first, len(seeds)):
        monitor = Monitor(max_iter=max_iter, tol=tol, listeners=listeners)
        point, stride = start(steps, blocks, seeds[number], run), 1.0
        if checkpoint is not None:
            point, stride = checkpoint.resume(number, point, monitor)
        advance = advancer(steps, blocks, run)
        rows = None if blocks.row_files is None else partial(_stride_rows, steps, blocks, run)
        strides = squarem(steps, advance, point, stride=stride, extrapolate_rows=rows)
        iterations = strides if accelerate else iterate(advance, point)
        # The point may be large; from here on only the loop should hold it.
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


def start(steps: Any, blocks: Blocks, seed: np.random.SeedSequence, run: Run) -> Point:
    """The starting point; rows kept in files start there, each block from its own seed.

    Steps without a `BlockwiseStart` start in memory, and their rows are then put into files.
    """
    if blocks.row_files is None:
        return Point(*steps.init(blocks, np.random.default_rng(seed)))
    names = blocks.row_files.new_names(len(blocks))
    if not isinstance(steps, BlockwiseStart):
        state, local = steps.init(blocks, np.random.default_rng(seed))
        return Point(state, RowFiles.own([put(*pair) for pair in zip(local, names, strict=True)]))
    of_state, *of_rows = seed.spawn(len(blocks) + 1)
    state = steps.init_state(blocks, np.random.default_rng(of_state))
    return Point(
        state, RowFiles.own(map_shards(run, partial(_first, steps), blocks, of_rows, names))
    )


def _first(steps: Any, block: Block, seed: np.random.SeedSequence, name: str) -> Any:
    return put(steps.init_rows(block, np.random.default_rng(seed)), name)


def _stride_rows(
    steps: Steps, blocks: Blocks, run: Run, triples: list[Any], state: Any, stride: float
) -> tuple[list[Any], float]:
    """Extrapolated rows of all blocks, computed where their files are, and the longest stride."""
    assert blocks.row_files is not None
    shared = {}
    if None in steps.local_params.values():
        squares = map_shards(run, partial(_squares, steps.local_params), blocks, triples)
        shared = {field: sum(part[field] for part in squares) for field in squares[0]}
    names = blocks.row_files.new_names(len(blocks))
    stride_block = partial(_stride_block, steps, state, stride, shared)
    parts = map_shards(run, stride_block, blocks, triples, names)
    return RowFiles.own([part for part, _ in parts]), max(longest for _, longest in parts)


def _squares(axes: Any, block: Block, triple: tuple[Any, Any, Any]) -> dict[str, np.ndarray]:
    return shared_squares([tuple(map(opened, triple))], axes)


def _stride_block(
    steps: Steps,
    state: Any,
    stride: float,
    shared: dict[str, Any],
    block: Block,
    triple: tuple[Any, Any, Any],
    name: str,
) -> tuple[Any, float]:
    x0, x1, x2 = map(opened, triple)
    part, longest = combine(x0, x1, x2, steps.local_params, stride, shared)
    (part,) = steps.project(Point(state, [part]), Point(state, [x2])).local
    return put(part, name), longest


def exhaust(
    iterations: Generator[Iteration],
    advance: Advance,
    monitor: Monitor,
    save: Any = None,
) -> Fit:
    """Iterate until the monitor stops the fit, then evaluate the last point."""
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
    # Free what the loop holds, such as the last two points, before the last pass.
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

    `SettlingSteps` take each row to its own optimum. Other steps iterate over all rows until the
    objective has settled.
    """
    if isinstance(steps, SettlingSteps):
        parts = run(
            partial(_settle_shard, steps, point.state),
            in_runs(blocks, SHARDS),
            in_runs(point.local, SHARDS),
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
    """Restart the rows and continue the fit, for as long as the objective gains by it.

    For models whose rows have several optima: a row may be stuck in one that suited earlier
    components. Three continuations are tried each time: from the best rows for these components,
    from uninformed rows, and from those rows after they settle with the components held fixed. The
    best of the three adds its last row to the history.
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
    """Append a trial that began where a fit had ended; it adds one row to the history."""
    last = trial.history[-1]
    row = {
        **last,
        "iteration": fit.n_iter + trial.n_iter,
        "seconds": fit.history[-1]["seconds"] + last["seconds"],
        "what": what,
    }
    return trial._replace(history=[*fit.history, row], n_iter=fit.n_iter + trial.n_iter)
