"""What every comparison shares: timing, memory, processes of their own, and a result's shape."""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def timed(function: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Median wall time of some calls, and what the last one returned."""
    seconds = []
    result = None
    for _ in range(repeats):
        began = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds), result


def peak_memory_mb() -> float:
    """Peak resident memory of this process so far, without what its parent had."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_fresh_process(
    function: Callable[..., Any], *arguments: Any, threads: int = 1, **environment: str
) -> Any:
    """What a function of some module returns when a new interpreter runs it.

    Nothing else is loaded there, so memory is its own and a first call is a first call. Arguments
    and result travel as JSON; BLAS and OpenMP get `threads` threads.
    """
    code = "import sys; from benchmarks.harness import _answer; _answer(*sys.argv[1:])"
    limits = dict.fromkeys(THREAD_LIMITS, str(threads))
    words = function.__module__, function.__name__, json.dumps(arguments)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *words],
        env={**os.environ, **limits, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{function.__name__} failed in its own process: {reason}")
    return json.loads(done.stdout.splitlines()[-1])


def _answer(module: str, function: str, arguments: str) -> None:
    result = getattr(import_module(module), function)(*json.loads(arguments))
    print(f"\n{json.dumps(result)}")


def row(
    case: str,
    ours: str,
    rival: str,
    quantity: str,
    ours_value: float,
    rival_value: float,
    note: str = "",
    *,
    threads: int | None = None,
    headline: str = "",
    yardstick: bool = False,
) -> dict[str, Any]:
    """One line of the results table; `ratio` is the rival's value divided by ours.

    `case`, `ours`, `rival` and `quantity` together name the line, so they must be unique. `threads`
    is what both sides ran on. A `headline` puts the line into the README under these words; lines
    with the same one are drawn together there. A `yardstick` is not another library but something
    to measure ourselves by, which cannot be lost against. A target that we never reached (NaN)
    took for ever.
    """
    if math.isnan(ours_value):
        ours_value = math.inf
    return {
        "case": case,
        "ours": ours,
        "rival": rival,
        "quantity": quantity,
        "ours_value": ours_value,
        "rival_value": rival_value,
        "ratio": rival_value / ours_value if ours_value else math.nan,
        "threads": threads or "",
        "yardstick": "yes" if yardstick else "",
        "headline": headline,
        "note": note,
    }
