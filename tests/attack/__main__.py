"""`python -m tests.attack`: the attack in its long form.

    python -m tests.attack                          # every kind, the full number of tries
    python -m tests.attack kills=20 files=500       # some kinds, so many tries
    python -m tests.attack --resume                 # go on where the last run was stopped
    python -m tests.attack --count                  # write down what a stopped run came to
    python -m tests.attack --controls               # break something on purpose: is it noticed?

Prints tries and failures of each kind. A kind that was tried in full writes its line of
counts.csv, which docs/checks.md shows; --count writes those of all kinds as far as they came.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path

from tests.attack import KINDS, attack_of
from tests.attack.bench import HANG, PYTHON, Result, read_journal, run, work
from tests.attack.controls import CONTROLS, sabotaged

_COUNTS = Path(__file__).with_name("counts.csv")
_WITH_PROCESSES = ("kills", "interrupts", "disks", "caches", "workers", "pages")
"""These wait for others, and limit the time of each of them."""

_FIELDS = ("what is attacked", "full form", "last tries", "failures", "what came of them")


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("tries", nargs="*", metavar="KIND[=TRIES]", help=", ".join(KINDS))
    parser.add_argument("--resume", action="store_true", help="go on where a run was stopped")
    parser.add_argument("--journals", type=Path, default="build/attack", help="a line for each try")
    parser.add_argument("--count", action="store_true", help="only write counts.csv")
    parser.add_argument("--controls", action="store_true", help="is what is broken noticed?")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        kind, control, first, stop = given.work
        with sabotaged(control):
            work(attack_of(kind), int(first), int(stop))
        return 0
    try:
        asked = _asked(given.tries)
    except (KeyError, ValueError) as problem:
        parser.error(f"{problem} is no KIND or KIND=TRIES; the kinds are {', '.join(KINDS)}")
    if given.count:
        for kind in asked:
            if (given.journals / f"{kind}.txt").exists():
                _write(kind, read_journal(given.journals / f"{kind}.txt"))
        return 0
    if given.controls:
        return _controls(list(asked), given.journals / "controls")
    return _attack(asked, given.journals, given.resume)


def _asked(words: list[str]) -> dict[str, int]:
    pairs = [word.partition("=") for word in words]
    return {kind: int(count or KINDS[kind]) for kind, _, count in pairs} or dict(KINDS)


def _attack(asked: dict[str, int], journals: Path, resume: bool) -> int:
    print("| kind | tries | failures | seconds | what came of them |\n|---|---|---|---|---|")
    failures: list[str] = []
    for kind, tries in asked.items():
        began = time.perf_counter()
        journal = journals / f"{kind}.txt"
        found = run([*PYTHON, kind, ""], tries, journal, patience=_patience(kind), resume=resume)
        seconds, said = time.perf_counter() - began, _words(found)
        print(f"| {kind} | {found.tries} | {len(found.failures)} | {seconds:.0f} | {said} |")
        sys.stdout.flush()
        failures += [f"{kind} {line}" for line in found.failures]
        if tries >= KINDS[kind]:
            _write(kind, found)
    print("\n".join(failures), file=sys.stderr)
    return int(bool(failures))


def _patience(kind: str) -> float:
    return 20 * HANG if kind in _WITH_PROCESSES else HANG


def _words(found: Result) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(found.outcomes.items()))


def _write(kind: str, found: Result) -> None:
    """Put the count of one kind into the table, and leave the others."""
    counts = {}
    if _COUNTS.exists():
        with open(_COUNTS, newline="") as stream:
            counts = {line[0]: line for line in list(csv.reader(stream))[1:]}
    counts[kind] = [kind, KINDS[kind], found.tries, len(found.failures), _words(found)]
    with open(_COUNTS, "w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(_FIELDS)
        writer.writerows(counts[kind] for kind in KINDS if kind in counts)


def _controls(kinds: list[str], journals: Path) -> int:
    """Run every attack against something that was broken on purpose."""
    missed = []
    print("| kind | broken | tries | failures |\n|---|---|---|---|")
    for name, control in CONTROLS.items():
        if control.kind in kinds:
            journal = journals / f"{name}.txt"
            command, patience = [*PYTHON, control.kind, name], _patience(control.kind)
            found = run(command, control.tries, journal, patience=patience, until_failure=True)
            counted = f"{found.tries} | {len(found.failures)}"
            print(f"| {control.kind} | {name} | {counted} |", flush=True)
            missed += [name] * (not found.failures)
    print("\n".join(f"not noticed: {name}" for name in missed), file=sys.stderr)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
