"""What every comparison shares: timing, memory, and the shape of a result row."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


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


def row(
    case: str,
    ours: str,
    rival: str,
    quantity: str,
    ours_value: float,
    rival_value: float,
    note: str = "",
) -> dict[str, Any]:
    """One line of the results table; `ratio` is the rival's value divided by ours."""
    ratio = rival_value / ours_value if ours_value else float("nan")
    return {
        "case": case,
        "ours": ours,
        "rival": rival,
        "quantity": quantity,
        "ours_value": ours_value,
        "rival_value": rival_value,
        "ratio": ratio,
        "note": note,
    }
