"""Map a function over row blocks in this process, on one thread or several.

Results come back in block order whatever the number of threads, so a reduction over them gives
the same bits. BLAS is held to one thread inside our own: two layers of threads fight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import pairwise
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

Run = Callable[..., list[Any]]
"""A `map_blocks` of some backend."""

Join = Callable[[list[Any]], Any]
"""Makes one result of those of 2, 4, 8, ... neighbours, where that saves a journey."""

ELSEWHERE: ContextVar[Callable[[Run], Run] | None] = ContextVar("falsezero_elsewhere", default=None)
"""Makes a `map_blocks` that works elsewhere out of the one that works here, where one is chosen."""


def map_blocks(
    function: Callable[..., Any], *columns: Sequence[Any], join: Join | None = None
) -> list[Any]:
    """Apply a function to each block in this thread.

    >>> map_blocks(lambda a, b: a + b, [1, 2], [10, 20])
    [11, 22]
    """
    return [function(*arguments) for arguments in zip(*columns, strict=True)]


def in_runs(items: Sequence[Any], count: int) -> list[Any]:
    """Cut a sequence into at most `count` runs of consecutive items, as even as can be.

    >>> in_runs([1, 2, 3, 4, 5], 2)
    [[1, 2], [3, 4, 5]]
    """
    count = min(count, len(items))
    bounds = [len(items) * i // count for i in range(count + 1)]
    return [items[a:b] for a, b in pairwise(bounds)]


@contextmanager
def workers(n_jobs: int | None, n_blocks: int) -> Iterator[Run]:
    """Yield a `map_blocks` for the length of a fit: up to `n_jobs` threads, or what was chosen.

    >>> with workers(2, n_blocks=3) as run:
    ...     run(lambda block: block * 2, [1, 2, 3])
    [2, 4, 6]
    """
    elsewhere = ELSEWHERE.get()
    with _threads(n_jobs, n_blocks) as here:
        yield here if elsewhere is None else elsewhere(here)


@contextmanager
def _threads(n_jobs: int | None, n_blocks: int) -> Iterator[Run]:
    n_threads = min(effective_n_jobs(n_jobs), n_blocks)
    with threadpool_limits(limits=1, user_api="blas"):
        if n_threads <= 1:
            yield map_blocks
            return
        with ThreadPoolExecutor(n_threads - 1) as pool:
            yield partial(_map_threads, pool, n_threads)


def _map_threads(
    pool: ThreadPoolExecutor,
    n_threads: int,
    function: Callable[..., Any],
    *columns: Sequence[Any],
    join: Join | None = None,
) -> list[Any]:
    """Give each thread one run of consecutive blocks, the caller's own thread the first of them.

    One hand-over a thread, not one a block, and none for the work that the caller can do itself.
    """
    runs = in_runs(list(zip(*columns, strict=True)), n_threads)

    def work(run: list[tuple[Any, ...]]) -> list[Any]:
        return [function(*arguments) for arguments in run]

    elsewhere = [pool.submit(work, run) for run in runs[1:]]
    here = work(runs[0])
    return here + [result for future in elsewhere for result in future.result()]
