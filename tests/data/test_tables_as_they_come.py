"""Files as spreadsheets, R and QIIME write them: all of them are one small table."""

import os
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

import falsezero as fz
from falsezero.data.errors import DataError
from falsezero.data.read import as_table, read
from falsezero.data.table import Table

NAN = np.nan
VALUES = np.array([[1, 0, 1, 0], [0, 0, 1, 1], [1, 1, 0, 0]])
ROWS, COLUMNS = ["Sansan", "Rudabánya", "Pikermi"], ["Sus", "Felis", "Équus", "Bos"]
TABLE = Table(VALUES, ROWS, COLUMNS)


def lines(one="1", zero="0", cut=",", corner="site", end="", values=VALUES):
    """The table as text, with marks of one's own."""
    body = [[row, *(one if v else zero for v in r)] for row, r in zip(ROWS, values, strict=True)]
    return [cut.join(fields) + end for fields in [[corner, *COLUMNS], *body]]


def written(path, text, encoding="utf-8"):
    path.write_bytes(("\n".join(text) + "\n").encode(encoding))
    return path


@pytest.mark.parametrize(
    "marks",
    [("x", "0"), ("X", "no"), ("+", "0"), ("present", "absent"), ("Yes", "No"), ("T", "F"),
     ("TRUE", "FALSE"), ("Y", "N"), ("\N{CHECK MARK}", "0"), ("1.0", "0.0")],
)  # fmt: skip
def test_marks_that_people_use(tmp_path, marks):
    assert read(written(tmp_path / "t.csv", lines(*marks))) == TABLE


def test_marks_of_ones_own(tmp_path):
    path = written(tmp_path / "t.csv", lines("P", "-"))
    assert read(path, marks={"P": 1, "-": 0}) == TABLE
    path = written(tmp_path / "t.csv", lines("1", "-9999"))
    assert read(path, marks={"-9999": None}) == TABLE.with_values(np.where(VALUES, 1, NAN))
    with pytest.raises(DataError, match="marks= must give a number for 'P', or None"):
        read(path, marks={"P": "present"})


def test_an_empty_cell_is_asked_about_where_there_is_no_zero(tmp_path):
    path = written(tmp_path / "t.csv", lines("x", ""))
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path} has empty cells but not a single 0: pass marks={{'': 0}} if an empty cell means "
        "absent, or marks={'': None} if nobody looked there."
    )
    assert read(path, marks={"": 0}) == TABLE
    assert read(path, marks={"": None}).n_missing == 6
    assert read(written(path, lines("1", "NA"))).n_missing == 6
    assert read(written(path, [*lines("1.5", ""), "Can Llobateres,0.5,0.5,0.5,0.5"]),
                kind="real").n_missing == 6  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        lines(cut=";"),
        lines("1,0", "0,0", cut=";"),
        lines(end=",,,"),
        [lines()[0], *(f"{line}," for line in lines()[1:])],
        [*lines(), ",,,,", ",,,,"],
        ["# exported today, by hand", "# twice", *lines()],
        ["sep=;", *lines(cut=";")],
        ["# Constructed from biom file", *lines(cut="\t", corner="#OTU ID")],
        lines(cut="   ", corner="site"),
        lines(cut="|"),
    ],
)
def test_spreadsheets_and_their_ways(tmp_path, text):
    assert read(written(tmp_path / "t.txt", text)) == TABLE


def test_a_column_without_a_name_shifts_nothing(tmp_path):
    for last in ("1", "note"):
        path = written(
            tmp_path / "t.csv", [lines()[0] + ",", *(f"{x},{last}" for x in lines()[1:])]
        )
        with pytest.raises(DataError, match=r"t\.csv line 2 has 6 fields where the header has 5"):
            read(path)


def test_what_r_writes(tmp_path):
    def quoted(texts):
        return [f'"{text}"' for text in texts]

    body = [[f'"{row}"', *map(str, v)] for row, v in zip(ROWS, VALUES.tolist(), strict=True)]
    csv = [",".join(line) for line in [['""', *quoted(COLUMNS)], *body]]
    assert read(written(tmp_path / "t.csv", csv)) == TABLE
    table = [" ".join(line) for line in [quoted(COLUMNS), *body]]
    assert read(written(tmp_path / "t.txt", table)) == TABLE
    numbered = [table[0], *(f'"{i}" ' + line.split(" ", 1)[1] for i, line in enumerate(table[1:]))]
    assert read(written(tmp_path / "t.txt", numbered)) == Table(VALUES, columns=COLUMNS)


@pytest.mark.parametrize("name", ["t", "t.dat", "t.asc", "t.CSV"])
def test_text_under_any_name(tmp_path, name):
    assert read(written(tmp_path / name, lines())) == TABLE


def test_totals_dates_and_other_columns_can_be_left_out(tmp_path):
    frame = pd.DataFrame(VALUES, ROWS, COLUMNS)
    frame.loc["Total"] = frame.sum()
    frame["Total"] = frame.sum(axis=1)
    frame.insert(0, "day", ["2024-05-01", "2024-05-02", "2024-05-03", ""])
    path = tmp_path / "t.csv"
    frame.to_csv(path, index_label="site")
    assert read(path, drop=["day", "Total"]) == TABLE
    frame.insert(0, "number", [7, 9, 11, 13])
    frame.reset_index(names="site").to_csv(path, index=False)
    assert read(path, drop=["number", "day", "Total"]) == TABLE
    with pytest.raises(DataError, match="has no column or row 'total' to drop; did you mean 'To"):
        read(path, drop=["number", "day", "total"])
    whole = frame.iloc[:3][COLUMNS].reset_index(names="site").assign(day="2024-05-01")
    whole.to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", drop="day") == TABLE
    with pytest.raises(DataError, match="has no column 'dya' to drop; did you mean 'day'"):
        read(tmp_path / "t.parquet", drop="dya")
    np.savez(tmp_path / "t.npz", X=VALUES)
    with pytest.raises(DataError, match="is a matrix, but drop= belongs to text, zip"):
        read(tmp_path / "t.npz", drop="day")


def test_a_value_is_not_taken_for_the_label_of_a_row_to_drop(tmp_path):
    path = written(tmp_path / "t.csv", ["0,1", "0,1", "1,0"])
    assert read(path, drop="1") == Table([[0], [1]], columns=[0])


def test_a_title_above_the_table(tmp_path):
    path = written(tmp_path / "t.csv", ["Finds of 2024,,,,", "", *lines()])
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path} line 3 has 5 fields where the header has 1; pass skip=2 if the names of the "
        "columns stand in line 3."
    )
    assert read(path, skip=1) == TABLE
    text = [*lines()]
    text[2] = text[2].replace("0", "2", 1)
    with pytest.raises(DataError, match=r"t\.csv line 5, column 'Sus' holds 2"):
        read(written(path, ["Finds of 2024,,,,", "", *text]), skip=1)


def test_a_column_that_counts_the_rows_names_them(tmp_path):
    frame = pd.DataFrame(VALUES, columns=COLUMNS)
    frame.insert(0, "id", [101, 102, 103])
    frame.to_csv(tmp_path / "t.csv", index=False)
    numbered = Table(VALUES, [101, 102, 103], COLUMNS)
    for kind in ("binary", "count"):
        assert read(tmp_path / "t.csv", kind=kind) == numbered
        assert as_table(frame, kind=kind) == numbered
    assert read(tmp_path / "t.csv", kind="count", index=False).columns[0] == "id"
    frame["id"] = [3, 7, 4]
    with pytest.raises(DataError, match="or index='id' if that column names the rows"):
        as_table(frame)


def test_delimiters_by_name_and_wrong_ones(tmp_path):
    path = written(tmp_path / "t.csv", lines(cut="\t"))
    for said in ("tab", "\\t", "\t"):
        assert read(path, delimiter=said) == TABLE
    with pytest.raises(DataError, match="delimiter=';;' does not separate fields; give one char"):
        read(path, delimiter=";;")
    with pytest.raises(DataError, match="one field per line where fields end at ';'"):
        read(path, delimiter=";")


def test_an_encoding_that_is_not_the_files(tmp_path):
    path = written(tmp_path / "t.csv", lines())
    with pytest.raises(DataError, match="is not UTF-16 text"):
        read(path, encoding="utf-16")
    assert read(written(path, lines(), "latin-1"), encoding="latin-1") == TABLE


def test_a_threshold_must_be_a_number(tmp_path):
    with pytest.raises(DataError, match="binarize=nan is no threshold"):
        as_table(VALUES, binarize=NAN)


def test_places_in_anndata_files(tmp_path):
    anndata = pytest.importorskip("anndata")
    found = pd.DataFrame(3.0 * VALUES, ROWS, COLUMNS)
    anndata.AnnData(found).write_h5ad(tmp_path / "t.h5ad")
    with pytest.raises(DataError, match=r"t\.h5ad row 'Sansan', column 'Sus' holds 3"):
        read(tmp_path / "t.h5ad")


def test_empty_cells_of_a_frame_are_asked_about_too():
    presences = pd.DataFrame(np.where(VALUES, 1, NAN), ROWS, COLUMNS)
    with pytest.warns(UserWarning, match=r"not a single 0; if an empty cell means absent, fill it"):
        assert as_table(presences).n_missing == 6
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        as_table(presences)
    assert caught[0].filename == __file__
    assert as_table(presences.fillna(0)) == TABLE


def test_models_say_which_column_of_a_frame_is_text():
    frame = pd.DataFrame(VALUES, columns=COLUMNS).assign(site=ROWS)
    with pytest.raises(ValueError, match=r"'Sansan' where.*\(arguments of falsezero\.as_table\)"):
        fz.BernoulliMixture(1).fit(frame)


def test_addresses_pipes_and_wrong_marks(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", "-", "/dev/null"):
        with pytest.raises(DataError, match="is no file that can be read twice; save it to one"):
            read(path)
    with pytest.raises(DataError, match="is an address, not a file; download it first"):
        read("https://example.org/finds.csv")
    with pytest.raises(DataError, match=r"marks= says what texts mean, as in \{'P': 1\}, but is"):
        read(written(tmp_path / "t.csv", lines()), marks=["P"])


def test_a_packed_file_is_unpacked_by_its_name(tmp_path):
    for name in ("t.zip", "t.csv"):
        with zipfile.ZipFile(tmp_path / name, "w") as packed:
            packed.writestr("t.csv", "\n".join(lines()))
    assert read(tmp_path / "t.zip").equals(read(written(tmp_path / "plain.csv", lines())))
    with pytest.raises(DataError, match=r"t\.csv is a zip archive; give it a name that ends in"):
        read(tmp_path / "t.csv")
