"""Small changes to the source that the tests should notice: `make mutants`.

Draws a sample of mutants of `models/` and `analysis/` with a fixed seed, spread evenly over the
files, runs the tests that execute the changed line, and lists the mutants that no test noticed.

    python -m tools.mutants --sample 40 --seed 0
    python -m tools.mutants --module analysis/compare.py --sample 200

Changed are comparisons, arithmetic, `and` and `or`, signs, numbers, and True and False. Messages,
annotations, default values and constants of a module are left alone: most of their changes make no
difference to what is computed. Mutants of `equivalent_mutants.txt`, each with its reason, are
neither drawn nor counted.

Tests are collected once. Each runs once under a tracer that notes the lines it executes; the notes
are kept in a file, so that only changed tests, and tests of changed modules, run again. A mutant
lives in a forked process, where the code of one function is replaced and the tests that reach it
run until one fails: those of the module's own folder first, quick ones before slow ones. A test
that noticed a mutant must pass once more in a process of its own without any mutant; otherwise it
is left out and the mutant judged again. No file is touched.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import random
import resource
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from math import ceil
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from tools.mutant_notes import ROOMS, ROOT, SOURCE, Runner, cost_of, note, reaching, source_of
from tools.mutations import mutated, places, words_of

TESTS = [
    *("tests/models", "tests/analysis", "tests/contract", "tests/base", "tests/inference"),
    *("tests/io", "tests/audit", "src/falsezero/models", "src/falsezero/analysis"),
]
NOTES = ROOT / ".mutants.json"
NOT_INSTALLED = 3
"""Exit code of a process that found no function to change."""
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")


def files_of(place: Path) -> list[Path]:
    """A file itself, or the modules of a folder."""
    if place.is_file():
        return [place]
    return [
        path
        for path in sorted(place.rglob("*.py"))
        if path.name not in ("__init__.py", "_skeleton.py")
    ]


def equivalents() -> set[tuple[str, str, str]]:
    """Mutants known to make no difference, as file, line of the source and change."""
    lines = EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []
    parts = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return {(path, line, change) for path, line, change, _ in parts}


def outdated() -> list[tuple[str, str, str]]:
    """Listed mutants whose line is no longer in the source: to be deleted, or listed anew."""
    files = {name: SOURCE / name for name, _, _ in equivalents()}
    known = {one for path in files.values() if path.exists() for one in described(path)}
    return sorted(equivalents() - known)


@cache
def described(path: Path) -> list[tuple[str, str, str]]:
    """All mutants of a file, each as file, line of the source and change."""
    source, name = source_of(path), str(path.relative_to(SOURCE))
    lines = source.splitlines()
    nodes = places(ast.parse(source))
    return [(name, lines[n.lineno - 1].strip(), words_of(n).partition(": ")[2]) for n in nodes]


def sample(paths: list[Path], size: int, seed: int) -> list[tuple[Path, int]]:
    """Mutants drawn without replacement, from every file in proportion to its mutants."""
    rng, idle, ranked = random.Random(seed), equivalents(), []
    for path in paths:
        numbers = list(range(len(described(path))))
        rng.shuffle(numbers)
        ranked += [
            ((rank + rng.random()) / len(numbers), path, number)
            for rank, number in enumerate(numbers)
        ]
    drawn = []
    for _, path, number in sorted(ranked):
        if len(drawn) == size:
            break
        if described(path)[number] not in idle:
            drawn.append((path, number))
    return drawn


# -- in the process that runs the tests -------------------------------------------------------


def install(path: Path, number: int) -> int:
    """Give the live functions of a module the code of a mutant; how many were changed."""
    tree, _ = mutated(source_of(path), number)
    new = {_place(code): code for code in _codes(compile(tree, str(path), "exec"))}
    old = {_place(code): code for code in _codes(compile(source_of(path), str(path), "exec"))}
    changed = {place for place, code in new.items() if code != old.get(place)}
    found = 0
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == str(path):
            place = _place(function.__code__)
            if place in changed:
                function.__code__ = new[place]
                found += 1
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _place(code: CodeType) -> tuple[str, int, Any]:
    return code.co_qualname, code.co_firstlineno, next(iter(list(code.co_positions())[1:]), None)


def in_child(work: Any, limit: float) -> int:
    """Exit code of some work done in a forked process; minus a signal's number if it died."""
    child = os.fork()
    if not child:
        # Seconds of the processor: a busy machine must not look like an endless loop. The clock
        # ends only what waits for ever.
        resource.setrlimit(resource.RLIMIT_CPU, (ceil(limit), ceil(limit) + 5))
        signal.alarm(ceil(100 * limit))
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        try:
            code = int(work())
        except BaseException:
            code = 1
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Judge(Runner):
    """The mutation run as a plug-in: tests are collected, and every mutant judged by some."""

    def __init__(self, mutants: list[tuple[Path, int]], notes: Path, budget: float):
        super().__init__()
        self.mutants, self.notes, self.budget = mutants, notes, budget
        self.counts: Counter[str] = Counter()
        self.running = notes.with_suffix(f".{os.getpid()}")
        self.trusted: dict[str, bool] = {}

    def pytest_runtestloop(self, session: Any) -> bool:
        """Judge every mutant by the collected tests, in place of running them."""
        if session.testsfailed:
            raise RuntimeError("some tests could not be collected")
        items = {item.nodeid: item for item in session.items}
        # In a child, because tests leave threads behind, and a process with threads must not fork.
        if in_child(lambda: note(self, session.items, self.notes) is None, 86400):
            raise RuntimeError("the tests could not be noted")
        every = json.loads(self.notes.read_text())
        notes = {test: known for test, known in every.items() if test in items}
        broken = [test for test, known in notes.items() if not known["passes"]]
        print(f"\n{len(notes)} tests, {len(broken)} of them fail without a mutant:", *broken)
        for path, number in self.mutants:
            verdict, by = self.trusted_verdict(path, number, notes, items)
            self.counts[verdict] += 1
            words = mutated(source_of(path), number)[1]
            print(f"{verdict:9}{path.relative_to(SOURCE)} {words}  [{by}]", flush=True)
        self.running.unlink(missing_ok=True)
        return True

    def trusted_verdict(
        self, path: Path, number: int, notes: dict[str, Any], items: dict[str, Any]
    ) -> tuple[str, str]:
        """A verdict; a test that fails without a mutant is left out, now and later."""
        while True:
            names, seconds = reaching(notes, path, number, self.budget)
            verdict, by = self.verdict(path, number, [items[name] for name in names], seconds)
            if not by or self.is_trusted(items[by], cost_of(notes[by], {})):
                return verdict, by
            print(f"left out: {by} fails in a process of its own without a mutant", flush=True)
            notes[by]["passes"] = False

    def verdict(self, path: Path, number: int, tests: list[Any], seconds: float) -> tuple[str, str]:
        """One of "killed", "survived", "timeout", "untested", and the test that noticed."""
        if not tests:
            return "untested", ""

        def work() -> int:
            if not install(path, number):
                return NOT_INSTALLED
            return int(self.first_failure(tests, self.running))

        code = in_child(work, 5 * seconds + 20)
        if code == NOT_INSTALLED:
            raise RuntimeError(
                f"{path} has no live function to change: {mutated(source_of(path), number)[1]}"
            )
        if code == 0:
            return "survived", ""
        is_late = code in (-signal.SIGXCPU, -signal.SIGALRM)
        return "timeout" if is_late else "killed", self.running.read_text()

    def is_trusted(self, test: Any, seconds: float) -> bool:
        """Whether a test that noticed a mutant passes by itself, without one."""
        if test.nodeid not in self.trusted:
            code = in_child(lambda: self.first_failure([test], self.running), 5 * seconds + 20)
            self.trusted[test.nodeid] = code == 0
        return self.trusted[test.nodeid]


def main() -> int:
    """Judge a sample and print every verdict; 1 where a mutant survived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=40, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--room", choices=ROOMS, help="only mutants of this folder")
    parser.add_argument(
        "--module", action="append", help="a file or folder, such as analysis/compare.py"
    )
    parser.add_argument("--budget", type=float, default=30, help="test seconds for one mutant")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="files or folders to ask")
    parser.add_argument("--part", default="1/1", help="judge only this part of the sample")
    parser.add_argument("--notes", type=Path, default=NOTES, help="what each test executes")
    options = parser.parse_args()
    paths = [
        path
        for name in options.module or ([options.room] if options.room else ROOMS)
        for path in files_of(SOURCE / name)
    ]
    for name, line, change in outdated():
        print(f"no longer in the source: {name} | {line} | {change}")
    part, n_parts = map(int, options.part.split("/"))
    drawn = sample(paths, options.sample, options.seed)[part - 1 :: n_parts]
    judge = Judge(drawn, options.notes, options.budget)
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src")]
    pytest.main(["-q", "-n0", "-s", *options.tests], plugins=[judge])
    counts = judge.counts
    caught = counts["killed"] + counts["timeout"]
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    print(f"{words}: {100 * caught / max(1, counts.total()):.0f} % noticed")
    return int(caught < counts.total())


if __name__ == "__main__":
    sys.exit(main())
