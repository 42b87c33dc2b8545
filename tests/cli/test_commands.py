"""Every command as a newcomer runs it: results, files, exit codes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import falsezero as fz
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
