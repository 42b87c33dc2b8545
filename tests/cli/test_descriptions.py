"""Commands that describe, choose and show: topics, select, compare, info and the pages."""

from __future__ import annotations

import csv
import inspect
import io
import json
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import falsezero as fz
from falsezero.cli._common import build_model
from falsezero.cli._describe import describe, description_text
from falsezero.cli.reproduce import PAPERS

LONG = ("--row", "site", "--column", "genus")


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_topics_lists_the_strongest_columns(run: Any, fitted: Path) -> None:
    rows = json.loads(run("topics", fitted, "--top", 3, "--json").out)
    assert [row["weight"] for row in rows] == sorted((r["weight"] for r in rows), reverse=True)
    for row in rows:
        members = row["strongest"].split(", ")
        assert len(members) == 3


def test_topics_of_a_table_name_its_rows_too(run: Any, finds: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.fz"
    options = ("--model", "discrete-pca", "-k", 2, "--restarts", 1, "--seed", 1)
    assert run("fit", finds, "-o", path, *LONG, *options).code == 0
    outcome = run("topics", path, finds, *LONG, "--top", 5, "--json")
    assert outcome.err == ""
    rows = json.loads(outcome.out)
    assert len(rows) == 2
    for row in rows:
        genera = {int(name.split()[1]) < 12 for name in row["distinctive"].split(", ")}
        sites = {int(name.split()[1]) < 60 for name in row["rows"].split(", ")}
        assert len(genera) == 1
        assert genera == sites


def test_topics_follow_links_between_rows(run: Any, finds: Path, tmp_path: Path) -> None:
    pytest.importorskip("networkx")
    path, links = tmp_path / "model.fz", tmp_path / "links.csv"
    options = ("--model", "discrete-pca", "-k", 2, "--restarts", 1, "--seed", 1)
    assert run("fit", finds, "-o", path, *LONG, *options).code == 0
    # Everybody links to one site of each half, and to a site that the table does not have.
    lines = [f"site {i},site {h}" for i in range(120) for h in (7, 100) if i != h]
    links.write_text("citing,cited\nsite 1,elsewhere\n" + "\n".join(lines))
    ends = ("--link-from", "citing", "--link-to", "cited")
    rows = json.loads(run("topics", path, finds, *LONG, "--links", links, *ends, "--json").out)
    assert {row["linked"].split(", ")[0] for row in rows} == {"site 7", "site 100"}
    assert run("topics", path, "--links", links).code == 2
    links.write_text("citing,cited\nhere,there\n")
    outcome = run("topics", path, finds, *LONG, "--links", links, *ends)
    assert outcome.code == 1
    assert "names no link between two rows" in outcome.err


def test_results_go_to_files_by_extension(
    run: Any, finds: Path, fitted: Path, tmp_path: Path
) -> None:
    for name in ("gaps.csv", "gaps.tsv", "gaps.json"):
        outcome = run("gaps", fitted, finds, *LONG, "-n", 4, "-o", tmp_path / name)
        assert (outcome.code, outcome.out) == (0, "")
    comma = _rows((tmp_path / "gaps.csv").read_text())
    tabs = _rows((tmp_path / "gaps.tsv").read_text().replace(",", ";").replace("\t", ","))
    assert len(comma) == len(tabs) == len(json.loads((tmp_path / "gaps.json").read_text())) == 4
    assert [row["row"] for row in comma] == [row["row"] for row in tabs]


def test_select_finds_the_number_and_saves_the_model(run: Any, finds: Path, tmp_path: Path) -> None:
    path = tmp_path / "best.fz"
    options = ("-k", "1,3", "--criterion", "bic", "--restarts", 2, "-o", path, "--json")
    outcome = run("select", finds, *LONG, *options)
    assert outcome.code == 0, outcome.err
    rows = json.loads(outcome.out)
    assert [row["n_components"] for row in rows] == [1, 3]
    best = min(rows, key=lambda row: row["bic"])["n_components"]
    assert f"Best: {best} component" in outcome.err
    assert ("-k 1-9" if best == 3 else "shows no groups") in outcome.err
    assert rows[0]["phantoms"] == 0
    assert fz.load(path).n_components == best


def test_compare_names_the_better_model(run: Any, finds: Path) -> None:
    models = ("aspect-bernoulli:3", "bernoulli-mixture:2")
    options = ("--criterion", "cells", "--splits", 2, "--restarts", 1, "--tol", 1e-4)
    outcome = run("compare", finds, *LONG, *models, *options)
    assert outcome.code == 0, outcome.err
    names = [row["model"] for row in _rows(outcome.out)]
    assert sorted(names) == sorted(models)
    assert f"Best by cells: {names[0]}" in outcome.err
    assert "p = " in outcome.err


def test_progress_is_for_terminals_and_the_unquiet(monkeypatch: pytest.MonkeyPatch) -> None:
    for is_terminal in (False, True):
        monkeypatch.setattr("sys.stderr.isatty", lambda seen=is_terminal: seen)
        assert build_model("aspect-bernoulli").verbose == int(is_terminal)
        assert build_model("aspect-bernoulli", quiet=True).verbose == 0


@pytest.mark.parametrize("command", ["audit", "fit", "select", "report", "gaps", "explore"])
def test_quiet_is_an_option_of_every_command_with_a_table(command: str) -> None:
    options = import_module(f"falsezero.cli.{command}").command.params
    assert ["--quiet", "-q"] in [option.opts for option in options]


def test_a_quiet_command_says_only_what_it_wrote(run: Any, finds: Path, tmp_path: Path) -> None:
    said = run("fit", finds, *LONG, "-k", 2, "--restarts", 1, "-q", "-o", tmp_path / "m.fz").err
    assert said.splitlines() == [f"Wrote {tmp_path / 'm.fz'}."]


def test_explore_writes_one_page(run: Any, finds: Path, fitted: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    options = ("--title", "Two <communities>", "--image", 4, 6)
    outcome = run("explore", fitted, finds, *LONG, "-o", page, *options)
    assert outcome.code == 0, outcome.err
    assert outcome.err == f"Wrote {page}; open it in a browser.\n"
    text = page.read_text()
    assert "Two &lt;communities&gt;" in text
    assert "http:" not in text.replace("http://www.w3.org/", "")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_experiments(paper: str, tmp_path: Path) -> None:
    experiments = import_module(f"falsezero.experiments.{paper.replace('-', '_')}")
    inspect.signature(experiments.run).bind(tmp_path, True)


@pytest.mark.parametrize("quick", [False, True])
def test_reproduce_hands_folder_and_haste_over(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    def repeat(folder: Path, quick: bool) -> Path:
        (folder / "report.html").write_text(f"quick: {quick}")
        return folder / "report.html"

    module = SimpleNamespace(run=repeat)
    monkeypatch.setitem(sys.modules, "falsezero.experiments.aspect_bernoulli", module)
    command = ("reproduce", "aspect-bernoulli", "-o", tmp_path / "out", *["--quick"] * quick)
    monkeypatch.delenv("FALSEZERO_DATA", raising=False)
    without = run(*command)
    assert without.code == 1
    assert "FALSEZERO_DATA is not set" in without.err
    assert not (tmp_path / "out").exists()
    monkeypatch.setenv("FALSEZERO_DATA", str(tmp_path))
    outcome = run(*command)
    assert outcome == (0, "", f"Wrote {tmp_path / 'out' / 'report.html'}.\n")
    assert (tmp_path / "out" / "report.html").read_text() == f"quick: {quick}"
    again = run(*command)
    assert again.code == 1
    assert "is not empty; give --force" in again.err
    assert run(*command, "--force").code == 0


def test_info_names_what_is_extinct(run: Any, tmp_path: Path) -> None:
    table = fz.datasets.make_aspect_bernoulli(40, 10, 2, random_state=0).table
    model = fz.BinaryICA(n_components=3, random_state=0, tol=1e-4).fit(table)
    model.extinct_ = np.array([1])
    fz.save(model, tmp_path / "model.fz")
    said = json.loads(run("info", tmp_path / "model.fz", "--json").out)
    assert [part["kind"] == "extinct" for part in said["components"]] == [False, True, False]
    assert said["measures"]["evidence"] == model.evidence_
    assert "extinct" in run("info", tmp_path / "model.fz").out


def test_info_shows_priors_and_the_leak_of_a_noisy_or(
    run: Any, finds: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model.fz"
    options = ("--model", "noisy-or", "-k", 2, "--restarts", 1)
    assert run("fit", finds, "-o", path, *LONG, *options).code == 0
    said, model = json.loads(run("info", path, "--json").out), fz.load(path)
    assert said["weight_means"] == "prior"
    np.testing.assert_allclose([part["weight"] for part in said["components"]], model.priors_)
    assert said["leak"][0]["strength"] == model.leak_.max()
    text = run("info", path).out
    assert "component   prior" in text
    assert "leak" in text


def test_a_narrow_terminal_gets_fewer_members(fitted: Path) -> None:
    said = describe(fz.load(fitted))
    assert max(map(len, description_text(said, 70).splitlines())) <= 70
    assert max(map(len, description_text(said).splitlines())) > 100


def test_report_writes_one_page(run: Any, finds: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    options = ("-k", 3, "--restarts", 2, "--title", "Two communities", "-o", page)
    outcome = run("report", finds, *LONG, *options)
    assert outcome.code == 0, outcome.err
    assert outcome.err.endswith(f"Wrote {page}; open it in a browser.\n")
    assert "Two communities" in page.read_text()


def test_info_says_whether_chains_agree(run: Any, tmp_path: Path) -> None:
    table = (np.random.default_rng(0).random((12, 5)) < 0.5) * 1.0
    for draws, said in ((20, "2 chains: R-hat"), (5, "2 chains, too few draws to judge")):
        model = fz.BinaryMatrixFactorization(
            1, 1, n_chains=2, warmup=5, n_draws=draws, random_state=0
        ).fit(table)
        fz.save(model, tmp_path / "model.fz")
        assert said in run("info", tmp_path / "model.fz").out
        chains = json.loads(run("info", tmp_path / "model.fz", "--json").out)["chains"]
        assert chains["n_chains"] == 2
        assert (chains["r_hat"] is None) == (draws == 5)
