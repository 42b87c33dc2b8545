import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

from falsezero.data.errors import DataError
from falsezero.data.table import Table

NAN = np.nan


@pytest.fixture
def finds() -> Table:
    return Table([[1, 0, NAN], [0, 1, 1]], rows=["Sansan", "Rudabanya"], columns=list("abc"))


def test_normal_form_has_no_stored_zeros_and_keeps_nan():
    coo = sp.coo_matrix(([0.0, NAN, 1.0], ([1, 0, 0], [0, 2, 1])), shape=(2, 3))
    table = Table(coo)
    assert isinstance(table.values, sp.csr_array)
    assert table.values.has_canonical_format
    assert table.values.dtype == np.float64
    np.testing.assert_array_equal(table.values.indices, [1, 2])
    np.testing.assert_array_equal(table.values.data, [1.0, NAN])


def test_masked_cells_are_not_observed():
    masked = np.ma.masked_array([[1, 0], [1, 1]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(Table(masked).to_numpy(), [[1, NAN], [1, 1]])


def test_scikit_learn_takes_a_table():
    table = Table(np.eye(4) + np.eye(4)[::-1], columns=list("abcd"))
    expected = TruncatedSVD(2, random_state=0).fit(table.to_numpy()).singular_values_
    fitted = TruncatedSVD(2, random_state=0).fit(table)
    np.testing.assert_allclose(fitted.singular_values_, expected)


def test_pandas_is_asked_for_kindly(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"^Table\.to_pandas needs pandas: pip install pandas\.$"):
        Table([[1]]).to_pandas()


def test_the_input_is_copied():
    matrix = sp.csr_array(np.eye(2))
    table = Table(matrix)
    matrix.data[:] = 5
    assert table.to_numpy().max() == 1


def test_counts_of_cells(finds):
    assert finds.shape == (2, 3)
    assert len(finds) == 2
    assert (finds.n_ones, finds.n_missing) == (3, 1)
    assert finds.density == pytest.approx(3 / 5)
    assert finds.is_binary
    assert not Table([[2]]).is_binary
    np.testing.assert_array_equal(finds.missing.toarray(), [[0, 0, 1], [0, 0, 0]])
    assert finds.missing.nnz == 1
    np.testing.assert_array_equal(finds.observed, [[1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(np.asarray(finds), finds.to_numpy())
    assert np.asarray(finds, dtype=np.float32).dtype == np.float32


def test_a_table_without_observed_cells_has_density_zero():
    assert Table([[NAN]]).density == 0.0


def test_labels():
    assert Table(np.eye(2)).rows.tolist() == [0, 1]
    assert Table(np.eye(2), rows=[7, 5]).rows.dtype == np.int64
    assert Table(np.eye(2), rows=[1, "a"]).rows.tolist() == ["1", "a"]
    assert Table(np.eye(2), rows=pd.Index(["x", "y"])).rows.tolist() == ["x", "y"]


def test_look_up(finds):
    assert finds.row("Rudabanya") == 1
    assert finds.column("c") == 2
    numbered = Table(np.eye(2), rows=[10, 20])
    assert numbered.row(20) == numbered.row("20") == numbered.row(np.int32(20)) == 1


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [
        (["Rudabanya"], None, [[0, 1, 1]]),
        ("Sansan", ["c", "a"], [[NAN, 1]]),
        ([1, 0], [0], [[0], [1]]),
        ([-1], [-1], [[1]]),
        (np.array([False, True]), slice(1, None), [[1, 1]]),
        ([True, False], [], np.empty((1, 0))),
    ],
)
def test_select(finds, rows, columns, expected):
    np.testing.assert_array_equal(finds.select(rows, columns).to_numpy(), expected)


def test_select_takes_whole_numbers_as_labels_where_labels_are_numbers():
    table = Table([[1], [2], [3]], rows=[5, 6, 7])
    assert table.select(rows=[7, 5]).to_numpy().ravel().tolist() == [3, 1]
    assert table.select(rows=[7, 5]).rows.tolist() == [7, 5]


def test_transpose_twice_is_the_same(finds):
    assert finds.T.shape == (3, 2)
    assert finds.T.rows.tolist() == ["a", "b", "c"]
    assert finds == finds.transpose().T


def test_equality(finds):
    assert finds == Table(finds.values, finds.rows, finds.columns, name="another name")
    assert finds != Table(finds.values, finds.rows)
    assert finds != Table(np.nan_to_num(finds.to_numpy()), finds.rows, finds.columns)
    assert finds != "finds"
    assert not finds.equals(finds.T)
    assert pickle.loads(pickle.dumps(finds)) == finds
    with pytest.raises(TypeError):
        hash(finds)
    with pytest.raises(AttributeError):
        finds.rows = None  # type: ignore[misc]


def test_pandas_round_trip(finds):
    frame = finds.to_pandas()
    assert frame.loc["Rudabanya", "c"] == 1
    assert Table(frame, frame.index, frame.columns) == finds


def test_repr_draws_a_corner(finds):
    assert repr(finds).splitlines() == [
        "Table: 2 rows × 3 columns, 60 % ones, 1 cell not observed",
        "           a  b  c",
        "Sansan     ■  ·  ?",
        "Rudabanya  ·  ■  ■",
    ]
    wide = Table(np.full((50, 200), 12345.0), columns=[f"a long name {i}" for i in range(200)])
    lines = repr(wide).splitlines()
    assert len(lines) == 11
    assert max(map(len, lines)) <= 80
    assert lines[0] == "Table: 50 rows × 200 columns, 100 % nonzero, every cell observed"
    assert "…" in lines[1]
    assert "1.234e+04" in lines[2]
    assert lines[-1] == "⋮"
    assert "0 rows" in repr(Table(np.empty((0, 2))))


def test_counts_are_drawn_as_numbers():
    assert repr(Table([[1, 0, 12, NAN]])).splitlines()[1:] == ["   0  1  2   3", "0  1  ·  12  ?"]


def test_html_escapes_labels():
    html = Table([[NAN]], rows=["<script>"], columns=["a&b"])._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "a&amp;b" in html
    assert "?" in html


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda t: t.row("Sansa"), "There is no row labelled 'Sansa'; did you mean 'Sansan'?"),
        (lambda t: t.column("z"), "There is no column labelled 'z'; its columns: 'a', 'b', 'c'"),
        (lambda t: t.select(rows=[5]), "There is no row at position 5; the table has 2."),
        (lambda t: t.select(rows=[True]), "The row mask has 1 entries for 2 rows."),
        (
            lambda t: Table(t.values, rows=["a", "a"]),
            "The row label 'a' is used twice (rows 0 and 1); give every row a name of its own.",
        ),
        (
            lambda t: Table(t.values, columns=[3, 4, 3]),
            "The column label 3 is used twice (columns 0 and 2); "
            "give every column a name of its own.",
        ),
        (
            lambda t: Table(t.values, rows=["a"]),
            "The table has 2 rows but 1 row labels were given.",
        ),
        (
            lambda t: Table(t.values, rows=["a", None]),
            "The label of row 1 is missing; give every row a name.",
        ),
        (
            lambda t: Table(t.values, rows="ab"),
            "The row labels must be a list of names, not the text 'ab'.",
        ),
        (
            lambda t: Table([1, 2]),
            "A table has two dimensions, but the array has shape (2,); "
            "reshape it to (rows, columns).",
        ),
        (
            lambda t: Table([[0, np.inf]]),
            "The cell in row 0, column 1 is infinite.",
        ),
        (
            lambda t: Table([[1j]]),
            "A table needs real numbers, but complex ones were given.",
        ),
        (lambda t: Table([["x"]]), "A table needs numbers in rows of equal length."),
        (lambda t: Table([[1], [1, 2]]), "A table needs numbers in rows of equal length."),
    ],
)
def test_errors_are_one_sentence(finds, call, sentence):
    with pytest.raises(DataError) as caught:
        call(finds)
    assert str(caught.value) == sentence


def test_import_is_light():
    code = (
        "import sys, falsezero.data.table\n"
        "heavy = {'pandas', 'pyarrow', 'numba', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
