"""Tables as people export them, read with nothing but what the messages say."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import falsezero as fz
from falsezero.app.remedies import remedies
from falsezero.data.errors import DataError

BIRDS = [f"Parus {name}" for name in "abcdefgh"]
SEEN = np.random.default_rng(0).random((15, len(BIRDS))) < 0.4


def follow(path: Path, steps: int, **options: Any) -> tuple[fz.Table, dict[str, Any]]:
    """Read a file, each time with the first thing that the message recommends."""
    for _ in range(steps):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return fz.read(path, **options), options
        except DataError as problem:
            said = str(problem)
        found = remedies(said)
        assert found, said
        for name, value in found[0]["options"].items():
            if name in ("drop", "marks") and name in options:
                value = {**options[name], **value} if name == "marks" else [*options[name], value]
            options[name] = [value] if name == "drop" and isinstance(value, str) else value
    raise AssertionError(said)


def checklist(path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet["A1"] = "Breeding birds of the district, spring 2022"
    sheet["A2"] = "compiled by H. Meier; x = recorded"
    sheet["D4"], sheet["H4"] = "Forest", "Farmland"
    sheet.merge_cells("D4:G4")
    rows = [["No.", "Square", "Observer", *BIRDS, "Species total", "Notes"]]
    for i, seen in enumerate(SEEN):
        marks = ["x" if each else None for each in seen]
        people, notes = ["HM", "KB", "?"][i % 3], "rain" if i in (3, 7) else None
        rows.append([i + 1, f"SQ {100 + i}", people, *marks, int(seen.sum()), notes])
    rows.append([None, "Total", None, *SEEN.sum(axis=0).tolist(), int(SEEN.sum()), None])
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            sheet.cell(5 + i, j + 1, value)
    book.save(path)


def test_a_checklist_in_a_workbook(tmp_path: Path) -> None:
    checklist(tmp_path / "birds.xlsx")
    table, options = follow(tmp_path / "birds.xlsx", 6)
    assert options["skip"] == 4
    assert options["index"] == "Square"
    assert set(options["drop"]) == {"No.", "Observer", "Species total", "Notes", "Total"}
    assert options["marks"] == {"": 0}
    assert table.columns.tolist() == BIRDS
    assert np.array_equal(table.to_numpy(), SEEN)


def test_a_list_of_pictures(tmp_path: Path) -> None:
    lines = ["File,Station,Date,Species,No. of individuals,Comments"]
    for i in range(40):
        lines.append(f"IMG_{i}.JPG,CAM{i % 7:02},0{i % 9 + 1}/05/2023,{BIRDS[i % 3]},2,")
    lines.append(",CAM03,,,,camera stolen")
    (tmp_path / "traps.csv").write_text("\ufeff" + "\r\n".join(lines))
    table, options = follow(tmp_path / "traps.csv", 4)
    assert options == {"row": "Station", "column": "Species", "drop": [""], "duplicates": "max"}
    assert table.shape == (7, 3)


def test_answers_that_say_nothing(tmp_path: Path) -> None:
    questions = ",".join(f"Q{i}. Do you vote?" for i in range(6))
    lines = [f"When,Respondent ID,Age,{questions}"]
    answers = ["Yes", "No", "Don't know", "Yes", "Prefer not to say"]
    for i in range(20):
        given = ",".join(answers[(i + q) % 5] for q in range(6))
        lines.append(f"2024/03/{i % 9 + 1} 10:00,R{i:03},{20 + i % 3}-30,{given}")
    (tmp_path / "survey.csv").write_text("\n".join(lines))
    table, options = follow(tmp_path / "survey.csv", 3)
    assert options["index"] == "Respondent ID"
    assert options["marks"] == {"Don't know": None, "Prefer not to say": None}
    assert table.shape == (20, 6)
    assert table.n_missing == 48


def test_counts_with_a_column_of_taxonomy(tmp_path: Path) -> None:
    lines = ["# Constructed from biom file", "#OTU ID\tS1\tS2\tS3\tS4\ttaxonomy"]
    for i in range(12):
        where = "k__Bacteria; p__Firmicutes; c__Clostridia; o__Clostridiales; g__Blautia"
        lines.append(f"{4000 + 37 * i}\t{i}.0\t0.0\t3.0\t{i % 2}.0\t{where}")
    (tmp_path / "otu.txt").write_text("\n".join(lines))
    with pytest.raises(DataError, match="pass drop='taxonomy' to leave that column out"):
        fz.read(tmp_path / "otu.txt")
    table, options = follow(tmp_path / "otu.txt", 2, drop=["taxonomy"], index="#OTU ID")
    assert options["binarize"] == 0
    assert table.shape == (12, 4)


def test_a_title_with_commas_above_semicolons(tmp_path: Path) -> None:
    text = "Vegetation, June 2021, by us\nplot;oak;ash\nA;0,5;0\nB;0;1,5\nC;2,5;0\n"
    (tmp_path / "plots.csv").write_text(text)
    table, options = follow(tmp_path / "plots.csv", 3)
    assert options == {"skip": 1, "binarize": 0}
    assert table.to_numpy().tolist() == [[1, 0], [0, 1], [1, 0]]


def test_labels_of_a_long_table_can_be_left_out(tmp_path: Path) -> None:
    lines = [("A", "Sus"), ("A", "Unknown"), ("B", "Bos"), ("C", "Unknown"), ("17", "Sus")]
    frame = pd.DataFrame(lines, columns=["site", "species"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        kept = fz.read(tmp_path / name, row="site", column="species", drop=["Unknown", "17"])
        assert kept.rows.tolist() == ["A", "B"]
        assert kept.columns.tolist() == ["Sus", "Bos"]
        with pytest.raises(DataError, match="no row or column 'unknwn' to drop; did you mean"):
            fz.read(tmp_path / name, row="site", column="species", drop="unknwn")


def test_looks_in_a_workbook(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    names = ["site", "visit", "species"]
    lines = [("A", 1, "Sus"), ("A", 2, "Bos"), ("B", 1, "Sus"), ("B", 2, "Unknown")]
    frame = pd.DataFrame(lines, columns=names)
    frame.to_excel(tmp_path / "v.xlsx", index=False)
    frame.to_csv(tmp_path / "v.csv", index=False)
    roles = {"row": "site", "column": "species", "look": "visit"}
    assert fz.read(tmp_path / "v.xlsx", **roles).shape == (2, 2, 3)
    one, other = (fz.read(tmp_path / n, drop="Unknown", **roles) for n in ("v.xlsx", "v.csv"))
    assert one.columns.tolist() == other.columns.tolist() == ["Sus", "Bos"]
    np.savez(tmp_path / "v.npz", X=np.eye(2))
    with pytest.raises(DataError, match="holds a matrix, but looks are listed one per line"):
        fz.read(tmp_path / "v.npz", **roles)


def test_labels_that_differ_in_case_are_said(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("site,species\nA,Red fox\nA,RED FOX \nB,Lynx\n")
    with pytest.warns(UserWarning, match="'Red fox' and 'RED FOX' do; they count as different"):
        fz.read(tmp_path / "t.csv", row="site", column="species")


def test_a_column_of_heights_is_said_to_be_one(tmp_path: Path) -> None:
    lines = ["plot;height;oak;ash"]
    lines += [
        f"A{i};{200 + 7.3 * i:.1f};{i % 2 * 0.5};{i % 3}".replace(".", ",") for i in range(12)
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with pytest.warns(UserWarning, match="column 'height' is above 0 in every row") as caught:
        fz.read(tmp_path / "t.csv", binarize=0)
    assert len(caught) == 1
    assert remedies(str(caught[0].message))[0]["options"] == {"drop": "height"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fz.read(tmp_path / "t.csv", binarize=0, drop="height").shape == (12, 2)


def test_yes_and_no_in_other_languages(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("wer,raucht,trinkt\nA,Ja,nein\nB,nein,JA\n", encoding="utf-8")
    assert fz.read(tmp_path / "t.csv").to_numpy().tolist() == [[1, 0], [0, 1]]


def test_empty_cells_of_cover_are_asked_about(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("plot;oak;ash\nA;0,5;\nB;;1,5\n")
    table, options = follow(tmp_path / "t.csv", 3)
    assert options == {"binarize": 0, "marks": {"": 0}}
    assert table.to_numpy().tolist() == [[1, 0], [0, 1]]
    gaps = fz.read(tmp_path / "t.csv", binarize=0, marks={"": None})
    assert gaps.n_missing == 2
