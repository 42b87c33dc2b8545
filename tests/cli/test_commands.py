"""Every command as a newcomer runs it: results, files, exit codes."""

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
from falsezero.cli._describe import as_text, describe
from falsezero.cli.reproduce import PAPERS
from falsezero.models import MODELS, model_class

LONG = ("--row", "site", "--column", "genus")


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def _phantom(fitted: Path) -> int:
    """Number of the white phantom as people read it."""
    (white,) = fz.find_phantoms(fz.load(fitted)).white
    return int(white) + 1


def test_fit_saves_the_model_that_python_fits(run: Any, finds: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.fz"
    outcome = run("fit", finds, "-o", path, *LONG, "-k", 3, "--restarts", 2, "--seed", 7)
    assert outcome.code == 0, outcome.err
    read, wrote = outcome.err.splitlines()
    assert read.startswith(f"Read {finds}: 120 rows (site 0, ...) × 24 columns (genus ")
    assert wrote == f"Wrote {path}."
    table = fz.read(finds, row="site", column="genus")
    twin = fz.AspectBernoulli(3, n_init=2, random_state=7).fit(table)
    np.testing.assert_array_equal(fz.load(path).components_, twin.components_)
    assert "120 rows × 24 columns" in outcome.out
    assert "white phantom" in outcome.out


def test_fit_json_is_what_info_json_says(run: Any, finds: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.fz"
    said = json.loads(run("fit", finds, "-o", path, *LONG, "-k", 2, "--json").out)
    again = json.loads(run("info", path, "--top", 8, "--json").out)
    assert said == again
    assert said["model"] == "AspectBernoulli"
    assert said["n_components"] == 2
    assert [part["component"] for part in said["components"]] == [1, 2]
    assert set(said["measures"]) == {"log_likelihood", "aic", "bic", "objective"}


def test_options_reach_the_model(run: Any, finds: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.fz"
    options = ("--option", "prior=0.5", "--option", "acceleration=null", "--option", "solver=exact")
    assert run("fit", finds, "-o", path, *LONG, *options, "--tol", 1e-4).code == 0
    model = fz.load(path)
    assert (model.prior, model.acceleration, model.solver, model.tol) == (0.5, None, "exact", 1e-4)
    assert model.n_init == 5


@pytest.mark.parametrize("name", MODELS)
def test_every_model_fits_saves_and_is_described(
    run: Any, finds: Path, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "model.fz"
    has = set(model_class(name)().get_params())
    short = {
        "n_components": ("-k", 3),
        "n_init": ("--restarts", 1),
        "max_iter": ("--max-iter", 20),
        "n_chains": ("--option", "n_chains=1"),
        "warmup": ("--option", "warmup=3"),
        "n_draws": ("--option", "n_draws=3"),
    }
    given = [part for needs, pair in short.items() if needs in has for part in pair]
    outcome = run("fit", finds, "-o", path, *LONG, "--model", name, *given)
    assert outcome.code == 0, outcome.err
    described = run("info", path)
    assert described.code == 0, described.err
    assert "strongest columns" in described.out
    assert run("topics", path).code == 0


def test_strict_says_3_and_saves_all_the_same(run: Any, finds: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.fz"
    short = (*LONG, "--max-iter", 2, "--restarts", 1)
    outcome = run("fit", finds, "-o", path, *short, "--strict")
    assert outcome.code == 3
    assert "raise --max-iter" in outcome.err
    assert "did NOT converge" in outcome.out
    assert not fz.load(path).converged_
    assert run("fit", finds, "-o", path, *short, "--force").code == 0


def test_surveyed_pairs_are_honoured(run: Any, finds: Path, tmp_path: Path) -> None:
    pairs = {tuple(line.split(",")) for line in finds.read_text().splitlines()[1:]}
    pairs |= {("site 0", f"genus {t}") for t in range(24)}
    looked_at = tmp_path / "surveyed.csv"
    looked_at.write_text("site,genus\n" + "".join(f"{a},{b}\n" for a, b in sorted(pairs)))
    options = ("-o", tmp_path / "m.fz", *LONG, "--surveyed", looked_at, "-k", 1)
    assert run("fit", finds, *options).code == 0
    assert fz.load(tmp_path / "m.fz").n_observed_ == len(pairs)


def test_gaps_are_surprising_zeros_counted_from_one(run: Any, finds: Path, fitted: Path) -> None:
    outcome = run("gaps", fitted, finds, *LONG, "-n", 30)
    assert outcome.code == 0, outcome.err
    model, table = fz.load(fitted), fz.read(finds, row="site", column="genus")
    twin = fz.surprising_zeros(model, table, n=30)
    rows = _rows(outcome.out)
    assert [row["row"] for row in rows] == twin["row"].tolist()
    assert [row["column"] for row in rows] == twin["column"].tolist()
    first_cause = [int(row["causes"].split()[0]) for row in rows]
    assert first_cause == [int(text.split()[0]) + 1 for text in twin["causes"]]
    assert str(_phantom(fitted)) not in {str(cause) for cause in first_cause}
    for row in rows:
        site, genus = int(row["row"].split()[1]), int(row["column"].split()[1])
        assert (site < 60) == (genus < 12)


def test_gaps_of_ones_and_none_at_all(run: Any, finds: Path, fitted: Path) -> None:
    outcome = run("gaps", fitted, finds, *LONG, "--ones")
    assert outcome.code == 0
    assert outcome.out.startswith("row,column,expected,rate,")
    listed = json.loads(run("gaps", fitted, finds, *LONG, "--ones", "--json").out)
    model, table = fz.load(fitted), fz.read(finds, row="site", column="genus")
    assert [cell["row"] for cell in listed] == fz.surprising_ones(model, table)["row"].tolist()


def test_gaps_without_noise_name_what_was_expected(run: Any, tmp_path: Path) -> None:
    table, model = tmp_path / "blocks.csv", tmp_path / "blocks.fz"
    lines = [f"r{i},{i % 2},{i % 2},{i % 2},{1 - i % 2},{1 - i % 2}" for i in range(40)]
    lines[1] = "r1,1,1,0,0,0"
    table.write_text("s,a,b,c,d,e\n" + "\n".join(lines) + "\n")
    assert run("fit", table, "-k", 2, "-o", model).code == 0
    listed = json.loads(run("gaps", model, table, "--json").out)
    assert [(cell["row"], cell["column"]) for cell in listed] == [("r1", "c")]
    assert "noise" not in listed[0]
    none = run("gaps", model, table, "--min-expected", 1)
    assert none.err == (
        "No zero is surprising: nowhere was a one expected with probability 1 or more.\n"
    )


def test_denoise_without_noise_leaves_ones_alone(run: Any, tmp_path: Path) -> None:
    table, model, clean = (tmp_path / name for name in ("t.csv", "t.fz", "clean.csv"))
    rng = np.random.default_rng(0)
    drawn = fz.Table(
        (rng.random((40, 12)) < 0.3).astype(float), columns=[f"c{t}" for t in range(12)]
    )
    lines = ["," + ",".join(drawn.columns)]
    lines += [
        f"r{i}," + ",".join(map(str, row)) for i, row in enumerate(drawn.to_numpy().astype(int))
    ]
    table.write_text("\n".join(lines) + "\n")
    assert run("fit", table, "-k", 2, "-o", model).code == 0
    outcome = run("denoise", model, table, "-o", clean)
    after = fz.read(clean)
    assert (after.to_numpy() >= drawn.to_numpy()).all()
    assert "ones made zeros" not in outcome.err
    asked = run("denoise", model, table, "-o", clean, "--force", "--change-ones")
    lost = int((fz.read(clean).to_numpy() < drawn.to_numpy()).sum())
    assert f"{lost} ones made zeros" in asked.err


def test_a_model_remembers_how_its_table_was_read(run: Any, tmp_path: Path) -> None:
    table, model = tmp_path / "counts.csv", tmp_path / "counts.fz"
    rng = np.random.default_rng(0)
    rows = [(f"site {i}", f"genus {t}", rng.poisson(2)) for i in range(20) for t in range(6)]
    table.write_text("site,genus,n\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    layout = (*LONG, "--value", "n", "--binarize", 0)
    assert run("fit", table, *layout, "-k", 2, "-o", model).code == 0
    told = run("gaps", model, table, *layout, "--min-expected", 0.1)
    untold = run("gaps", model, table, "--min-expected", 0.1)
    assert told.err == ""
    assert untold.out == told.out
    assert untold.err == (
        f"Read {table} as the model's own table: --row site --column genus --value n "
        "--binarize 0.\n"
    )
    other = run("gaps", model, table, *LONG, "--value", "n", "--binarize", 2)
    assert "Note: the model's own table was read with --binarize 0." in other.err
    wide = tmp_path / "wide.csv"
    frame = fz.read(table, row="site", column="genus", value="n", kind="count").to_pandas()
    frame.to_csv(wide)
    again = run("gaps", model, wide, "--min-expected", 0.1)
    assert again.out == told.out
    assert again.err == f"Read {wide} as the model's own table: --binarize 0.\n"


def test_a_spreadsheet_with_everything_around_the_table(run: Any, tmp_path: Path) -> None:
    table, saved = tmp_path / "finds.csv", tmp_path / "finds.fz"
    table.write_text(
        "Finds of 2024;;;;\ngenus;Sansan;Pikermi;Höwenegg;Total\n"
        "Sus;x;;x;2\nFelis;;x;-;1\nBos;x;x;;2\nTotal;2;2;1;5\n",
        encoding="latin-1",
    )
    options = ("--skip", 1, "--drop", "Total", "--mark", "=0", "--mark", "-=NA", "--transpose")
    options += ("--encoding", "latin-1", "-k", 1, "--restarts", 1)
    outcome = run("fit", table, "-o", saved, *options)
    assert outcome.code == 0, outcome.err
    assert outcome.err.startswith(
        f"Read {table}: 3 rows (Sansan, ...) × 3 columns (Sus, ...), 62.5 % ones, 1 cell not "
        "observed.\n"
    )
    assert fz.load(saved).feature_names_in_.tolist() == ["Sus", "Felis", "Bos"]


def test_denoise_writes_what_python_computes(run: Any, finds: Path, fitted: Path) -> None:
    model, table = fz.load(fitted), fz.read(finds, row="site", column="genus")
    twin = fz.denoise(model, table)
    clean = finds.with_name("clean.csv")
    outcome = run("denoise", fitted, finds, *LONG, "-o", clean, "--force")
    assert (outcome.code, outcome.out) == (0, "")
    assert fz.read(clean).equals(twin.binary)
    likely = json.loads(run("denoise", fitted, finds, *LONG, "--probability", "--json").out)
    assert likely["rows"] == table.rows.tolist()
    np.testing.assert_allclose(likely["values"], twin.probability.to_numpy())


def test_keep_counts_from_one_and_starts_from_the_phantoms(
    run: Any, finds: Path, fitted: Path
) -> None:
    model, table = fz.load(fitted), fz.read(finds, row="site", column="genus")
    phantom = _phantom(fitted)
    other = phantom % 3 + 1

    def probability(*options: object) -> np.ndarray:
        out = run("denoise", fitted, finds, *LONG, "--probability", "--json", *options).out
        return np.array(json.loads(out)["values"])

    keep = np.ones(3)
    np.testing.assert_allclose(
        probability("--keep", "all"), fz.denoise(model, table, keep=keep).probability.to_numpy()
    )
    np.testing.assert_allclose(probability("--keep", f"{phantom}=1"), probability("--keep", "all"))
    np.testing.assert_allclose(probability("--keep", f"{phantom}=0"), probability())
    keep[[phantom - 1, other - 1]] = 0, 0.5
    np.testing.assert_allclose(
        probability("--keep", f"{other}=0.5"),
        fz.denoise(model, table, keep=keep).probability.to_numpy(),
    )


def test_columns_are_put_in_the_order_of_the_model(
    run: Any, finds: Path, fitted: Path, tmp_path: Path
) -> None:
    table = fz.read(finds, row="site", column="genus")
    shuffled = tmp_path / "shuffled.csv"
    order = table.columns[::-1].tolist()
    body = table.select(columns=order).to_numpy().astype(int)
    names = ["", *order, "genus X"]
    lines = [[site, *row, 1] for site, row in zip(table.rows, body, strict=True)]
    shuffled.write_text("\n".join(",".join(map(str, line)) for line in [names, *lines]))
    outcome = run("gaps", fitted, shuffled)
    assert outcome.out == run("gaps", fitted, finds, *LONG).out
    assert "Left out 1 column that the model does not know." in outcome.err


def test_explain_picks_cells_by_label(run: Any, finds: Path, fitted: Path) -> None:
    pick = ("--only-row", "site 3", "--only-row", "site 1", "--only-column", "genus 2")
    rows = _rows(run("explain", fitted, finds, *LONG, *pick, "--top", 1).out)
    assert [(row["row"], row["column"]) for row in rows] == [
        ("site 3", "genus 2"),
        ("site 1", "genus 2"),
    ]
    absent = [row for row in rows if row["value"] == "0"]
    present = [row for row in rows if row["value"] == "1"]
    assert all(row["component"] == str(_phantom(fitted)) for row in absent)
    assert all(row["component"] != str(_phantom(fitted)) for row in present)
    assert absent or present


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
    assert max(map(len, as_text(said, 70).splitlines())) <= 70
    assert max(map(len, as_text(said).splitlines())) > 100


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
