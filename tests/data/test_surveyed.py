import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from falsezero.data.errors import DataError
from falsezero.data.read import as_table, read
from falsezero.data.table import Table

NAN = np.nan
LONG = {"row": "site", "column": "genus"}
FINDS = "site,genus\nx,a\ny,b\n"
SURVEYED = [("x", "a"), ("x", "b"), ("y", "b"), ("z", "b")]
EXPECTED = Table([[1, 0], [NAN, 1], [NAN, 0]], ["x", "y", "z"], ["a", "b"])


@pytest.fixture
def finds(tmp_path):
    path = tmp_path / "finds.csv"
    path.write_text(FINDS)
    return path


def as_file(tmp_path, suffix):
    frame = pd.DataFrame(SURVEYED, columns=["site", "genus"]).assign(visit="2003")
    path = tmp_path / f"surveyed{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    "pairs",
    [
        SURVEYED,
        set(SURVEYED),
        np.array(SURVEYED),
        pd.DataFrame(SURVEYED, columns=["site", "genus"]),
        pl.DataFrame({"genus": list("abbb"), "site": list("xxyz")}),
        Table([[1, 1], [0, 1], [NAN, 1]], list("xyz"), list("ab")),
    ],
)
def test_every_way_to_name_pairs(finds, pairs):
    assert read(finds, surveyed=pairs, **LONG) == EXPECTED


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_pairs_in_a_file(finds, tmp_path, suffix):
    assert read(finds, surveyed=as_file(tmp_path, suffix), **LONG) == EXPECTED


def test_numbers_and_text_name_the_same_row():
    frame = pd.DataFrame({"site": [1, 2], "genus": ["a", "b"]})
    table = as_table(frame, surveyed=[("1", "a"), (2, "b"), ("three", "a")], **LONG)
    assert table.rows.tolist() == ["1", "2", "three"]
    np.testing.assert_array_equal(table.to_numpy(), [[1, NAN], [NAN, 1], [0, NAN]])


@pytest.mark.parametrize("kind", [np.array, sp.csr_array, sp.coo_matrix])
def test_masks(kind):
    mask = np.array([[True, True, False], [False, True, True]])
    table = as_table([[1, 0, 0], [0, 0, 1]], surveyed=kind(mask))
    np.testing.assert_array_equal(table.to_numpy(), [[1, 0, NAN], [NAN, 0, 1]])
    numbers = as_table([[1, 0, 0], [0, 0, 1]], surveyed=mask.astype(int))
    assert numbers == table


def test_a_wide_frame_as_mask():
    mask = pd.DataFrame([[1, 0, 1]], index=["s"], columns=list("abc"))
    table = as_table(pd.DataFrame([[1, 0, 0]], index=["s"], columns=list("abc")), surveyed=mask)
    np.testing.assert_array_equal(table.to_numpy(), [[1, NAN, 0]])


def test_unobserved_cells_may_lie_outside():
    table = as_table([[NAN, 1]], surveyed=[(0, 1)])
    np.testing.assert_array_equal(table.to_numpy(), [[NAN, 1]])


def test_many_rows():
    mask = np.random.default_rng(0).random((2500, 3)) < 0.5
    table = as_table(sp.csr_array((2500, 3)), surveyed=mask)
    np.testing.assert_array_equal(table.observed, mask)


@pytest.mark.parametrize(
    ("surveyed", "sentence"),
    [
        (
            [("x", "a")],
            "The find ('y', 'b') is not among the surveyed pairs; add the pair to surveyed= or "
            "remove the find.",
        ),
        (
            [("x", "a", "b")],
            "surveyed= needs pairs of a row and a column label, but entry 0 is ('x', 'a', 'b').",
        ),
        (
            np.ones((3, 3), dtype=bool),
            "surveyed= has shape (3, 3), but the table has shape (2, 2).",
        ),
        (
            7,
            "surveyed= needs pairs, a frame, a boolean mask, a Table or a path, not a int.",
        ),
        ([None], "surveyed= needs pairs of a row and a column label, not a list."),
        (
            pd.DataFrame({"place": ["x"], "genus": ["a"]}),
            "surveyed= has no column 'site'; its columns: 'place', 'genus'",
        ),
    ],
)
def test_errors(finds, surveyed, sentence):
    with pytest.raises(DataError) as caught:
        read(finds, surveyed=surveyed, **LONG)
    assert str(caught.value) == sentence


def test_errors_of_files(finds, tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read(finds, surveyed=tmp_path / "nothing.csv", **LONG)
    (tmp_path / "s.npz").write_bytes(b"")
    with pytest.raises(DataError, match=r"s\.npz is empty"):
        read(finds, surveyed=tmp_path / "s.npz", **LONG)


def test_a_wide_table_does_not_grow():
    with pytest.raises(DataError, match="surveyed= names the row 'z', which the table lacks"):
        as_table([[1]], rows=["x"], columns=["a"], surveyed=[("x", "a"), ("z", "a")])
