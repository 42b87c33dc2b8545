"""The same table through every door comes out the same."""

import csv
import gzip
import io
from pathlib import Path

import anndata
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from falsezero.data.read import as_table, read
from falsezero.data.table import Table

NAN = np.nan
VALUES = np.array([[1, 0, NAN, 1], [0, 0, 0, 0], [NAN, 1, 1, 0]])
ROWS = ["Sansan", "Rudabánya", 'Can "Llobateres", 2']
COLUMNS = ["Sus", "Hipparion", "Dryopithecus", "Moropus"]
TABLE = Table(VALUES, ROWS, COLUMNS)
FRAME = pd.DataFrame(VALUES, index=ROWS, columns=COLUMNS)
PLAIN = Table(VALUES)


def cells(table: Table) -> list[tuple[str, str, float]]:
    """Every observed or unobserved cell as a line of a long table, row by row."""
    dense = table.to_numpy()
    return [
        (row, column, dense[i, j])
        for i, row in enumerate(table.rows)
        for j, column in enumerate(table.columns)
    ]


def write_csv(path: Path, lines: list[list[object]], delimiter: str = ",") -> Path:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(lines)
    path.write_bytes(text.getvalue().encode())
    return path


def wide_lines(table: Table, missing: str = "") -> list[list[object]]:
    texts = [[missing if np.isnan(v) else f"{v:g}" for v in row] for row in table.to_numpy()]
    return [["site", *table.columns], *([r, *t] for r, t in zip(table.rows, texts, strict=True))]


def long_lines(table: Table) -> list[list[object]]:
    found = [[r, c, "" if np.isnan(v) else v] for r, c, v in cells(table)]
    return [["site", "genus", "found"], *found]


LONG = {"row": "site", "column": "genus", "value": "found"}


@pytest.mark.parametrize("missing", ["", "NA", "NaN", "null", "None", "?", " "])
def test_wide_csv(tmp_path, missing):
    assert read(write_csv(tmp_path / "t.csv", wide_lines(TABLE, missing))) == TABLE


@pytest.mark.parametrize(
    ("file", "delimiter"), [("t.csv", ";"), ("t.csv", "\t"), ("t.tsv", "\t"), ("t.txt", ",")]
)
def test_delimiters(tmp_path, file, delimiter):
    assert read(write_csv(tmp_path / file, wide_lines(TABLE), delimiter)) == TABLE


def test_a_delimiter_can_be_named(tmp_path):
    (tmp_path / "t.txt").write_text("0 1\n1 1\n")
    assert read(tmp_path / "t.txt", delimiter=" ", header=False) == Table([[0, 1], [1, 1]])


def test_bom_gzip_and_line_ends(tmp_path):
    text = write_csv(tmp_path / "t.csv", wide_lines(TABLE)).read_bytes()
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf" + text)
    (tmp_path / "unix.csv").write_bytes(text.replace(b"\r\n", b"\n\n").removesuffix(b"\n\n"))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "latin.csv").write_bytes(text.decode().encode("latin-1"))
    (tmp_path / "wide.csv").write_bytes(text.decode().encode("utf-16"))
    for name in ("bom.csv", "unix.csv", "t.csv.gz"):
        assert read(tmp_path / name) == TABLE
    assert read(tmp_path / "latin.csv", encoding="latin-1") == TABLE
    assert read(tmp_path / "wide.csv", encoding="utf-16") == TABLE
    assert read(tmp_path / "t.csv.gz").name == "t"


def test_long_csv(tmp_path):
    assert read(write_csv(tmp_path / "t.csv", long_lines(TABLE)), **LONG) == TABLE


def test_long_csv_without_values_lists_presences(tmp_path):
    path = write_csv(tmp_path / "t.csv", [["b", "a"], ["x", "2"], ["y", "1"], ["x", "1"]])
    assert read(path, row="a", column="b") == Table([[1, 0], [1, 1]], [2, 1], ["x", "y"])


def test_row_labels_of_a_wide_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,a\n1,0\n0,1\n")
    assert read(path) == Table([[1, 0], [0, 1]], columns=["id", "a"])
    assert read(path, index="id") == Table([[0], [1]], [1, 0], ["a"])
    assert read(path, index="a").columns.tolist() == ["id"]
    path.write_text(",a\n1,0\n5,1\n")
    assert read(path) == Table([[0], [1]], [1, 5], ["a"])
    path.write_text("a,b\nx,0,1\ny,1,1\n")
    assert read(path) == Table([[0, 1], [1, 1]], ["x", "y"], ["a", "b"])
    path.write_text("x,0,1\ny,1,1\n")
    assert read(path, header=False) == Table([[0, 1], [1, 1]], ["x", "y"])


def test_truth_values_are_ones_and_zeros(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\nTRUE,false\nFalse,true\n")
    assert read(tmp_path / "t.csv") == Table([[1, 0], [0, 1]], columns=["a", "b"])


def test_parquet(tmp_path):
    FRAME.to_parquet(tmp_path / "wide.parquet")
    assert read(tmp_path / "wide.parquet") == TABLE
    FRAME.reset_index(names="site").to_parquet(tmp_path / "text.parquet")
    assert read(tmp_path / "text.parquet") == TABLE
    columns = dict(zip(LONG.values(), map(list, zip(*cells(TABLE), strict=True)), strict=True))
    pq.write_table(pa.table(columns), tmp_path / "long.pq")
    assert read(tmp_path / "long.pq", **LONG) == TABLE


def test_numpy_files(tmp_path):
    np.savez(tmp_path / "a.npz", X=VALUES, rows=ROWS, columns=COLUMNS)
    assert read(tmp_path / "a.npz") == TABLE
    np.savez_compressed(tmp_path / "one.npz", VALUES)
    assert read(tmp_path / "one.npz") == PLAIN
    np.save(tmp_path / "b.npy", VALUES)
    assert read(tmp_path / "b.npy") == PLAIN
    for stored in (sp.csc_matrix(VALUES), sp.coo_array(VALUES)):
        sp.save_npz(tmp_path / "c.npz", stored)
        assert read(tmp_path / "c.npz") == PLAIN


def test_matrix_market(tmp_path):
    scipy.io.mmwrite(tmp_path / "t.mtx", sp.coo_array(VALUES))
    assert read(tmp_path / "t.mtx") == PLAIN
    (tmp_path / "t.mtx.gz").write_bytes(gzip.compress((tmp_path / "t.mtx").read_bytes()))
    assert read(tmp_path / "t.mtx.gz") == PLAIN
    scipy.io.mmwrite(tmp_path / "dense.mtx", VALUES)
    assert read(tmp_path / "dense.mtx") == PLAIN


@pytest.mark.parametrize(
    "container",
    [np.array, sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix, np.ndarray.tolist, Table],
)
def test_arrays(container):
    assert as_table(container(VALUES)) == PLAIN
    assert as_table(container(VALUES), rows=ROWS, columns=COLUMNS) == TABLE


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.float32])
def test_number_types(dtype):
    assert as_table(np.eye(3, dtype=dtype)) == Table(np.eye(3))


def nullable() -> pd.DataFrame:
    return FRAME.astype("Int8")


def sparse_frame() -> pd.DataFrame:
    return FRAME.fillna(0).astype(pd.SparseDtype(float, 0.0))


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        nullable(),
        FRAME.astype("boolean"),
        FRAME.astype(object).where(FRAME.notna(), None),
        FRAME.reset_index(names="site"),
        FRAME.reset_index(names="site").convert_dtypes(dtype_backend="pyarrow"),
        pl.from_pandas(FRAME.reset_index(names="site")),
        pl.from_pandas(nullable().reset_index(names="site")),
        pl.from_pandas(nullable().reset_index(names="site")).lazy(),
        pa.Table.from_pandas(nullable().reset_index(names="site"), preserve_index=False),
        pa.Table.from_pandas(FRAME.astype("boolean").reset_index(names="site"),
                             preserve_index=False),
    ],
)  # fmt: skip
def test_wide_frames(frame):
    assert as_table(frame) == TABLE


def test_a_table_keeps_its_name_and_a_column_may_be_called_name():
    assert as_table(Table([[1]], name="finds")).name == "finds"
    assert as_table(Table([[1]], name="finds"), name="other").name == "other"
    assert as_table(pd.DataFrame({"name": [1], "shape": [0]})).name is None


def test_frames_with_other_labels():
    assert as_table(pd.DataFrame(VALUES)) == PLAIN
    assert as_table(sparse_frame()) == Table(np.nan_to_num(VALUES), ROWS, COLUMNS)
    assert as_table(FRAME, rows=[4, 5, 6]).rows.tolist() == [4, 5, 6]
    shifted = pd.DataFrame(VALUES, index=[3, 4, 5])
    assert as_table(shifted).rows.tolist() == [3, 4, 5]
    numbered = pd.DataFrame({"id": [7, 8], "a": [0, 1]})
    assert as_table(numbered, index="id") == Table([[0], [1]], [7, 8], ["a"])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_long_frames(library):
    columns = dict(zip(LONG.values(), map(list, zip(*cells(TABLE), strict=True)), strict=True))
    frame = library({key: [str(v) if key != "found" else v for v in column]
                     for key, column in columns.items()})  # fmt: skip
    assert as_table(frame, **LONG) == TABLE
    numbers = library({"a": [3, 1, 3], "b": ["x", "y", "y"]})
    assert as_table(numbers, row="a", column="b") == Table([[1, 1], [0, 1]], [3, 1], ["x", "y"])


def test_categories_are_labels():
    frame = pd.DataFrame({"a": pd.Categorical(["y", "x"]), "b": pd.Categorical(["p", "p"])})
    assert as_table(frame, row="a", column="b") == Table([[1], [1]], ["y", "x"], ["p"])


def test_anndata(tmp_path):
    cells_by_genes = anndata.AnnData(FRAME.fillna(0))
    cells_by_genes.layers["raw"] = VALUES
    assert as_table(cells_by_genes, layer="raw") == TABLE
    assert as_table(cells_by_genes) == Table(np.nan_to_num(VALUES), ROWS, COLUMNS)
    cells_by_genes.write_h5ad(tmp_path / "t.h5ad")
    assert read(tmp_path / "t.h5ad", layer="raw") == TABLE


def test_xarray():
    coords = {"site": ROWS, "genus": COLUMNS}
    assert as_table(xr.DataArray(VALUES, dims=["site", "genus"], coords=coords)) == TABLE
    assert as_table(xr.DataArray(VALUES)) == PLAIN


def test_graphs():
    directed = nx.DiGraph([("a", "b"), ("c", "a")])
    expected = Table([[0, 1, 0], [0, 0, 0], [1, 0, 0]], list("abc"), list("abc"))
    expected = expected.select(rows=list(directed), columns=list(directed))
    assert as_table(directed) == expected
    both = as_table(directed.to_undirected())
    assert both == both.T
    weighted = nx.Graph()
    weighted.add_edge(1, 2, weight=3)
    assert as_table(weighted, value="weight", kind="count").to_numpy().max() == 3
    assert as_table(nx.MultiDiGraph([(1, 2), (1, 2)])).n_ones == 1


def test_bipartite_graphs():
    graph = nx.Graph()
    graph.add_nodes_from(["s1", "s2"], bipartite=0)
    graph.add_nodes_from(["g1", "g2"], bipartite=1)
    graph.add_edges_from([("s1", "g2"), ("g1", "s2")])
    expected = Table([[0, 1], [1, 0]], ["s1", "s2"], ["g1", "g2"])
    assert as_table(graph) == expected
    chosen = as_table(graph, rows=["s2"], columns=["g2", "g1"])
    assert chosen == expected.select(["s2"], ["g2", "g1"])


LABELS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]),
    min_size=1,
    max_size=6,
).filter(lambda label: label.strip() == label)


@st.composite
def tables(draw) -> Table:
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    values = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from([0.0, 1.0, 7.0, NAN])))
    rows, columns = (
        ["x" + label for label in draw(st.lists(LABELS, min_size=n, max_size=n, unique=True))]
        for n in shape
    )
    return Table(values, rows, columns)


@pytest.mark.filterwarnings("ignore:The frame holds ones and cells not observed")
@settings(max_examples=60, deadline=None)
@given(table=tables())
def test_any_table_survives_every_door(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("doors")
    wide = write_csv(folder / "w.csv", wide_lines(table, "NA"))
    long = write_csv(folder / "l.tsv", long_lines(table), "\t")
    np.savez(folder / "t.npz", X=table.to_numpy(), rows=table.rows, columns=table.columns)
    frame = table.to_pandas()
    assert read(wide, kind="count") == table
    assert read(long, kind="count", **LONG) == table
    assert read(folder / "t.npz", kind="count") == table
    assert as_table(frame, kind="count") == table
    assert as_table(pl.from_pandas(frame.reset_index(names="\0")), kind="count") == table
    assert table == as_table(table.T, kind="count").T


@settings(max_examples=40, deadline=None)
@given(table=tables(), threshold=st.sampled_from([-1.0, 0.0, 1.0, 3.5, 7.0]))
def test_binarize_is_above_the_threshold(table, threshold):
    dense = table.to_numpy()
    expected = np.where(np.isnan(dense), NAN, dense > threshold)
    np.testing.assert_array_equal(as_table(table, binarize=threshold).to_numpy(), expected)


def test_duplicates_can_be_merged():
    frame = pd.DataFrame({"a": list("xxyy"), "b": list("pppp"), "n": [1, 2, NAN, NAN]})
    merged = {
        how: as_table(frame, row="a", column="b", value="n", duplicates=how, kind="count")
        for how in ("max", "sum")
    }
    np.testing.assert_array_equal(merged["max"].to_numpy(), [[2], [NAN]])
    np.testing.assert_array_equal(merged["sum"].to_numpy(), [[3], [NAN]])
