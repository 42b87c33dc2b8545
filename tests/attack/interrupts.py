"""Ctrl-C at any moment: a KeyboardInterrupt, or exit code 130 and a word, and the fit goes on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
from tests.attack.bench import HANG, Stopwatch
from tests.attack.forks import Fork
from tests.attack.kills import WORKS, resume, run, undisturbed

__all__ = ["attack"]

_ATTEMPTS = 5
_BEFORE = ("Fatal Python error: init_", "<frozen site>", "in _get_module_details")
"""Where Python itself still prepares to run the command, which cannot say anything then."""


def attack(seed: int, folder: Path) -> str:
    """Interrupt a fit on its way, or a command from its very first moment on."""
    rng = random.Random(seed)
    if seed % 4 == 3:
        return _whole_command(rng, folder)
    at, name = (seed // 4 * 3 + seed % 4) % len(WORKS), f"stopped-{seed}"
    whole = undisturbed(at, folder)
    moment = rng.uniform(0.0, whole.seconds)
    for _ in range(_ATTEMPTS):
        fork = Fork(run, at, folder, name)
        if not fork.has_ended(moment):
            os.kill(fork.pid, signal.SIGINT)
        answer = fork.answer()
        if answer == "interrupted":
            return resume(at, folder, name)
        assert answer == whole.answer, answer
        # It was done before; a busy machine does not keep time.
        (folder / f"{name}.fz").unlink(missing_ok=True)
        moment /= 2
    return "ended before it was interrupted"


_COMMANDS = (
    ("audit", "{table}", "-o", "{page}.html", "--force"),
    ("fit", "{table}", "-o", "{model}", "-k", "2", "--restarts", "200", "--force"),
    ("select", "{table}", "-k", "1-8"),
)


def _whole_command(rng: random.Random, folder: Path) -> str:
    """A command in a process of its own, from before its first import."""
    places = {name: str(folder / name) for name in ("table", "page", "model")}
    X = (np.random.default_rng(0).random((60, 12)) < 0.3).astype(int)
    (folder / "table").write_text("\n".join(",".join(map(str, line)) for line in X))
    command = [word.format(**places) for word in (*rng.choice(_COMMANDS), "--no-header")]
    process, watch = _started(command)
    # A busy machine starts slowly; what counts is how far the process has come.
    moment = rng.uniform(0.0, _seconds_to_help())
    while process.poll() is None and watch.seconds < moment:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    while process.poll() is None:
        assert watch.seconds < moment + HANG, "hung"
        time.sleep(0.05)
    said = process.communicate()[1]
    if any(word in said for word in _BEFORE):
        return "interrupted before the command ran"
    # Python may end itself by the same signal, which a shell reports as 130.
    ends = (0, 130, -signal.SIGINT)
    assert process.returncode in ends, f"{command}: {process.returncode} {said}"
    assert "Traceback" not in said, said
    return "interrupted" if process.returncode else "ended before it was interrupted"


def _started(command: list[str]) -> tuple[subprocess.Popen[str], Stopwatch]:
    process = subprocess.Popen(
        [sys.executable, "-m", "falsezero", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    return process, Stopwatch(process.pid)


@cache
def _seconds_to_help() -> float:
    process, watch = _started(["demo", "--help"])
    process.communicate()
    # Twice as long as everything takes that is imported for help: half of all tries are later.
    return max(2.0, 4 * watch.seconds)
