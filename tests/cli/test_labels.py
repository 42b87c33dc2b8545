"""Labels that mean harm: formulas, terminal escapes, mathematics, halves of characters."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import falsezero as fz
from falsezero.data.tidy import Tidy

HOSTILE = ["=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(1)", "\tx", "\x1b[2J", "$\\frac{$", "-5", "<b>&'"]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = [f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(40)]
    frame = pd.DataFrame(rng.integers(0, 2, (40, len(HOSTILE))), rows, HOSTILE)
    frame.columns = [f"{name};{i}" for i, name in enumerate(HOSTILE)]
    path = tmp_path / "hostile.csv"
    frame.to_csv(path, index_label="site")
    return path


def fields(text: str) -> list[str]:
    return [field for line in csv.reader(io.StringIO(text)) for field in line]


def test_no_field_of_a_csv_file_is_a_formula(run: Any, hostile: Path, tmp_path: Path) -> None:
    model, found = tmp_path / "m.fz", tmp_path / "found.csv"
    assert run("fit", hostile, "-k", 2, "--restarts", 1, "-o", model).code == 0
    assert run("denoise", model, hostile, "-o", found).code == 0
    assert not any(field.startswith(("=", "+", "@", "\t")) for field in fields(found.read_text()))
    assert "'=HYPERLINK(1)0" in fields(found.read_text())
    assert run("denoise", model, hostile, "-o", found, "--force", "--raw").code == 0
    assert "=HYPERLINK(1)0" in fields(found.read_text())


def test_tidy_tables_write_no_formulas() -> None:
    found = Tidy(row=HOSTILE)
    assert "\n'=HYPERLINK(1)\n" in found.to_csv()
    assert "\n-5\n" in found.to_csv()
    assert "\n=HYPERLINK(1)\n" in found.to_csv(raw=True)


def test_a_terminal_is_shown_escapes_and_not_sent_them(run: Any, hostile: Path) -> None:
    table = fz.read(hostile)
    assert "\x1b" not in repr(table)
    assert "\x1b" not in repr(Tidy(row=table.rows))
    assert "\\x1b[2J" in repr(Tidy(row=table.rows))
    outcome = run("fit", hostile, "-k", 2, "--restarts", 1, "-o", hostile.with_suffix(".fz"))
    assert "\x1b" not in outcome.out + outcome.err
    assert "\\x1b[2J" in outcome.out


@pytest.mark.parametrize("label", ["$\\frac{$", "$x^$", "a$b$", "\ud800", "\x00x", "\u200b\u202e"])
def test_odd_labels_do_not_end_a_report(label: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = [label, *"bcdefg"]
    table = fz.Table(
        rng.integers(0, 2, (12, 7)), [label, *(f"s{i}" for i in range(11))], columns, name=label
    )
    model = fz.AspectBernoulli(2, random_state=0).fit(table)
    fz.plot.OrderedTableDisplay.from_estimator(model, table).figure_.canvas.draw()
    fz.plot.ComponentBarsDisplay.from_estimator(model, table).figure_.canvas.draw()
    fz.explore(model, table, tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 1000
    fz.save(model, tmp_path / "m.fz")
    assert fz.load(tmp_path / "m.fz").feature_names_in_[0] == label


def test_odd_labels_do_not_end_an_audit_page(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = ["$\\frac{$", "\ud800", *"cdefg"]
    table = fz.Table(rng.integers(0, 2, (12, 7)), columns=columns)
    model = fz.AspectBernoulli(2, random_state=0).fit(table)
    fz.audit(table, probabilities=model, random_state=0).to_html(tmp_path / "audit.html")
    assert (tmp_path / "audit.html").stat().st_size > 1000
