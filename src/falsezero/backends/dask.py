"""Map a function over row blocks on the workers of a Dask cluster.

Everything that a task needs is sent with it, or is the result of another task that only unpacks
what was sent, so no worker holds the only copy of anything. If a worker is lost, Dask repeats its
tasks on another one and the answer is the same to the last bit. (Scattered data and actors would be
lost.)
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cache, partial
from typing import Any
from uuid import uuid4

from threadpoolctl import threadpool_limits

from falsezero.backends.local import ELSEWHERE, Join, Run
from falsezero.data.blocks import Block, Blocks
from falsezero.data.errors import import_for

__all__ = ["connected", "on_dask"]

_ANY_SIZE = {"distributed.admin.large-graph-warning-threshold": "1 PiB"}
"""Blocks are sent in tasks on purpose: scattered, as Dask advises, they would die with a worker."""

_TASKS_A_THREAD = 2
"""Dask's overhead is milliseconds per task; a few tasks per thread let a fast worker do more."""


@contextmanager
def on_dask(client: Any, timeout: float = 60.0) -> Iterator[None]:
    """Fit and transform on the workers of a Dask cluster, for the length of a `with`.

    The answer has the same bits as in this process, whichever worker does what, even if one is
    killed meanwhile. Rows travel to the workers once per fit; in each iteration the state goes
    out and the statistics come back, and with them the weights of the rows. This process keeps the
    table, the state and the seeds, so `checkpoint=` works as usual. A table that does not fit into
    one machine's memory can be in files that the workers read (`falsezero.Shards`).

    It pays where a pass over the table takes much longer than the overhead of about a tenth of a
    second per iteration; otherwise, and on one machine, threads (`n_jobs`) are faster. Samplers
    of a table in memory run in this process.

    Parameters
    ----------
    client : dask.distributed.Client
    timeout : float
        Seconds to wait for a worker if the cluster has none.

    Examples
    --------
    >>> import falsezero as fz
    >>> from dask.distributed import Client
    >>> table = fz.datasets.make_aspect_bernoulli(100, 20, 2, random_state=0).table
    >>> model = fz.AspectBernoulli(n_components=2, random_state=0)
    >>> with Client(processes=False, dashboard_address=":0") as client, fz.on_dask(client):
    ...     weights = model.fit(table).transform(table)
    """
    with import_for("on_dask", "Dask", "falsezero[dask]"):
        import distributed
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise TypeError(
            f"on_dask needs a dask.distributed.Client that is not asynchronous, not {client!r}."
        )
    _require_open(client)
    _require_workers(client, timeout)
    _require_versions(client)
    token = ELSEWHERE.set(lambda here: _OnDask(client, here, timeout))
    try:
        yield
    finally:
        ELSEWHERE.reset(token)


def connected(address: str, timeout: float = 30.0) -> Any:
    """A client of the scheduler at an address."""
    with import_for("A cluster", "Dask", "falsezero[dask]"):
        from distributed import Client
    return Client(address, timeout=timeout)


class _OnDask:
    """A `map_blocks` for one fit; arguments of the last call are not sent again."""

    def __init__(self, client: Any, here: Run, timeout: float):
        _require_open(client)
        self.client, self.here, self.timeout = client, here, timeout
        self.n_tasks = _TASKS_A_THREAD * max(1, sum(client.nthreads().values()))
        self.name = f"falsezero-{uuid4().hex[:12]}"
        self.sent: dict[Any, tuple[Any, Any]] = {}
        self.count = 0

    def __call__(
        self, function: Callable[..., Any], *columns: Sequence[Any], join: Join | None = None
    ) -> list[Any]:
        """Apply a function to shards of rows; work that may change its input stays here."""
        import cloudpickle
        import dask

        first = columns[0][0]
        if not isinstance(first[0] if isinstance(first, list) else first, (Block, Blocks)):
            return self.here(function, *columns)
        _require_open(self.client)
        shared: tuple[Any, ...] = ()
        if isinstance(function, partial):
            shared, function = function.args, function.func
        rest = [tuple(rest) for _, *rest in zip(*columns, strict=True)]
        payloads = [cloudpickle.dumps((function, run, join)) for run in self._tasks_of(rest)]
        with dask.config.set(_ANY_SIZE):
            futures = self._send([*shared, *map(list, self._tasks_of(columns[0]))])
            common, rows = futures[: len(shared)], futures[len(shared) :]
            # Our names are unique; a task that Dask thinks pure would have all its bytes hashed.
            names = [self._new_name("pass") for _ in rows]
            tasks = self.client.map(_work, payloads, rows, key=names, pure=False, common=common)
        return [result for run in self._gather(tasks) for result in pickle.loads(run)]

    def _tasks_of(self, items: Sequence[Any]) -> list[Any]:
        """Runs of 1, 2, 4, 8, ... neighbours, about as many runs as there should be tasks."""
        size = 1
        while size * self.n_tasks < len(items):
            size *= 2
        return [items[i : i + size] for i in range(0, len(items), size)]

    def _send(self, values: list[Any]) -> list[Any]:
        """Futures of objects on the workers; those of the last call are there already."""
        import cloudpickle

        known, self.sent = self.sent, {}
        for value in values:
            identity = _identity(value)
            if identity not in known:
                data = cloudpickle.dumps(value)
                future = self.client.submit(SharedPayload.unpack, data, key=self._new_name("data"))
                known[identity] = (value, future)
            self.sent[identity] = known[identity]
        return [known[_identity(value)][1] for value in values]

    def _new_name(self, kind: str) -> str:
        self.count += 1
        return f"{self.name}-{kind}-{self.count}"

    def _gather(self, tasks: list[Any]) -> list[bytes]:
        from distributed import KilledWorker

        try:
            while not self._is_done(tasks):
                _require_workers(self.client, self.timeout)
            results: list[bytes] = self.client.gather(tasks)
            return results
        except CancelledError:
            raise RuntimeError(
                "The Dask scheduler went away during the fit; start another and fit again, "
                "with checkpoint= to resume it."
            ) from None
        except KilledWorker as problem:
            raise RuntimeError(
                f"Dask gave up a part of the fit after {problem.allowed_failures + 1} workers died "
                "at it, most likely of too little memory; give each worker more (memory_limit=) or "
                "fewer threads, or raise Dask's setting distributed.scheduler.allowed-failures, "
                "then fit again, with checkpoint= to resume it."
            ) from None

    def _is_done(self, tasks: list[Any]) -> bool:
        from distributed import wait

        try:
            wait(tasks, timeout=self.timeout)
        except TimeoutError:
            return False
        return True


class SharedPayload:
    """A value that tasks share.

    It travels as bytes of our own making: arrays that Dask unpacks need not be writable nor lie at
    an address that suits their type, and BLAS would then take another path to other bits.
    """

    def __init__(self, value: Any):
        self.value = value

    @classmethod
    def unpack(cls, data: bytes) -> SharedPayload:
        """Rebuild the value where it arrived."""
        return cls(pickle.loads(data))

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle

        return SharedPayload.unpack, (cloudpickle.dumps(self.value),)

    def __sizeof__(self) -> int:
        from dask.sizeof import sizeof

        size: int = sizeof(self.value)
        return size


def _identity(thing: Any) -> Any:
    """Identify a list by its items, because lists are created anew in every call."""
    return tuple(map(_identity, thing)) if isinstance(thing, list) else id(thing)


def _work(payload: bytes, rows: SharedPayload, common: list[SharedPayload]) -> bytes:
    """The task: apply a function to what is shared, some rows and what belongs to them."""
    import cloudpickle

    _one_blas_thread()
    function, rest, join = pickle.loads(payload)
    shared = [thing.value for thing in common]
    results = [
        function(*shared, shard, *more) for shard, more in zip(rows.value, rest, strict=True)
    ]
    packed: bytes = cloudpickle.dumps([join(results)] if join else results)
    return packed


@cache
def _one_blas_thread() -> Any:
    """Hold BLAS to one thread in a worker, for good: its tasks have threads of their own."""
    return threadpool_limits(limits=1, user_api="blas")


def _require_open(client: Any) -> None:
    if client.status != "running":
        raise RuntimeError(
            f"The Dask client is {client.status}; hand on_dask one that is connected."
        )


def _require_workers(client: Any, timeout: float) -> None:
    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError:
        raise RuntimeError(
            f"The Dask cluster had no worker for {timeout:g} seconds; "
            "add some, or give on_dask a longer timeout=."
        ) from None


def _require_versions(client: Any) -> None:
    """Pickles and bits are the same only between equal versions."""

    def versions() -> dict[str, str | None]:
        from importlib import import_module
        from importlib.util import find_spec

        names = ("falsezero", "numpy")
        return {n: import_module(n).__version__ if find_spec(n) else None for n in names}

    expected = versions()
    for worker, found in client.run(versions, on_error="ignore").items():
        for name, version in expected.items():
            if found[name] != version:
                raise RuntimeError(
                    f"Dask worker {worker} has {name} {found[name]}, this process has {version}; "
                    "install the same on all of them."
                )
