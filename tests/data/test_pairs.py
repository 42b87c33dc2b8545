"""Pairs that a long table lists twice."""

import numpy as np
import pytest

import falsezero as fz
from falsezero.data.pairs import _merge

VALUES = np.array([np.nan, 1.0, 3.0, 2.0, np.nan, np.nan, 4.0])
STARTS = np.array([0, 2, 4, 6])


def test_an_unknown_value_does_not_outweigh_a_known_one():
    np.testing.assert_array_equal(_merge(VALUES, STARTS, "max"), [1, 3, np.nan, 4])
    np.testing.assert_array_equal(_merge(VALUES, STARTS, "sum"), [1, 5, np.nan, 4])


@pytest.mark.parametrize(("duplicates", "expected"), [("max", 1.0), ("sum", 2.0)])
def test_a_file_with_a_gap_and_two_finds(tmp_path, duplicates, expected):
    path = tmp_path / "finds.csv"
    path.write_text("site,genus,n\na,x,1\na,x,\na,x,1\nb,y,1\n")
    table = fz.read(
        path, row="site", column="genus", value="n", duplicates=duplicates, kind="count"
    )
    assert table.to_numpy()[0, 0] == expected
