"""Markov chains: the counterpart of `optimise` for sampling, with the same steps and engine."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from falsezero.backends import map_blocks, one_blas_thread
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Point, Run, Steps
from falsezero.inference.engine import advancer, iterate, start
from falsezero.inference.monitor import Listener


class Chain(NamedTuple):
    """One chain: the record of each kept draw, the whole history, and the last point."""

    draws: list[Any]
    history: list[dict[str, Any]]
    last: Point


def sample(
    steps: Steps,
    blocks: Blocks,
    seeds: list[np.random.SeedSequence],
    *,
    warmup: int,
    draws: int,
    thin: int = 1,
    record: Callable[[Point], Any] = lambda point: point,
    n_jobs: int | None = None,
    listeners: tuple[Listener, ...] = (),
    run: Run = map_blocks,
) -> list[Chain]:
    """Run one chain from each seed: `warmup` iterations, then `draws` kept ones `thin` apart.

    Chains run side by side on `n_jobs` threads; each draws from streams derived from its own seed,
    so the answer does not depend on the number of threads. `run` maps over the blocks of one chain;
    steps that change their rows in place need one that works in this process. The history's
    objective is the value at the start of an iteration (the log joint, for most samplers).
    """

    stop = Event()

    def run_chain(seed: np.random.SeedSequence, number: int) -> Chain:
        rng = np.random.default_rng(seed)
        if blocks.row_files is None:
            point = Point(*steps.init(blocks, rng))
        else:
            point = start(steps, blocks, seed, run)
        iterations = iterate(advancer(steps, blocks, run, rng=rng), point)
        kept: list[Any] = []
        history: list[dict[str, Any]] = []
        began = time.perf_counter()
        for i, iteration in enumerate(islice(iterations, warmup + draws * thin)):
            keeps = i >= warmup and (i - warmup + 1) % thin == 0
            row = {
                "chain": number,
                "iteration": i + 1,
                "objective": iteration.objective,
                "seconds": time.perf_counter() - began,
                "what": "draw" if keeps else "warm-up" if i < warmup else "thinned",
            }
            history.append(row)
            if keeps:
                kept.append(record(iteration.point))
            if sum(bool(listener(row)) for listener in listeners) or stop.is_set():
                break
        return Chain(kept, history, iteration.point)

    n_threads = min(effective_n_jobs(n_jobs), len(seeds))
    with one_blas_thread, ThreadPoolExecutor(n_threads) as pool:
        try:
            return list(pool.map(run_chain, seeds, range(len(seeds))))
        except BaseException:
            # Only one thread sees the interrupt; without this the others would finish their chains.
            stop.set()
            raise
