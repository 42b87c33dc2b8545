"""Seven people, from the file they have to what they show a colleague: examples/walks."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import pytest

WALKS = Path(__file__).parents[2] / "examples" / "walks"
NAMES = sorted(path.stem for path in WALKS.glob("*.py") if not path.stem.startswith("_"))
NEEDS = {
    "ecologist": ("pandas", "openpyxl", "python_calamine"),
    "palaeontologist": ("pandas",),
    "single_cell": ("anndata",),
    "data_scientist": ("pandas", "nbclient", "ipykernel"),
    "political_scientist": ("pandas",),
}


def test_there_are_seven() -> None:
    assert len(NAMES) == 7


@pytest.mark.parametrize("name", NAMES)
def test_walk(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module)
    monkeypatch.syspath_prepend(str(WALKS))
    monkeypatch.setattr(sys, "argv", [name])
    shown = runpy.run_path(str(WALKS / f"{name}.py"))["walk"](tmp_path)
    assert shown.stat().st_size > 0
    if shown.suffix == ".csv":
        assert len(shown.read_text().splitlines()) > 1, (
            "a list without a line shows nobody anything"
        )


def test_what_the_ecologist_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(WALKS))
    for module in NEEDS["ecologist"]:
        pytest.importorskip(module)
    walk = runpy.run_path(str(WALKS / "ecologist.py"))
    import pandas as pd

    import falsezero as fz

    walk["abundances"]().to_csv(tmp_path / "plots.csv", index=False)
    table = fz.read(tmp_path / "plots.csv", index="plot", drop="total", binarize=0)
    assert table.shape == (75, 24)
    assert pd.api.types.is_integer_dtype(table.rows)


@pytest.mark.skipif(not os.environ.get("FALSEZERO_DATA"), reason="FALSEZERO_DATA is not set")
def test_messages_are_expanded_by_words_of_their_topic(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(WALKS.parent / "newsgroup_expansion.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert shown.count(": blank\n") == 1
    crypt = shown.split("[sci.crypt]")[1].splitlines()
    assert {"clipper", "chip", "encrypt", "govern", "kei"} & set(crypt[1].split()[::2])
