"""Workers of a Dask cluster that are killed while they work."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import falsezero as fz

__all__ = ["attack"]

_X = (np.random.default_rng(0).random((3000, 200)) < 0.3).astype(float)
"""Several blocks: those of a worker that dies are another's to do."""


def _model(checkpoint: Path | None = None) -> fz.AspectBernoulli:
    settings = {"n_init": 2, "max_iter": 10, "tol": 0.0, "prior": 1.0}
    return fz.AspectBernoulli(3, random_state=0, checkpoint=checkpoint, **settings)


_CLUSTERS: list[Any] = []


def _client() -> Any:
    """One cluster for all tries, or another where its nannies no longer start workers anew."""
    import distributed

    if _CLUSTERS:
        try:
            _CLUSTERS[-1].wait_for_workers(2, timeout=60)
            return _CLUSTERS[-1]
        except TimeoutError:
            old = _CLUSTERS.pop()
            old.close()
            old.cluster.close()
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    _CLUSTERS.append(distributed.Client(distributed.LocalCluster(**options)))
    return _CLUSTERS[-1]


@cache
def _undisturbed() -> tuple[np.ndarray, float]:
    here = _model().fit(_X).components_
    with fz.on_dask(_client()):
        _model().fit(_X)
        began = time.perf_counter()
        _model().fit(_X)
    return here, time.perf_counter() - began


def attack(seed: int, folder: Path) -> str:
    """Kill workers at random moments of a fit: the same bits, or a sentence and a checkpoint.

    Every fourth try Dask gives up when one worker dies at a task; the fit then goes on from its
    checkpoint.
    """
    from falsezero.inference import checkpoint

    rng, client = random.Random(seed), _client()
    checkpoint.Checkpoint.__init__.__defaults__ = (0.0,)
    gives_up = seed % 4 == 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here, seconds = _undisturbed()
        _allow_failures(client, 0 if gives_up else 3)
        pids = list(client.run(os.getpid, on_error="ignore").values())
        killer = threading.Timer(
            rng.uniform(0.0, seconds), os.kill, (rng.choice(pids), signal.SIGKILL)
        )
        path, outcome = folder / f"{seed}.ckpt", "same bits"
        killer.start()
        with fz.on_dask(client):
            try:
                model = _model(path).fit(_X)
            except RuntimeError as refusal:
                if not gives_up or not str(refusal).startswith("Dask gave up"):
                    raise
                outcome = "given up, resumed" if path.exists() else "given up, begun anew"
                _allow_failures(client, 3)
                model = _model(path).fit(_X)
        killer.join()
    assert np.array_equal(here, model.components_), "other bits"
    assert not path.exists(), "the checkpoint was left"
    return outcome


def _allow_failures(client: Any, count: int) -> None:
    client.cluster.scheduler.allowed_failures = count
