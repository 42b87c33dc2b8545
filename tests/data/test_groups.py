"""Groups of rows from whatever says to which group a row belongs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import falsezero as fz
from falsezero.data.groups import row_groups

ROWS = ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "given",
    [
        ["old", "young", "old", None],
        {"a": "old", "c": "old", "b": "young"},
        pd.Series(["young", "old", "old"], index=["b", "c", "a"]),
    ],
    ids=["one per row", "dict", "series"],
)
def test_words(given) -> None:
    found = row_groups(given, ROWS)
    assert found.names == ["old", "young"]
    assert found.codes.tolist() == [0, 1, 0, -1]
    assert found.sizes.tolist() == [2, 1]
    assert found.totals([1, 10, 100, 1000]).tolist() == [101, 10]


def test_a_file(tmp_path) -> None:
    file = tmp_path / "ages.csv"
    file.write_text("site,age\nb,7\na,3\nd,\n")
    found = row_groups(file, ROWS)
    assert (found.names, found.codes.tolist()) == (["3", "7"], [0, 1, -1, -1])


def test_many_numbers_become_few_groups_in_their_order() -> None:
    found = row_groups(np.arange(100.0), range(100), n_bins=4)
    assert found.sizes.tolist() == [25, 25, 25, 25]
    assert found.names[0].startswith("0–")
    assert found.codes.tolist() == sorted(found.codes)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["old"], "groups= has 1 values, but the table has 4 rows"),
        ({"x": "old"}, "groups= names no row of the table, whose first is 'a'"),
        ([np.nan] * 4, "no number"),
    ],
)
def test_what_fits_no_row_is_said(given, words) -> None:
    with pytest.raises(fz.DataError, match=words):
        row_groups(given, ROWS)
