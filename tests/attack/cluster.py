"""Workers of a Dask cluster that are killed while they work."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import falsezero as fz

__all__ = ["attack"]

_X = (np.random.default_rng(0).random((1500, 200)) < 0.3).astype(float)


def _model() -> fz.AspectBernoulli:
    return fz.AspectBernoulli(3, random_state=0, max_iter=10, tol=0.0)


@contextmanager
def _cluster() -> Iterator[Any]:
    import distributed

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def attack(seed: int, folder: Path) -> None:
    """Kill one of two workers at a random moment of a fit: the same bits."""
    import warnings

    rng = random.Random(seed)
    with warnings.catch_warnings(), _cluster() as client:
        warnings.simplefilter("ignore")
        here = _model().fit(_X).components_
        pids = list(client.run(os.getpid).values())

        def kill() -> None:
            time.sleep(rng.uniform(0.0, 1.0))
            os.kill(rng.choice(pids), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        with fz.on_dask(client):
            there = _model().fit(_X).components_
        killer.join()
    assert np.array_equal(here, there), "other bits"
