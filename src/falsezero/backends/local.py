"""Map a function over row blocks in this process, on one thread or several.

Results come back in block order whatever the number of threads, so a reduction over them gives
the same bits. BLAS is limited to one thread, so that its threads do not compete with ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import pairwise
from threading import Event, Lock, Thread
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

Run = Callable[..., list[Any]]
"""A `map_blocks` of some backend."""

Join = Callable[[list[Any]], Any]
"""Combines the results of 2, 4, 8, ... neighbours into one, so that less is sent."""

ELSEWHERE: ContextVar[Callable[[Run], Run] | None] = ContextVar("falsezero_elsewhere", default=None)
"""Turns the `map_blocks` of this process into one that works elsewhere, if one was chosen."""


def map_blocks(
    function: Callable[..., Any], *columns: Sequence[Any], join: Join | None = None
) -> list[Any]:
    """Apply a function to each block in this thread.

    With `join`, results are combined as they come, so that few are kept at a time.

    >>> map_blocks(lambda a, b: a + b, [1, 2], [10, 20])
    [11, 22]
    >>> map_blocks(lambda a: [a], [1, 2, 3], join=lambda parts: sum(parts, []))
    [[1, 2, 3]]
    """
    results = (function(*arguments) for arguments in zip(*columns, strict=True))
    return list(results) if join is None else [joined(results, join)]


def joined(results: Iterable[Any], join: Join) -> Any:
    """Combine many results into one: neighbours first, then neighbouring pairs, and so on.

    Combining groups of 2, 4, 8, ... first, in the same way, gives the same result.

    >>> joined("abcdefg", lambda pair: f"({pair[0]}{pair[1]})")
    '(((ab)(cd))((ef)g))'
    """
    waiting: list[tuple[int, Any]] = []
    for result in results:
        size = 1
        while waiting and waiting[-1][0] == size:
            result = join([waiting.pop()[1], result])
            size *= 2
        waiting.append((size, result))
    _, last = waiting.pop()
    while waiting:
        last = join([waiting.pop()[1], last])
    return last


def in_runs(items: Sequence[Any], count: int) -> list[Any]:
    """Cut a sequence into at most `count` runs of consecutive items, as even as can be.

    >>> in_runs([1, 2, 3, 4, 5], 2)
    [[1, 2], [3, 4, 5]]
    """
    count = min(count, len(items))
    bounds = [len(items) * i // count for i in range(count + 1)]
    return [items[a:b] for a, b in pairwise(bounds)]


SHARDS = 256
"""Largest number of shards in which blocks are handed out; statistics are added up within a shard
first. It does not depend on the workers, so that the sums are the same whoever did the work."""


def map_shards(
    run: Run,
    function: Callable[..., Any],
    blocks: Sequence[Any],
    *columns: Sequence[Any],
    join: Join | None = None,
) -> list[Any]:
    """Apply a function to each block, handed out in shards: blocks in files are read there.

    With `join`, the one result of all, joined where it was worked out as far as possible.
    """
    shards = [in_runs(column, SHARDS) for column in (blocks, *columns)]
    if join is None:
        return [result for part in run(partial(_each, function), *shards) for result in part]
    return [joined(run(partial(_each_joined, function, join), *shards, join=join), join)]


def _each(function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
    return [function(*arguments) for arguments in zip(*columns, strict=True)]


def _each_joined(function: Callable[..., Any], join: Join, *columns: Sequence[Any]) -> Any:
    return joined((function(*arguments) for arguments in zip(*columns, strict=True)), join)


class _OneBlasThread:
    """Limits BLAS to one thread for as long as any fit in this process needs it.

    The setting belongs to the whole process. If each fit restored the value it found, two fits in
    different threads could leave the limit of the first in place; and threadpoolctl obeys only the
    thread that set the number first, as long as it lives. So a dedicated thread sets the limit when
    the first fit begins and restores it when the last one ends.
    """

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0
        self._holder, self._is_over = Thread(), Event()

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._is_over, is_set = Event(), Event()
                self._holder = Thread(target=self._hold, args=(is_set, self._is_over), daemon=True)
                self._holder.start()
                try:
                    is_set.wait()
                except BaseException:
                    self._is_over.set()
                    raise
            self._users += 1

    def __exit__(self, *error: Any) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._is_over.set()
                self._holder.join()

    @staticmethod
    def _hold(is_set: Event, is_over: Event) -> None:
        try:
            with threadpool_limits(limits=1, user_api="blas"):
                is_set.set()
                is_over.wait()
        finally:
            is_set.set()


one_blas_thread = _OneBlasThread()


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
def shared_workers(n_jobs: int | None, n_blocks: int) -> Iterator[None]:
    """Let every `workers` within use one `map_blocks` elsewhere, so that rows travel there once."""
    if ELSEWHERE.get() is None:
        yield
        return
    with workers(n_jobs, n_blocks) as run:
        token = ELSEWHERE.set(lambda here: run)
        try:
            yield
        finally:
            ELSEWHERE.reset(token)


@contextmanager
def _threads(n_jobs: int | None, n_blocks: int) -> Iterator[Run]:
    n_threads = min(effective_n_jobs(n_jobs), n_blocks)
    with one_blas_thread:
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

    One hand-over per thread, not per block, and none for the caller's own share.
    """
    items = list(zip(*columns, strict=True))
    size = 1
    while join is not None and 4 * size * n_threads <= len(items):
        size *= 2
    groups = [items[i : i + size] for i in range(0, len(items), size)]
    runs = in_runs(groups, n_threads)

    def work(run: list[list[tuple[Any, ...]]]) -> list[Any]:
        results = ((function(*arguments) for arguments in group) for group in run)
        if join is None:
            return [result for group in results for result in group]
        return [joined(group, join) for group in results]

    elsewhere = [pool.submit(work, run) for run in runs[1:]]
    here = work(runs[0])
    return here + [result for future in elsewhere for result in future.result()]
