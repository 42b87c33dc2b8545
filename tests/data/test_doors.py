"""Files and objects as people have them: every door leads to the same small table."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

import falsezero as fz

VALUES = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
ROWS = ["Sansan", "Pikermi", "Rudabanya", "Sinap"]
COLUMNS = ["Hipparion", "Sus", "Felis"]
TABLE = fz.Table(VALUES, ROWS, COLUMNS)
FRAME = pd.DataFrame(VALUES, index=pd.Index(ROWS, name="site"), columns=COLUMNS)
LONG = FRAME.stack().rename_axis(["site", "genus"]).rename("n").reset_index()


@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_spreadsheets(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"finds.{ending}"
    with pd.ExcelWriter(str(file)) as writer:
        FRAME.to_excel(writer, sheet_name="wide")
        LONG.to_excel(writer, sheet_name="long", index=False)
        (3 * FRAME).to_excel(writer, sheet_name="counts", startrow=2 * (ending == "xlsx"))
    assert fz.read(file).equals(TABLE)
    assert fz.read(file, layer="long", row="site", column="genus", value="n").equals(TABLE)
    assert fz.read(file, layer="counts", binarize=0).equals(TABLE)
    with pytest.raises(fz.DataError, match=r"line [24], column 'Hipparion' holds 3"):
        fz.read(file, layer="counts")
    with pytest.raises(fz.DataError, match="no sheet 'Wide' for layer=; did you mean 'wide'"):
        fz.read(file, layer="Wide")


def test_an_empty_cell_of_a_sheet_is_not_observed(tmp_path: Path) -> None:
    gaps = FRAME.astype(float)
    gaps.iloc[0, 1] = np.nan
    gaps.to_excel(tmp_path / "finds.xlsx")
    assert fz.read(tmp_path / "finds.xlsx").n_missing == 1


def test_a_workbook_of_another_kind_than_its_name_says(tmp_path: Path) -> None:
    FRAME.to_excel(tmp_path / "finds.xlsx")
    (tmp_path / "finds.xlsx").rename(tmp_path / "finds.ods")
    assert fz.read(tmp_path / "finds.ods").equals(TABLE)


def test_feather(tmp_path: Path) -> None:
    FRAME.reset_index().to_feather(tmp_path / "finds.feather")
    assert fz.read(tmp_path / "finds.feather").equals(TABLE)
    assert fz.read(tmp_path / "finds.feather", drop="Sus").shape == (4, 2)


def test_zip_with_one_table_or_several(tmp_path: Path) -> None:
    file = tmp_path / "finds.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data/finds.csv", FRAME.to_csv())
        archive.writestr("readme.md", "made by hand")
    assert fz.read(file).equals(TABLE)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("data/other.csv", FRAME.to_csv())
    with pytest.raises(fz.DataError, match="2 tables; pass layer="):
        fz.read(file)
    assert fz.read(file, layer="data/other.csv").equals(TABLE)


def test_darwin_core_archive(tmp_path: Path) -> None:
    head = ["gbifID", "locality", "species", "occurrenceStatus", "scientificName"]
    lines = [
        ["1", "Sansan", "Sus scrofa", "PRESENT", 'Sus "wild" scrofa'],
        ["2", "Sansan", "Sus scrofa", "PRESENT", "Sus scrofa L."],
        ["3", "Sansan", "Felis silvestris", "ABSENT", "Felis silvestris"],
        ["4", "Pikermi", "Felis silvestris", "", "Felis silvestris"],
        ["5", "Pikermi", "", "PRESENT", "Mammalia"],
    ]
    text = "\n".join("\t".join(line) for line in [head, *lines]) + "\n"
    file = tmp_path / "0001-download.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("occurrence.txt", text)
        archive.writestr("meta.xml", "<archive/>")
        archive.writestr("verbatim.txt", "a\tb\n")
    with pytest.warns(UserWarning, match="left out 1 occurrences without locality or species"):
        table = fz.read(file)
    assert table.rows.tolist() == ["Sansan", "Pikermi"]
    assert table.to_numpy().tolist() == [[1, 0], [0, 1]]
    assert fz.read(file, column="scientificName").shape == (2, 4)


def test_biom_of_both_versions(tmp_path: Path) -> None:
    biom = pytest.importorskip("biom")
    made = biom.Table(sp.csr_matrix(VALUES.T), COLUMNS, ROWS)
    (tmp_path / "one.biom").write_text(made.to_json("test"))
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "two.biom", "w") as file:
        made.to_hdf5(file, "test")
    for name in ("one", "two"):
        assert fz.read(tmp_path / f"{name}.biom").equals(TABLE)
    (tmp_path / "cut.biom").write_text(json.dumps({"rows": []}))
    with pytest.raises(fz.DataError, match="damaged or cut off: it is not a complete BIOM file"):
        fz.read(tmp_path / "cut.biom")


def test_zarr_and_backed_anndata(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    pytest.importorskip("zarr")
    adata = anndata.AnnData(sp.csr_matrix(VALUES.astype(float)))
    adata.obs_names, adata.var_names = ROWS, COLUMNS
    adata.write_zarr(tmp_path / "finds.zarr")
    adata.write_h5ad(tmp_path / "finds.h5ad")
    assert fz.read(tmp_path / "finds.zarr").equals(TABLE)
    backed = anndata.read_h5ad(tmp_path / "finds.h5ad", backed="r")
    assert fz.as_table(backed).equals(TABLE)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no R on this machine")
def test_objects_that_r_saved(tmp_path: Path) -> None:
    pytest.importorskip("rdata")
    FRAME.to_csv(tmp_path / "finds.csv")
    script = """
      frame <- read.csv("finds.csv", row.names = 1)
      saveRDS(as.matrix(frame), "matrix.rds"); saveRDS(frame, "frame.rds")
      other <- 1; save(frame, other, file = "both.rda")
    """
    subprocess.run(["Rscript", "-e", script], cwd=tmp_path, check=True)
    assert fz.read(tmp_path / "matrix.rds").equals(TABLE)
    assert fz.read(tmp_path / "frame.rds").equals(TABLE)
    assert fz.read(tmp_path / "both.rda", layer="frame").equals(TABLE)
    with pytest.raises(fz.DataError, match="several objects; pass layer="):
        fz.read(tmp_path / "both.rda")


def test_labels_beside_a_matrix(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "m.npz", sp.csr_array(VALUES))
    scipy.io.mmwrite(tmp_path / "m.mtx", sp.csr_array(VALUES))
    (tmp_path / "rows.txt").write_text("site\n" + "\n".join(ROWS) + "\n")
    (tmp_path / "columns.csv").write_text("\n".join(f"{name},note" for name in COLUMNS))
    labels = {"rows": tmp_path / "rows.txt", "columns": tmp_path / "columns.csv"}
    for name in ("m.npz", "m.mtx"):
        assert fz.read(tmp_path / name, **labels).equals(TABLE)
    with pytest.raises(fz.DataError, match="has 3 lines, but the table has 4 rows"):
        fz.read(tmp_path / "m.npz", rows=tmp_path / "columns.csv")


def test_the_three_files_of_10x(tmp_path: Path) -> None:
    scipy.io.mmwrite(tmp_path / "matrix.mtx", sp.coo_array(VALUES.T))
    with gzip.open(tmp_path / "barcodes.tsv.gz", "wt") as stream:
        stream.write("\n".join(ROWS))
    (tmp_path / "features.tsv").write_text(
        "".join(f"ENS{i}\t{c}\tGene\n" for i, c in enumerate(COLUMNS))
    )
    assert fz.read(tmp_path / "matrix.mtx").equals(TABLE)


def test_objects_in_memory() -> None:
    finds = [{"Hipparion", "Felis"}, {"Sus"}, {"Hipparion", "Sus"}, {"Felis"}]
    by_name = TABLE.select(columns=sorted(COLUMNS))
    assert fz.as_table(finds, rows=ROWS).equals(by_name)
    assert fz.as_table(dict(zip(ROWS, finds, strict=True))).equals(by_name)
    assert fz.as_table(LONG.set_index(["site", "genus"])["n"]).equals(TABLE)
    levels = FRAME.set_axis(pd.MultiIndex.from_product([["Europe", "Asia"], ["a", "b"]]))
    assert fz.as_table(levels).rows.tolist()[1] == "Europe / b"


def test_query_results() -> None:
    duckdb = pytest.importorskip("duckdb")
    finds = duckdb.from_df(LONG)
    asked = finds.query("finds", "select site, genus from finds where n > 0")
    table = fz.as_table(asked, row="site", column="genus")
    assert table.select(rows=ROWS, columns=COLUMNS).equals(TABLE)


def test_an_arrow_table_knows_the_index_of_pandas() -> None:
    pa = pytest.importorskip("pyarrow")
    assert fz.as_table(pa.Table.from_pandas(FRAME)).equals(TABLE)
    model = fz.AspectBernoulli(2, random_state=0).fit(pa.Table.from_pandas(FRAME))
    assert model.feature_names_in_.tolist() == COLUMNS


def test_an_xarray_dataset() -> None:
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(VALUES, {"site": ROWS, "genus": COLUMNS}, ("site", "genus"))
    assert fz.as_table(xr.Dataset({"found": array, "age": ("site", range(4))})).equals(TABLE)
    both = xr.Dataset({"found": array, "sold": 1 - array})
    assert fz.as_table(both, layer="found").equals(TABLE)
    with pytest.raises(fz.DataError, match="pass layer='found' or layer='sold'"):
        fz.as_table(both)
    with pytest.raises(fz.DataError, match="no two-dimensional variable, so it holds no table"):
        fz.as_table(xr.Dataset({"age": ("site", range(4))}))


def test_cursors_of_databases() -> None:
    connection = sqlite3.connect(":memory:")
    LONG[LONG["n"] == 1].to_sql("finds", connection, index=False)
    found = fz.as_table(connection.execute("select * from finds"), row="site", column="genus")
    assert found.select(ROWS, COLUMNS).equals(TABLE)
    duckdb = pytest.importorskip("duckdb").connect()
    duckdb.register("finds", FRAME.reset_index())
    assert fz.as_table(duckdb.execute("select * from finds")).equals(TABLE)


def test_lists_of_labels_and_counts() -> None:
    lists = {row: [c for c in COLUMNS if FRAME.loc[row, c]] for row in ROWS}
    assert fz.as_table(lists).select(ROWS, COLUMNS).equals(TABLE)
    assert fz.as_table(list(lists.values())).to_numpy().sum() == VALUES.sum()
    counts = fz.as_table([{"Sus": 3}, {"Felis": 1}], kind="count")
    assert counts.to_pandas().to_dict("list") == {"Felis": [0.0, 1.0], "Sus": [3.0, 0.0]}
    model = fz.AspectBernoulli(2, random_state=0).fit(list(lists.values()))
    assert model.feature_names_in_.tolist() == sorted(COLUMNS)


def test_results_go_into_frames_as_they_are() -> None:
    found = fz.Tidy(row=ROWS, expected=[0.1, 0.2, 0.3, 0.4])
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    assert pl.DataFrame(found).to_dict(as_series=False)["row"] == ROWS
    assert pd.DataFrame(found)["expected"].tolist() == [0.1, 0.2, 0.3, 0.4]
