"""Many tries of one kind of attack, in processes of their own.

A try that crashes its process, or takes more than a minute of its own, is a failure; another
process goes on with the next seed. Every try is one line of a journal, so that a run which was
stopped can go on.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

__all__ = ["HANG", "PYTHON", "Result", "Stopwatch", "read_journal", "run", "work"]

HANG = 60.0
"""Seconds after which something that says nothing counts as hung."""

_AGE = 1000
"""Tries of one process at most."""

_START = 120.0
"""More seconds for a first try, which imports and may compile."""

Attack = Callable[[int, Path], str | None]
"""Tries one seed in a folder: raises where something is wrong, else says in a word what came."""


class Stopwatch:
    """Seconds of a process, without those in which it waited for a processor of a busy machine."""

    def __init__(self, pid: int):
        self.pid = pid
        self.restart()

    def restart(self) -> None:
        """Count from now on."""
        self._began, self._waited = time.monotonic(), self._waiting()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began - (self._waiting() - self._waited)

    def _waiting(self) -> float:
        try:
            with open(f"/proc/{self.pid}/schedstat") as stream:
                return int(stream.read().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return 0.0


class Result(NamedTuple):
    """What came of the tries of one kind."""

    tries: int
    failures: list[str]
    outcomes: Counter[str]


def work(attack: Attack, first: int, stop: int) -> None:
    """Try seeds one after the other, with a line for each on standard output."""
    with tempfile.TemporaryDirectory() as outside:
        # A folder within one, in which nothing else may appear.
        folder = Path(outside) / "inside"
        folder.mkdir()
        for seed in range(first, stop):
            try:
                line = f"{seed} ok {attack(seed, folder) or 'done'}"
            except BaseException as problem:
                where = traceback.extract_tb(problem.__traceback__)[-1]
                said = " ".join(f"{type(problem).__name__}: {problem}".split())[:300]
                line = f"{seed} failed {Path(where.filename).name}:{where.lineno} {said}"
            print(line.encode("ascii", "backslashreplace").decode(), flush=True)


def run(
    command: list[str],
    tries: int,
    journal: Path,
    *,
    patience: float = HANG,
    resume: bool = False,
    until_failure: bool = False,
) -> Result:
    """All seeds from 0 up; `command` with a first and a last seed is a process that tries them."""
    journal.parent.mkdir(parents=True, exist_ok=True)
    if not resume:
        journal.unlink(missing_ok=True)
    with open(journal, "a") as noted:
        seed = _next_seed(journal)
        while seed < tries:
            # A process must not grow old: what it leaks would end it, and not the library.
            stop = min(seed + _AGE, tries)
            seed = _batch([*command, str(seed), str(stop)], seed, stop, patience, noted)
            if until_failure and read_journal(journal).failures:
                break
    return read_journal(journal, tries)


def _next_seed(journal: Path) -> int:
    lines = journal.read_text().splitlines()
    return int(lines[-1].split()[0]) + 1 if lines else 0


def read_journal(journal: Path, tries: int | None = None) -> Result:
    """What came of the tries so far, or of the first of them."""
    lines = journal.read_text().splitlines()[:tries]
    failures = [line for line in lines if " ok " not in line]
    outcomes = Counter(line.split(" ok ", 1)[1] for line in lines if " ok " in line)
    return Result(len(lines), failures, outcomes)


def _batch(command: list[str], seed: int, stop: int, patience: float, noted: IO[str]) -> int:
    """Tries in one process until it ends or has to be ended; the seed to go on with."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_listen, args=(process.stdout, lines), daemon=True).start()
        watch, allowed = Stopwatch(process.pid), patience + _START
        while True:
            try:
                line = lines.get(timeout=1.0)
            except queue.Empty:
                if watch.seconds < allowed:
                    continue
                process.kill()
                _note(noted, f"{seed} hung")
                return seed + 1
            if line is None:
                break
            _note(noted, line.rstrip("\n"))
            seed, allowed = int(line.split()[0]) + 1, patience
            watch.restart()
    if seed < stop:
        _note(noted, f"{seed} crashed with {process.returncode}")
        return seed + 1
    return stop


def _listen(stream: IO[str] | None, lines: queue.Queue[str | None]) -> None:
    for line in stream or ():
        lines.put(line)
    lines.put(None)


def _note(noted: IO[str], line: str) -> None:
    noted.write(f"{line}\n")
    noted.flush()
    os.fsync(noted.fileno())


PYTHON = [sys.executable, "-m", "tests.attack", "--work"]
