"""What each test executes, and which tests reach a place of the source: for `tools/mutants.py`."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Container, Iterable
from functools import cache
from itertools import zip_longest
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import pytest
from tools.mutations import lines_of

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "falsezero"
ROOMS = ("models", "analysis")


@cache
def source_of(path: Path) -> str:
    """A file as it was when the run began: it may be edited meanwhile."""
    return path.read_text()


class Tracer:
    """Notes the lines of some rooms that are executed."""

    def __init__(self) -> None:
        self.rooms = tuple(f"{SOURCE / room}{os.sep}" for room in ROOMS)
        self.seen: dict[CodeType, set[int]] = {}
        self.left: dict[CodeType, set[int]] = {}

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        """A call: followed line by line while the function has lines not seen yet."""
        code = frame.f_code
        if code not in self.left:
            if not code.co_filename.startswith(self.rooms):
                return None
            self.left[code] = {line for _, _, line in code.co_lines() if line}
            self.seen[code] = set()
        return self.line if self.left[code] else None

    def line(self, frame: Any, event: str, argument: Any) -> Any:
        """A line of a followed function."""
        code = frame.f_code
        self.seen[code].add(frame.f_lineno)
        self.left[code].discard(frame.f_lineno)
        return self.line if self.left[code] else None

    def executed(self) -> dict[str, list[int]]:
        """Lines by file, relative to the package."""
        return joined(
            {str(Path(code.co_filename).relative_to(SOURCE)): sorted(seen)}
            for code, seen in self.seen.items()
        )


def set_trace(tracer: Tracer | None) -> None:
    """Trace this thread and those that it starts; None ends it."""
    threading.settrace(tracer)  # type: ignore[arg-type]
    sys.settrace(tracer)


def joined(parts: Iterable[dict[str, list[int]]]) -> dict[str, list[int]]:
    """Lines of any of the parts, by file."""
    lines: dict[str, set[int]] = {}
    for part in parts:
        for name, numbers in part.items():
            lines.setdefault(name, set()).update(numbers)
    return {name: sorted(numbers) for name, numbers in sorted(lines.items())}


class Fixture(NamedTuple):
    """What setting up a fixture that several tests share executed, and its seconds."""

    lines: dict[str, list[int]]
    seconds: float


class Runner:
    """Runs single tests as pytest would, warnings turned into errors and all."""

    failed = False

    def __init__(self) -> None:
        self.shared: dict[str, Fixture] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        """Note a fixture that is set up once: each test that has it executes its lines."""
        outer = sys.gettrace()
        if not isinstance(outer, Tracer) or fixturedef.scope == "function":
            return (yield)
        inner, start = Tracer(), time.process_time()
        set_trace(inner)
        try:
            return (yield)
        finally:
            set_trace(outer)
            lines = inner.executed()
            self.shared[_name_of(fixturedef)] = Fixture(lines, time.process_time() - start)

    def fixtures_of(self, item: Any) -> dict[str, Fixture]:
        """The shared fixtures of a test that has run, by name."""
        info = getattr(item, "_fixtureinfo", None)
        definitions = info.name2fixturedefs.values() if info is not None else []
        names = {_name_of(one) for several in definitions for one in several}
        return {name: self.shared[name] for name in sorted(names & self.shared.keys())}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember a failure of the test, or of what it needs."""
        self.failed = self.failed or report.failed

    def passes(self, item: Any, after: Any) -> bool:
        """Whether a test passes; `after` is the one that comes next."""
        self.failed = False
        item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
        return not self.failed

    def first_failure(self, items: list[Any], file: Path) -> bool:
        """Whether a test fails, stopping at the first; `file` gets the name of each that runs."""
        for item, after in zip_longest(items, items[1:]):
            file.write_text(item.nodeid)
            if not self.passes(item, after):
                return True
        return False


def _name_of(fixture: Any) -> str:
    return f"{fixture.baseid}::{fixture.argname}"


@cache
def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()


def note(runner: Runner, items: list[Any], file: Path) -> dict[str, Any]:
    """What each test executes, and its seconds; tests noted before run again if they changed."""
    notes: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    began = time.monotonic()
    items = [item for item in items if not _is_current(notes.get(item.nodeid), item)]
    for item, after in zip_longest(items, items[1:]):
        tracer, start, before = Tracer(), time.process_time(), set(runner.shared)
        set_trace(tracer)
        try:
            is_good = runner.passes(item, after)
        finally:
            set_trace(None)
        seconds, fixtures = time.process_time() - start, runner.fixtures_of(item)
        own = sum(one.seconds for name, one in fixtures.items() if name not in before)
        lines = joined([tracer.executed(), *(one.lines for one in fixtures.values())])
        notes[item.nodeid] = {
            "file": _digest(item.path),
            "modules": {name: _digest(SOURCE / name) for name in lines},
            "passes": is_good,
            "seconds": max(0.0, seconds - own),
            "fixtures": {name: one.seconds for name, one in fixtures.items()},
            "lines": lines,
        }
        if time.monotonic() - began > 20:
            file.write_text(json.dumps(notes))
            began = time.monotonic()
    file.write_text(json.dumps(notes))
    return notes


def _is_current(known: dict[str, Any] | None, item: Any) -> bool:
    """Whether neither the test nor what it executes has changed since it was noted."""
    if known is None or "fixtures" not in known or known["file"] != _digest(item.path):
        return False
    paths = {SOURCE / name: digest for name, digest in known["modules"].items()}
    return all(path.exists() and _digest(path) == digest for path, digest in paths.items())


def reaching(
    notes: dict[str, Any], path: Path, number: int, budget: float
) -> tuple[list[str], float]:
    """Tests that execute a place until their seconds exceed a budget, and these seconds.

    Quick tests come first; those of the module's own folder as if they were ten times as quick.
    A fixture that several of them share is paid for once.
    """
    lines, name = set(lines_of(source_of(path), number)), str(path.relative_to(SOURCE))
    own = (f"tests/{Path(name).parent}/", f"src/falsezero/{name}")
    found = sorted(
        (cost_of(known, {}) / (10 if test.startswith(own) else 1), test)
        for test, known in notes.items()
        if known["passes"] and not lines.isdisjoint(known["lines"].get(name, ()))
    )
    chosen, spent = [], 0.0
    ready: dict[str, float] = {}
    for _, test in found:
        seconds = cost_of(notes[test], ready)
        if spent + seconds <= budget or not chosen:
            chosen.append(test)
            spent += seconds
            ready |= notes[test]["fixtures"]
    return chosen, spent


def cost_of(known: dict[str, Any], ready: Container[str]) -> float:
    """Seconds of a test and of its fixtures that are not set up yet."""
    missing = (value for name, value in known["fixtures"].items() if name not in ready)
    return float(known["seconds"] + sum(missing))
