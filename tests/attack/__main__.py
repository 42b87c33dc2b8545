"""`python -m tests.attack`: many tries of every campaign, each batch in a process of its own.

A try that crashes its process, or says nothing for a minute, is a failure; the next process goes on
with the next seed. Prints tries and failures of each campaign, as docs/checks.md shows them.
"""

from __future__ import annotations

import argparse
import queue
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.attack import cluster, files, models, pages, processes, shell, tables

CAMPAIGNS: dict[str, tuple[Callable[[int, Path], None], int]] = {
    "tables": (tables.attack, 10_000),
    "files": (files.attack, 5_000),
    "models": (models.attack, 2_000),
    "shell": (shell.attack, 1_000),
    "kills": (processes.kill, 100),
    "interrupts": (processes.interrupt, 60),
    "full disks": (processes.fill_disk, 40),
    "spoilt caches": (processes.damage_cache, 20),
    "killed workers": (cluster.attack, 40),
    "pages": (pages.attack, 40),
}
"""What is attacked, and how often in full."""

_HANG = 60.0
_SLOW_HANG = 600.0
"""Seconds without a word after which a try counts as hung; campaigns that run processes take
longer, and have time limits of their own."""


def work(name: str, first: int, stop: int) -> None:
    """Try seeds one after the other, with a line for each on standard output."""
    attack = CAMPAIGNS[name][0]
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, stop):
            try:
                attack(seed, Path(folder))
                print(f"{seed} ok", flush=True)
            except BaseException as problem:
                where = traceback.extract_tb(problem.__traceback__)[-1]
                said = " ".join(f"{type(problem).__name__}: {problem}".split())[:300]
                print(f"{seed} failed {where.name}:{where.lineno} {said}", flush=True)


def run(name: str, tries: int, start: int = 0) -> list[str]:
    """All seeds of a campaign; what failed, one line each."""
    patience = _HANG if name in ("tables", "files", "models", "shell") else _SLOW_HANG
    failures: list[str] = []
    seed, stop = start, start + tries
    while seed < stop:
        seed = _batch(name, seed, stop, patience, failures)
    return failures


def _batch(name: str, seed: int, stop: int, patience: float, failures: list[str]) -> int:
    """Tries in one process until it ends or has to be ended; the seed to go on with."""
    command = [sys.executable, "-m", "tests.attack", "--work", name, str(seed), str(stop)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_listen, args=(process.stdout, lines), daemon=True).start()
        threading.Thread(target=_listen, args=(process.stderr, queue.Queue()), daemon=True).start()
        # The first try also imports and compiles.
        wait = patience + 120
        while True:
            try:
                line = lines.get(timeout=wait)
            except queue.Empty:
                process.kill()
                failures.append(f"{name} {seed} hung")
                return seed + 1
            if line is None:
                break
            wait = patience
            seed = int(line.split()[0]) + 1
            if " failed " in line:
                failures.append(f"{name} {line.strip()}")
    if process.returncode:
        failures.append(f"{name} {seed} crashed with {process.returncode}")
        return seed + 1
    return stop


def _listen(stream: object, lines: queue.Queue[str | None]) -> None:
    for line in stream:  # type: ignore[attr-defined]
        lines.put(line)
    lines.put(None)


def main() -> int:
    """Run what was asked for and print the table of docs/checks.md."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--only", nargs="*", choices=CAMPAIGNS, default=list(CAMPAIGNS))
    parser.add_argument("--share", type=float, default=1.0, help="of the full number of tries")
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--work", nargs=3, metavar=("CAMPAIGN", "FIRST", "STOP"))
    given = parser.parse_args()
    if given.work:
        work(given.work[0], int(given.work[1]), int(given.work[2]))
        return 0
    print("| campaign | tries | failures | seconds |\n|---|---|---|---|", flush=True)
    failures: list[str] = []
    for name in given.only:
        tries, began = max(1, round(given.share * CAMPAIGNS[name][1])), time.perf_counter()
        found = run(name, tries, given.start)
        failures += found
        seconds = time.perf_counter() - began
        print(f"| {name} | {tries} | {len(found)} | {seconds:.0f} |", flush=True)
    print("\n".join(failures), file=sys.stderr)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
