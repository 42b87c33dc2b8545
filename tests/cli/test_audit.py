"""`falsezero audit`: a page, a list, and a sentence for what cannot be."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from falsezero.cli import main


@pytest.fixture(scope="module")
def finds(tmp_path_factory) -> Path:
    rng = np.random.default_rng(0)
    fauna = np.kron(np.eye(2), np.full((1, 6), 0.95))[rng.integers(2, size=60)]
    values = (rng.random(fauna.shape) < fauna) & (rng.random(fauna.shape) < 0.7)
    path = tmp_path_factory.mktemp("audit") / "finds.csv"
    lines = [f"site{i},genus{j}" for i, j in zip(*np.nonzero(values), strict=True)]
    path.write_text("site,genus\n" + "\n".join(lines))
    return path


LAYOUT = ["--row", "site", "--column", "genus"]


def test_a_page_and_a_list(finds, tmp_path, capsys) -> None:
    page, zeros = tmp_path / "audit.html", tmp_path / "zeros.csv"
    assert main(["audit", str(finds), *LAYOUT, "-o", str(page)]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "We hid" in said.err
    assert "open it in a browser" in said.err
    assert "<title>Which zeros are real? finds</title>" in page.read_text("utf-8")
    assert main(["audit", str(finds), *LAYOUT, "-n", "3", "-o", str(zeros)]) == 0
    with open(zeros) as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 3
    assert list(rows[0]) == ["row", "column", "expected", "why"]


def test_json_holds_present_where_a_loss_is_stated(finds, capsys) -> None:
    assert main(["audit", str(finds), *LAYOUT, "--loss", "0.3", "-n", "2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 2
    assert {"expected", "again", "present"} <= set(rows[0])


def test_nothing_is_overwritten(finds, tmp_path, capsys) -> None:
    page = tmp_path / "audit.html"
    page.write_text("mine")
    assert main(["audit", str(finds), *LAYOUT, "-o", str(page)]) == 1
    assert "exists already; give --force" in capsys.readouterr().err
    assert page.read_text() == "mine"
