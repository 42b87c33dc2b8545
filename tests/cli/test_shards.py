"""Tables in many files, and fits on a cluster, from the shell."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import falsezero as fz
from falsezero.models.average import large


@pytest.fixture
def parts(tmp_path: Path) -> np.ndarray:
    table = (np.random.default_rng(0).random((90, 12)) < 0.4).astype(float)
    for i in range(3):
        np.save(tmp_path / f"part{i}.npy", table[30 * i : 30 * (i + 1)])
    return table


def test_a_pattern_of_files_is_one_table(run: Any, parts: np.ndarray, tmp_path: Path) -> None:
    target = tmp_path / "model.fz"
    outcome = run("fit", f"{tmp_path}/part*.npy", "-o", target, "-k", 2, "--seed", 0)
    assert outcome.code == 0, outcome.err
    assert "3 files with 90 rows and 12 columns" in outcome.err
    assert fz.load(target).row_weights_.shape == (90, 2)


def test_no_such_files_and_options_of_one_file_are_refused(run: Any, tmp_path: Path) -> None:
    outcome = run("fit", f"{tmp_path}/none*.npy", "-o", tmp_path / "m.fz", "-k", 2)
    assert outcome.code == 1
    assert "There is no file like" in outcome.err
    outcome = run("fit", f"{tmp_path}/none*.npy", "-o", tmp_path / "m.fz", "--transpose")
    assert outcome.code == 2
    assert "--transpose needs one file" in outcome.err


def test_a_cluster_gives_the_same_model(run: Any, parts: np.ndarray, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    here, there = tmp_path / "here.fz", tmp_path / "there.fz"
    arguments = ("fit", f"{tmp_path}/part*.npy", "-k", 2, "--seed", 0, "-o")
    assert run(*arguments, here).code == 0
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(processes=False, **options) as cluster:
        outcome = run(*arguments, there, "--cluster", cluster.scheduler_address)
    assert outcome.code == 0, outcome.err
    np.testing.assert_array_equal(fz.load(here).components_, fz.load(there).components_)


def test_a_cluster_that_is_not_there_is_named(run: Any, parts: np.ndarray, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    target = tmp_path / "model.fz"
    arguments = ("fit", f"{tmp_path}/part*.npy", "-o", target, "-k", 2)
    outcome = run(*arguments, "--cluster", "nonsense://nowhere")
    assert outcome.code == 1
    assert "--cluster nonsense://nowhere" in outcome.err
    assert not target.exists()


def test_an_audit_of_a_pattern_writes_its_files(
    run: Any, parts: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    arguments = ("audit", f"{tmp_path}/part*.npy", "--parquet", tmp_path / "out")
    outcome = run(*arguments)
    assert outcome.code == 2
    assert "--parquet is for more than 10^8 cells" in outcome.err
    monkeypatch.setattr(large, "LARGE", 100)
    monkeypatch.setattr(large, "_FEW", (2,))
    monkeypatch.setattr(large, "_MANY", (3,))
    page = tmp_path / "audit.html"
    outcome = run(*arguments, "-o", page, "--loss", 0.2)
    assert outcome.code == 0, outcome.err
    assert "3 files with 90 rows and 12 columns" in outcome.err
    assert "Wrote 5 files" in outcome.err
    assert "By your loss rate of 0.2" in outcome.err
    assert sorted(file.name for file in (tmp_path / "out").iterdir())[:2] == [
        "columns.parquet",
        "rows-00000.parquet",
    ]
    assert "Which zeros are real?" in page.read_text()


@pytest.mark.parametrize("option", [("--most-cells", 10), ("--variable", "x"), ("--binarize", 0)])
def test_options_of_one_file_are_refused_by_an_audit(
    run: Any, parts: np.ndarray, tmp_path: Path, option: tuple[Any, ...]
) -> None:
    outcome = run("audit", f"{tmp_path}/part*.npy", *option)
    assert outcome.code == 2
    assert f"{option[0]} needs one file" in outcome.err


def test_parquet_needs_a_pattern(run: Any, parts: np.ndarray, tmp_path: Path) -> None:
    outcome = run("audit", tmp_path / "part0.npy", "--parquet", tmp_path / "out")
    assert outcome.code == 2
    assert "--parquet needs a pattern of files" in outcome.err


def test_a_number_is_chosen_for_a_pattern(run: Any, parts: np.ndarray, tmp_path: Path) -> None:
    arguments = ("-k", "1,2", "--criterion", "aic", "--seed", 0, "--json")
    outcome = run("select", f"{tmp_path}/part*.npy", *arguments)
    assert outcome.code == 0, outcome.err
    np.save(tmp_path / "whole.npy", parts)
    whole = run("select", tmp_path / "whole.npy", *arguments)
    found = [[row["aic"] for row in json.loads(each.out)] for each in (outcome, whole)]
    assert found[0] == pytest.approx(found[1])
