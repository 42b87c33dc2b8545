"""Large files and large tables in the shell: something is said at once, and work is bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import falsezero as fz
from falsezero.data.part import part_of


def test_a_large_file_is_announced_where_somebody_looks(
    run: Any, finds: Path, fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("gaps", fitted, finds, "--row", "site", "--column", "genus", "-n", 3)
    assert "Reading" not in run(*arguments).err
    monkeypatch.setattr("falsezero.cli._common._LARGE", 10)
    assert "MB) ..." not in run(*arguments).err
    monkeypatch.setattr("falsezero.cli._common.is_watched", lambda: True)
    first, second = run(*arguments).err.split("\n")[:2]
    assert first.startswith(f"Reading {fitted}")
    assert second.startswith(f"Reading {finds}")


def test_a_part_of_a_large_table_is_audited_and_that_is_said(
    run: Any, finds: Path, tmp_path: Path
) -> None:
    long = ("--row", "site", "--column", "genus")
    said = run("audit", finds, *long, "--most-cells", 1000, "-o", tmp_path / "a.csv")
    assert said.code == 0
    assert "100 of its 120 rows, drawn at random, and the 10 most frequent of its 24" in said.err


def test_the_part_has_the_most_frequent_columns_and_its_own_labels() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((200, 30)) < np.linspace(0.05, 0.9, 30)
    table = fz.Table(values, [f"r{i}" for i in range(200)], [f"c{j}" for j in range(30)])
    part = part_of(table, 1000)
    assert part.shape == (100, 10)
    assert set(part.columns) == {f"c{j}" for j in range(20, 30)}
    assert table.select(rows=part.rows.tolist(), columns=part.columns.tolist()).equals(part)
