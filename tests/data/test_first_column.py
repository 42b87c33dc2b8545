"""A first column of whole numbers: names of rows, or values?"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import falsezero as fz
from falsezero.cli import main

IDS = "plot,a,b\n1004,2,0\n17,0,1\n230,3,3\n"


def test_ids_read_as_values_are_said(tmp_path: Path) -> None:
    file = tmp_path / "plots.csv"
    file.write_text(IDS)
    with pytest.warns(UserWarning, match="pass index='plot' if they name the rows"):
        table = fz.read(file, binarize=0)
    assert table.columns.tolist() == ["plot", "a", "b"]
    assert fz.read(file, binarize=0, index="plot").rows.tolist() == [1004, 17, 230]


@pytest.mark.filterwarnings("error")
def test_an_answer_silences_the_question(tmp_path: Path) -> None:
    file = tmp_path / "plots.csv"
    file.write_text(IDS)
    assert fz.read(file, binarize=0, index=False).shape == (3, 3)
    file.write_text("a,b\n1,0\n0,1\n1,1\n")
    assert fz.read(file).shape == (3, 2)


def test_frames_ask_too() -> None:
    frame = pd.DataFrame({"plot": [1004, 17, 230], "a": [1, 0, 1]})
    with pytest.warns(UserWarning, match="index='plot'"):
        fz.as_table(frame, binarize=0)


def test_the_shell_names_its_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plots.csv"
    file.write_text(IDS)
    main(["fit", str(file), "--binarize", "0", "-k", "1", "-o", str(tmp_path / "m.fz")])
    assert "pass --index 'plot' if they name the rows, or --no-index if not" in (
        capsys.readouterr().err
    )


def test_dropping_the_first_column_says_where_labels_come_from(tmp_path: Path) -> None:
    file = tmp_path / "plots.csv"
    file.write_text("plot,day,a,b\n1004,Monday,1,0\n17,Tuesday,0,1\n")
    with pytest.warns(
        UserWarning, match="takes its row labels from column 'day'; pass index=False"
    ):
        assert fz.read(file, drop="plot").rows.tolist() == ["Monday", "Tuesday"]


def test_a_total_among_abundances_is_pointed_out(tmp_path: Path) -> None:
    lines = ["plot,Sus,Felis,Total", *(f"p{i},{i % 3},{i % 2},{i % 3 + i % 2}" for i in range(12))]
    (tmp_path / "plots.csv").write_text("\n".join(lines))
    with pytest.warns(UserWarning, match="column 'Total' is called like a sum.*drop='Total'"):
        fz.read(tmp_path / "plots.csv", binarize=0)
