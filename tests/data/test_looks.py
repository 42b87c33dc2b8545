"""Repeated looks at the door: every way in, and one sentence for every mistake."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import falsezero as fz
from falsezero.data.errors import DataError

NAN = np.nan
VISITS = np.array([[[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [NAN, NAN, NAN]]])


def looks(**named):
    return fz.Looks(
        VISITS, rows=["pond", "wood"], looks=[1, 2], columns=["newt", "toad", "frog"], **named
    )


@pytest.fixture
def files(tmp_path):
    (tmp_path / "found.csv").write_text(
        "site,species,visit\npond,newt,1\nwood,toad,1\npond,frog,2\n"
    )
    (tmp_path / "effort.csv").write_text(
        "site,visit,who,date\npond,1,Ada,10\npond,2,Bo,20\nwood,1,Bo,11\n"
    )
    (tmp_path / "wide.csv").write_text(
        "site,visit,newt,toad,frog\npond,1,1,0,0\npond,2,0,0,1\nwood,1,0,1,0\n"
    )
    return tmp_path


def read(files, name="found.csv", **named):
    keys = {"row": "site", "column": "species", "look": "visit"} | named
    return fz.read(files / name, **keys)


def test_a_list_of_detections_and_a_list_of_looks(files):
    found = read(files, surveyed=files / "effort.csv", observer="who", variables="date")
    want = looks().select(columns=list(found.columns))
    np.testing.assert_array_equal(found.ones, want.ones)
    np.testing.assert_array_equal(found.tries, want.tries)
    assert found.observers[0].tolist() == ["Ada", "Bo"]
    assert found.variables["date"][0].tolist() == [10.0, 20.0]


def test_looks_without_finds_count_only_when_they_are_listed(files):
    (files / "effort.csv").write_text("site,visit\npond,1\npond,2\nwood,1\nheath,1\n")
    assert read(files).shape == (2, 2, 3)
    assert read(files, surveyed=files / "effort.csv").shape == (3, 2, 3)


def test_a_wide_table_per_visit(files):
    wide = read(files, "wide.csv", column=None)
    assert wide.equals(looks())


def test_frames_and_files_say_the_same(files):
    frame = pd.read_csv(files / "effort.csv")
    with_file = read(files, surveyed=files / "effort.csv")
    assert with_file.equals(read(files, surveyed=frame))


def test_counts_and_tables_and_arrays_are_the_same_looks():
    x, n = looks().counts
    pooled = fz.Looks.from_counts(x, n, rows=["pond", "wood"], columns=["newt", "toad", "frog"])
    assert pooled.equals(looks().pooled())
    tables = {label: looks().look(label) for label in (1, 2)}
    assert fz.Looks.from_tables(tables).equals(looks())
    assert fz.as_looks(VISITS).shape == (2, 2, 3)


def test_data_arrays_keep_their_labels():
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(
        VISITS,
        dims=("site", "visit", "species"),
        coords={"site": ["pond", "wood"], "visit": [1, 2], "species": ["newt", "toad", "frog"]},
    )
    assert fz.as_looks(array).equals(looks())


def test_a_table_is_one_look():
    table = fz.Table([[1, 0], [0, NAN]], rows=["a", "b"])
    assert fz.as_looks(table).union().equals(table)


def test_saved_looks_come_back(tmp_path):
    before = looks(
        observers=[["Ada", "Bo"], ["Bo", "Bo"]],
        variables={"date": [[1, 2], [3, 4]]},
        row_variables={"elevation": [400, 700]},
    )
    before.save(tmp_path / "visits.npz")
    assert fz.read(tmp_path / "visits.npz").equals(before)


def test_shown_with_the_corner_and_the_effort():
    shown = repr(looks(observers=["Ada", "Bo"]))
    assert "2 rows × 3 columns, 2 looks at most (1.5 a cell)" in shown
    assert "2 observers" in shown
    assert "1/2" in shown
    assert "<table" in looks()._repr_html_()
    assert "?" in repr(fz.Looks([[[NAN, 1]], [[NAN, 0]]]))


def edited(files, name, old, new):
    text = (files / name).read_text()
    assert old in text
    (files / name).write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "pond,frog,2",
            "wood,frog,2",
            "line 4 reports 'frog' on look 2 of row 'wood', which is not",
        ),
        ("pond,frog,2", ",frog,2", "line 4 has no row in column 'site'"),
        ("pond,frog,2", "pond,frog,", "line 4 has no look in column 'visit'"),
    ],
)
def test_a_detection_that_belongs_to_no_look_is_refused(files, old, new, words):
    edited(files, "found.csv", old, new)
    with pytest.raises(DataError, match=words):
        read(files, surveyed=files / "effort.csv")


def test_two_values_for_one_look_are_refused(files):
    (files / "values.csv").write_text("site,species,visit,n\npond,newt,1,1\npond,newt,1,0\n")
    with pytest.raises(DataError, match=r"line 3 gives 'newt' on look 1 of row 'pond' another"):
        read(files, "values.csv", value="n")


def test_one_look_listed_twice_in_a_wide_file_is_refused(files):
    edited(files, "wide.csv", "pond,2,", "pond,1,")
    with pytest.raises(
        DataError, match=r"line 3 repeats look 1 of row 'pond' \(first: .* line 2\)"
    ):
        read(files, "wide.csv", column=None)


def test_two_observers_for_one_look_are_refused(files):
    edited(files, "effort.csv", "pond,2,Bo,20", "pond,1,Bo,10")
    with pytest.raises(DataError, match="gives a look another 'who'"):
        read(files, surveyed=files / "effort.csv", observer="who")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fz.Looks([[1, 0]]), "three dimensions"),
        (lambda: fz.Looks(np.full((2, 1, 2), 3)), "holds 3, but a look records 0 or 1"),
        (lambda: fz.Looks(np.full((2, 1, 2), 0.5)), "whole numbers"),
        (lambda: fz.Looks.from_counts([[3]], [[2]]), "3 ones of 2 looks"),
        (lambda: fz.Looks.from_counts([[1, 0]], [[2], [3], [4]]), "looks= has shape"),
        (lambda: fz.Looks(np.zeros((2, 0, 2))), "no looks"),
        (lambda: looks(observers=["Ada"]), "observers= has shape"),
        (lambda: looks(variables={"date": [[1, NAN], [2, NAN]]}), "'date' is missing for look 1"),
        (lambda: looks(row_variables={"elevation": [1]}), "'elevation' needs 2 numbers"),
    ],
)
def test_bad_looks_are_one_sentence(make, words):
    with pytest.raises(DataError, match=words):
        make()


def test_observer_without_look_is_refused(files):
    with pytest.raises(DataError, match="name their column with look="):
        fz.read(files / "found.csv", row="site", column="species", observer="who")


def test_what_is_known_of_rows_joins_the_looks(files, tmp_path):
    """Rows that nobody looked at join as well; labels may stand in any order."""
    (tmp_path / "sites.csv").write_text("site,height\nwood,540\nmoor,900\npond,310\n")
    looks = read(files, surveyed=files / "effort.csv", row_variables=tmp_path / "sites.csv")
    assert looks.rows.tolist() == ["pond", "wood", "moor"]
    np.testing.assert_array_equal(looks.row_variables["height"], [310, 540, 900])
    assert looks.tries[2].sum() == 0
    without = read(files, surveyed=files / "effort.csv")
    np.testing.assert_array_equal(looks.tries[:2], without.tries)
    np.testing.assert_array_equal(looks.ones[:2], without.ones)


@pytest.mark.parametrize(
    ("sites", "words"),
    [
        ("site,height\nwood,540\n", "has no line for row 'pond', which was looked at"),
        ("site,height\npond,1\nwood,2\npond,4\n", r"line 4 repeats row 'pond' \(first"),
        ("site\npond\nwood\n", "has no column beside 'site'"),
        ("site,height\npond,\nwood,2\n", "line 2 has no number in column 'height'"),
        ("site,height\npond,high\nwood,2\n", "holds 'high' where a number belongs"),
        ("place,height\npond,1\n", "has no column 'site'"),
    ],
)
def test_bad_row_variables_are_one_sentence(files, tmp_path, sites, words):
    (tmp_path / "sites.csv").write_text(sites)
    with pytest.raises(DataError, match=words):
        read(files, surveyed=files / "effort.csv", row_variables=tmp_path / "sites.csv")


def test_row_variables_without_look_are_refused(files):
    with pytest.raises(DataError, match="row_variables= describe looks"):
        fz.read(files / "found.csv", row="site", column="species", row_variables="sites.csv")
