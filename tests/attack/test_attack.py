"""The attack in its quick form: a few tries of every kind, and proof that each would notice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.attack import KINDS, attack_of, bench
from tests.attack.controls import CONTROLS, sabotaged
from tests.attack.originals import LAYOUTS, X, originals

_QUICK = {"tables": 80, "files": 120, "models": 60, "doors": 80, "shell": 30}


@pytest.mark.parametrize("kind", _QUICK)
def test_nothing_is_found(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    outcomes = {attack_of(kind)(seed, folder) for seed in range(_QUICK[kind])}
    assert len(outcomes) > 1, f"every try was {outcomes}"


def test_the_originals_of_mutated_files_are_sound(tmp_path: Path) -> None:
    """Without a change every file is read."""
    from tests.attack.files import put

    import falsezero as fz

    for name, data in originals().items():
        put(tmp_path / name, data)
        found = fz.read(tmp_path / name, **LAYOUTS.get(name, {}))
        assert (found.union() if isinstance(found, fz.Looks) else found).n_ones == X.sum(), name


@pytest.mark.skipif(os.name != "posix", reason="needs signals, and limits of resources")
def test_kills_interrupts_and_full_disks_in_the_long_form(tmp_path: Path) -> None:
    """Through the command itself, which prints what it tried."""
    command = [sys.executable, "-m", "tests.attack", "kills=4", "interrupts=2", "disks=2"]
    command += ["--journals", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    lines = [line.split(" | ") for line in done.stdout.splitlines()[2:]]
    assert [line[1:3] for line in lines] == [["4", "0"], ["2", "0"], ["2", "0"]]


def test_every_kind_has_a_control() -> None:
    assert {control.kind for control in CONTROLS.values()} == set(KINDS)


@pytest.mark.parametrize(
    "name",
    ["answers that are not finite", "errors of other libraries", "tracebacks in the shell"],
)
def test_what_is_broken_is_noticed(name: str, tmp_path: Path) -> None:
    """`python -m tests.attack --controls` breaks the rest."""
    folder = tmp_path / "here"
    folder.mkdir()
    control = CONTROLS[name]
    attack, noticed = attack_of(control.kind), 0
    with sabotaged(name):
        for seed in range(control.tries):
            try:
                attack(seed, folder)
            except Exception:
                noticed += 1
                break
    assert noticed


_PROGRAM = (
    "import os, sys, time\n"
    "first, stop = int(sys.argv[1]), int(sys.argv[2])\n"
    "for seed in range(first, stop):\n"
    "    if seed == 1: print('1 failed f.py:1 so', flush=True); continue\n"
    "    if seed == 2: {end}\n"
    "    print(f'{{seed}} ok fine', flush=True)\n"
)


@pytest.mark.parametrize(
    ("end", "noted"),
    [
        ("os.abort()", "2 crashed with -6"),
        ("time.sleep(60)", "2 hung"),
        ("os._exit(0)", "2 crashed with 0"),
    ],
)
def test_the_bench_counts_failures_crashes_and_hangs(end: str, noted: str, tmp_path: Path) -> None:
    """A bench that cannot fail would prove nothing."""
    command = [sys.executable, "-c", _PROGRAM.format(end=end)]
    journal = tmp_path / "journal.txt"
    found = bench.run(command, 4, journal, patience=2.0)
    assert found.tries == 4
    assert found.failures == ["1 failed f.py:1 so", noted]
    assert dict(found.outcomes) == {"fine": 2}


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PROGRAM.format(end="pass")]
    journal = tmp_path / "journal.txt"
    bench.run(command, 2, journal)
    shutil.copy(journal, tmp_path / "before.txt")
    assert bench.run(command, 5, journal, resume=True).tries == 5
    assert journal.read_text().startswith((tmp_path / "before.txt").read_text())
    assert len(journal.read_text().splitlines()) == 5
