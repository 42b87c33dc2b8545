"""The attack in its quick form: a few seeds of every campaign that needs no cluster."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.attack import __main__ as bench
from tests.attack import files, models, processes, shell, tables


@pytest.mark.parametrize("seed", range(0, 80, 20))
def test_hostile_tables(seed: int, tmp_path: Path) -> None:
    for one in range(seed, seed + 20):
        tables.attack(one, tmp_path)


@pytest.mark.parametrize("seed", range(0, 60, 20))
def test_mutated_files(seed: int, tmp_path: Path) -> None:
    for one in range(seed, seed + 20):
        files.attack(one, tmp_path)


def test_the_originals_of_mutated_files_are_sound(tmp_path: Path) -> None:
    """The control: without a change every file is read."""
    import falsezero as fz

    for name, data in files.originals().items():
        (tmp_path / name).write_bytes(data)
        layout = {"row": "site", "column": "genus"} if name == "long.csv" else {}
        assert fz.read(tmp_path / name, **layout).n_ones == files._X.sum()


@pytest.mark.parametrize("seed", range(0, 60, 30))
def test_forged_models(seed: int, tmp_path: Path) -> None:
    for one in range(seed, seed + 30):
        models.attack(one, tmp_path)


def test_broken_files_in_the_shell(tmp_path: Path) -> None:
    for seed in range(20):
        shell.attack(seed, tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_kill(tmp_path: Path) -> None:
    processes.kill(1, tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="needs limits of resources")
def test_a_full_disk(tmp_path: Path) -> None:
    processes.fill_disk(0, tmp_path)


def test_the_bench_counts_crashes_hangs_and_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bench that cannot fail would prove nothing."""
    program = (
        "import os, time; print('0 ok', flush=True); print('1 failed f:1 so', flush=True); {end}"
    )
    ends = {"crash": "os.abort()", "hang": "time.sleep(60)", "end": "print('2 ok')"}
    popen = bench.subprocess.Popen
    results = {}
    for name, end in ends.items():
        command = [bench.sys.executable, "-c", program.format(end=end)]
        monkeypatch.setattr(
            bench.subprocess, "Popen", lambda _, command=command, **more: popen(command, **more)
        )
        found = []
        results[name] = bench._batch("tables", 0, 3, 2.0, found), found
    assert results["crash"][0] == 3
    assert "crashed with -6" in results["crash"][1][-1]
    assert results["hang"][0] == 3
    assert results["hang"][1][-1] == "tables 2 hung"
    assert results["end"] == (3, ["tables 1 failed f:1 so"])
