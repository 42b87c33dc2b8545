"""`falsezero audit` with what people know beyond the table: rates, checked cells, revisits."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import falsezero as fz
from falsezero.cli import main

ROWS, COLUMNS, AGAIN = 80, 12, 40


@pytest.fixture(scope="module")
def survey(tmp_path_factory: Any) -> Path:
    """A folder with two visits, the second to half of the sites, wide and as a list of finds."""
    rng = np.random.default_rng(0)
    there = (
        rng.random((ROWS, COLUMNS))
        < np.kron(np.eye(2), np.full((1, 6), 0.95))[rng.integers(2, size=ROWS)]
    )
    first, second = (there & (rng.random(there.shape) < 0.6) for _ in range(2))
    folder = tmp_path_factory.mktemp("survey")
    _write_wide(folder / "first.csv", first)
    _write_wide(folder / "again.csv", second[:AGAIN])
    for name, seen in (("first-list.csv", first), ("again-list.csv", second[:AGAIN])):
        finds = [f"s{i},g{j}" for i, j in zip(*np.nonzero(seen), strict=True)]
        (folder / name).write_text("site,genus\n" + "\n".join(finds) + "\n")
    return folder


def _write_wide(path: Path, seen: np.ndarray) -> None:
    lines = [",".join(["site", *(f"g{j}" for j in range(COLUMNS))])]
    lines += [",".join([f"s{i}", *map(str, row.astype(int))]) for i, row in enumerate(seen)]
    path.write_text("\n".join(lines) + "\n")


def test_a_plan_from_lists_of_finds_is_that_of_whole_tables(
    survey: Path, tmp_path: Path, capsys: Any
) -> None:
    """In the rows of a second list every column was looked at again."""
    plan = tmp_path / "plan.csv"
    long = ("--row", "site", "--column", "genus", "--revisits", survey / "again-list.csv")
    asked = ("--plan", 30, "--by", "cells", "-o", plan)
    assert main(["audit", *map(str, (survey / "first-list.csv", *long, *asked))]) == 0
    said = capsys.readouterr().err
    assert f"looked at again in the {AGAIN} rows" in said
    assert "zeros became ones" in said
    first = fz.read(survey / "first-list.csv", row="site", column="genus")
    audit = fz.audit(first, random_state=0, verbose=0)
    twin = fz.calibrate(audit, revisits=fz.read(survey / "again.csv")).plan(30, "cells")
    with open(plan) as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["row"], row["column"]) for row in rows] == list(
        zip(twin["row"], twin["column"], strict=True)
    )
    assert [float(row["new_finds"]) for row in rows] == pytest.approx(twin["new_finds"], rel=1e-4)


def test_rates_and_checked_cells_come_from_files(survey: Path, tmp_path: Path, capsys: Any) -> None:
    rates, checked = tmp_path / "rates.csv", tmp_path / "checked.csv"
    rates.write_text("genus,rate\n" + "".join(f"g{j},{0.5 + j / 40}\n" for j in range(COLUMNS)))
    sure = [f"s{i},g{j}" for i in range(AGAIN) for j in range(COLUMNS)]
    checked.write_text("site,genus\n" + "\n".join(sure) + "\n")
    given = ("audit", survey / "first.csv", "--detection", rates, "--certain", checked, "--json")
    assert main(list(map(str, given))) == 0
    listed = json.loads(capsys.readouterr().out)
    assert len(listed) > 5
    assert {row["row"] for row in listed}.isdisjoint({f"s{i}" for i in range(AGAIN)})
    for row in listed:
        rate = 0.5 + int(row["column"][1:]) / 40
        assert row["again"] == pytest.approx(rate * row["present"], rel=1e-3)


def test_zeros_are_ranked_beyond_the_surprising_ones(survey: Path, capsys: Any) -> None:
    asked = ("audit", survey / "first.csv", "--ranked", "-n", 400, "--json")
    assert main(list(map(str, asked))) == 0
    listed = json.loads(capsys.readouterr().out)
    expected = [row["expected"] for row in listed]
    assert len(listed) == 400
    assert expected == sorted(expected, reverse=True)
    assert expected[0] > 0.5 > expected[-1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--fdr", "0.3"), "--fdr needs --revisits"),
        (("--plan", "3", "-o", "page.html"), "--plan makes a list; give -o a .csv"),
        (("--ranked",), "--ranked needs -n"),
        (("--ranked", "-n", "3", "--ones"), "--ranked and --ones make two lists"),
        (("--plan", "3"), "state --loss or --detection"),
        (("--detection", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_what_cannot_be_answered(
    survey: Path, options: tuple[str, ...], sentence: str, capsys: Any
) -> None:
    assert main(["audit", str(survey / "first.csv"), *options]) in (1, 2)
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said
    assert "fz." not in said
    assert "loss=" not in said
