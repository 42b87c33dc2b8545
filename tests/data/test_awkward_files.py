"""Fifty awkward files of the kinds that people have: each is read at the first try, or with the
options that the library's own sentences name."""

from __future__ import annotations

import gzip
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

import falsezero as fz
from falsezero.app.remedies import remedies

VALUES = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 1]])
ROWS = ["Sansan", "Pikermi", "Sinap"]
COLUMNS = ["Hipparion", "Sus", "Felis", "Ursus"]
FRAME = pd.DataFrame(VALUES, index=pd.Index(ROWS, name="site"), columns=COLUMNS)
COUNTS = FRAME * [3, 1, 12, 7]
LONG = [(row, column) for row in ROWS for column in COLUMNS if FRAME.loc[row, column]]


class Case(NamedTuple):
    """A file, what it must be read with at once, and what the library has to ask for."""

    make: Callable[[Path], Any]
    asks: tuple[dict[str, Any], ...] = ()
    given: dict[str, Any] = {}
    rows: list[Any] = ROWS
    columns: list[Any] = COLUMNS


def text(name: str, content: str, encoding: str = "utf-8") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content.encode(encoding))
        return folder / name

    return make


def lines(head: list[Any], body: list[list[Any]], cut: str = ",") -> str:
    return "\n".join(cut.join(map(str, line)) for line in [head, *body]) + "\n"


def wide(frame: Any = FRAME, cut: str = ",", first: str = "site") -> str:
    body = [[label, *values] for label, values in zip(frame.index, frame.values, strict=True)]
    return lines([first, *frame.columns], body, cut)


def marked(one: str, zero: str) -> str:
    return wide(FRAME.map(lambda value: one if value else zero))


def sheets(name: str, **books: list[list[Any]]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        with pd.ExcelWriter(str(folder / name)) as writer:
            for sheet, content in books.items():
                pd.DataFrame(content).to_excel(writer, sheet_name=sheet, header=False, index=False)
        return folder / name

    return make


GRID: list[list[Any]] = [
    ["site", *COLUMNS],
    *[[r, *v] for r, v in zip(ROWS, VALUES.tolist(), strict=True)],
]


def merged_header(folder: Path) -> Path:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["", "Mammals"])
    for line in GRID:
        book.active.append(line)
    book.active.merge_cells("B1:E1")
    book.save(folder / "merged.xlsx")
    return folder / "merged.xlsx"


def zipped(**members: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        with zipfile.ZipFile(folder / "finds.zip", "w") as archive:
            for name, content in members.items():
                archive.writestr(name.replace("_dot_", "."), content)
        return folder / "finds.zip"

    return make


def gbif(folder: Path) -> Path:
    head = ["gbifID", "locality", "species", "occurrenceStatus"]
    body: list[list[Any]] = [[i, *pair, "PRESENT"] for i, pair in enumerate(LONG)]
    made = zipped(occurrence_dot_txt=lines(head, body, "\t"), meta_dot_xml="<archive/>")
    return made(folder)


def biom(folder: Path) -> Path:
    made = pytest.importorskip("biom").Table(sp.csr_matrix(VALUES.T), COLUMNS, ROWS)
    (folder / "finds.biom").write_text(made.to_json("test"))
    return folder / "finds.biom"


def adata() -> Any:
    made = pytest.importorskip("anndata").AnnData(sp.csr_matrix(VALUES.astype(float)))
    made.obs_names, made.var_names = ROWS, COLUMNS
    return made


def h5ad(folder: Path) -> Path:
    adata().write_h5ad(folder / "finds.h5ad")
    return folder / "finds.h5ad"


def zarr(folder: Path) -> Path:
    pytest.importorskip("zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata().write_zarr(folder / "finds.zarr")
    return folder / "finds.zarr"


def rds(folder: Path) -> Path:
    pytest.importorskip("rdata").write_rds(folder / "finds.rds", FRAME.reset_index())
    return folder / "finds.rds"


def feather(folder: Path) -> Path:
    FRAME.reset_index().to_feather(folder / "finds.feather")
    return folder / "finds.feather"


def parquet(folder: Path) -> Path:
    FRAME.to_parquet(folder / "finds.parquet")
    return folder / "finds.parquet"


def triple(folder: Path) -> Path:
    scipy.io.mmwrite(folder / "matrix.mtx", sp.coo_array(VALUES.T))
    (folder / "barcodes.tsv").write_text("\n".join(ROWS))
    (folder / "features.tsv").write_text("".join(f"ENS{c}\t{c}\tGene\n" for c in COLUMNS))
    return folder / "matrix.mtx"


def labelled_npz(folder: Path) -> Path:
    np.savez(folder / "finds.npz", X=VALUES, rows=ROWS, columns=COLUMNS)
    return folder / "finds.npz"


def compressed(folder: Path) -> Path:
    (folder / "finds.csv.gz").write_bytes(gzip.compress(wide().encode()))
    return folder / "finds.csv.gz"


def series(folder: Path) -> Any:
    return FRAME.stack()


def sets(folder: Path) -> Any:
    return {row: {c for c in COLUMNS if FRAME.loc[row, c]} for row in ROWS}


def query(folder: Path) -> Any:
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_df(FRAME.reset_index())


def graph(folder: Path) -> Any:
    nx = pytest.importorskip("networkx")
    made = nx.Graph()
    made.add_nodes_from(ROWS, bipartite=0)
    made.add_nodes_from(COLUMNS, bipartite=1)
    made.add_edges_from(LONG)
    return made


IDS = COUNTS.set_axis([1004, 17, 23])
PAIRS = [list(pair) for pair in LONG]
DATED = [[row, 1999, column] for row, column in LONG]
PER_CENT = FRAME.map(lambda value: "45%" if value else "0%")
THOUSANDS = FRAME.map(lambda value: '"1,250"' if value else "0")
GRADES = pd.DataFrame([["r", 0, "+", 0], [0, "2m", 0, 0], ["+", "r", 0, 3]], ROWS, COLUMNS)
GONE = FRAME.map(lambda value: "" if value == 0 else "x")
IN_LATIN = wide(FRAME.rename(columns={"Ursus": "Bär"}))

CASES = {
    "abundances": Case(text("a.csv", wide(COUNTS)), ({"binarize": 0},)),
    "abundances with ids first": Case(
        text("a.csv", wide(IDS, first="id")),
        ({"index": "id"}, {"binarize": 0}),
        rows=[1004, 17, 23],
    ),
    "semicolons and decimal commas": Case(
        text("a.csv", wide(COUNTS / 2, ";").replace(".", ",")), ({"binarize": 0},)
    ),
    "byte order mark": Case(text("a.csv", wide(), "utf-8-sig")),
    "UTF-16": Case(text("a.csv", wide(), "utf-16"), ({"encoding": "utf-16"},)),
    "Latin-1": Case(
        text("a.csv", IN_LATIN, "latin-1"),
        ({"encoding": "latin-1"},),
        columns=[*COLUMNS[:3], "Bär"],
    ),
    "comments above": Case(text("a.csv", "# found in 1999\n# by us\n" + wide())),
    "a title above": Case(text("a.csv", "Finds of 1999\n" + wide()), ({"skip": 1},)),
    "a title with the delimiter in it": Case(
        text("a.csv", "Finds; 1999\n" + lines(["site", "year", "genus"], DATED, ";")),
        ({"skip": 1}, {"row": "site", "column": "genus"}),
    ),
    "sep= of Excel": Case(text("a.csv", "sep=;\n" + wide(cut=";"))),
    "trailing commas": Case(text("a.csv", wide().replace("\n", ",,\n"))),
    "tabs in a .csv": Case(text("a.csv", wide(cut="\t"))),
    "bars": Case(text("a.txt", wide(cut="|"))),
    "blanks": Case(text("a.txt", wide(cut="   "))),
    "row names of R": Case(text("a.txt", wide(cut="\t").removeprefix("site\t"))),
    "Windows line ends": Case(text("a.csv", wide().replace("\n", "\r\n"))),
    "gzip": Case(compressed),
    "quoted names with commas and line breaks": Case(
        text("a.csv", wide().replace("Sansan", '"San,\nsan"')),
        rows=["San,\nsan", *ROWS[1:]],
    ),
    "twice the same label": Case(
        text("a.csv", wide().replace("Sinap", "Sansan")),
        ({"index": False}, {"drop": "site"}),
        rows=[0, 1, 2],
    ),
    "marks for not observed": Case(
        text("a.csv", wide() + "Maragheh,-9999,NA,?,\n"),
        ({"marks": {"-9999": None}},),
        rows=[*ROWS, "Maragheh"],
    ),
    "x and nothing": Case(text("a.csv", wide(GONE)), ({"marks": {"": 0}},)),
    "plus and minus": Case(text("a.csv", marked("+", "-")), ({"marks": {"-": 0}},)),
    "P and A": Case(text("a.csv", marked("P", "A")), ({"marks": {"P": 1}}, {"marks": {"A": 0}})),
    "yes and no": Case(text("a.csv", marked("Yes", "no"))),
    "TRUE and FALSE": Case(text("a.csv", marked("TRUE", "FALSE"))),
    "thousands": Case(text("a.csv", wide(THOUSANDS)), ({"binarize": 0},)),
    "per cent": Case(text("a.csv", wide(PER_CENT)), ({"binarize": 0},)),
    "grades of cover": Case(
        text("a.csv", wide(GRADES)),
        ({"marks": {"r": 1}}, {"marks": {"2m": 1}}, {"binarize": 0}),
    ),
    "columns called by numbers": Case(
        text("a.csv", wide(FRAME.set_axis([10, 20, 30, 40], axis=1))), columns=[10, 20, 30, 40]
    ),
    "dates as labels": Case(
        text("a.csv", wide(FRAME.set_axis(["2020-05-01", "2020-06-01", "2021-01-01"]))),
        rows=["2020-05-01", "2020-06-01", "2021-01-01"],
    ),
    "a list of finds": Case(
        text("a.csv", lines(["site", "genus"], PAIRS)), ({"row": "site", "column": "genus"},)
    ),
    "a list with a find twice": Case(
        text("a.csv", lines(["site", "genus"], [*PAIRS, PAIRS[0]])),
        ({"row": "site", "column": "genus"}, {"duplicates": "max"}),
    ),
    "a workbook with titles": Case(
        sheets("a.xlsx", finds=[["Finds of 1999"], [""], *GRID]), ({"skip": 2},)
    ),
    "a workbook with merged headings": Case(merged_header, ({"skip": 1},)),
    "a workbook whose first sheet is about it": Case(
        sheets("a.xlsx", about=[["These are finds"], ["ask us"]], finds=GRID),
        ({"layer": "finds"},),
    ),
    "LibreOffice": Case(sheets("a.ods", finds=GRID)),
    "Feather": Case(feather),
    "Parquet": Case(parquet),
    "zip": Case(zipped(finds_dot_csv=wide(), readme_dot_md="made by hand")),
    "zip of two tables": Case(
        zipped(a_dot_csv=wide(), b_dot_csv=wide(COUNTS)), ({"layer": "a.csv"},)
    ),
    "a download of GBIF": Case(gbif),
    "BIOM": Case(biom),
    "AnnData": Case(h5ad),
    "zarr": Case(zarr),
    "R": Case(rds),
    "three files of 10x": Case(triple),
    "npz with labels": Case(labelled_npz),
    "a series with two levels": Case(series),
    "sets by name": Case(sets),
    "a query of DuckDB": Case(query),
    "a bipartite graph": Case(graph),
}


def read(source: Any, options: dict[str, Any]) -> tuple[Any, str]:
    """The table, or what the library says of it; warnings are sentences too."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        open_it = fz.read if isinstance(source, Path) else fz.as_table
        try:
            table = open_it(source, **options)
        except fz.DataError as problem:
            return None, " ".join([*(str(each.message) for each in said), str(problem)])
    return table, " ".join(str(each.message) for each in said)


def joined(options: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    marks = {**options.get("marks", {}), **more.get("marks", {})}
    return {**options, **more, **({"marks": marks} if marks else {})}


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 50


@pytest.mark.parametrize("name", CASES)
def test_fifty_awkward_files(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    source, options = case.make(tmp_path), dict(case.given)
    for wanted in case.asks:
        table, said = read(source, options)
        assert wanted in [remedy["options"] for remedy in remedies(said)], said
        options = joined(options, wanted)
    table, said = read(source, options)
    assert table is not None, said
    found = table.select(rows=case.rows[:3], columns=case.columns)
    assert found.to_numpy().tolist() == VALUES.tolist()
    assert sorted(map(str, table.columns)) == sorted(map(str, case.columns))
    assert len(table) == len(case.rows)
