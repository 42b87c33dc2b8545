"""Every broken input is answered with one sentence that names the place and the remedy."""

import builtins
import gzip
import re
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from falsezero.data.errors import (
    DataError,
    FileReadError,
    MissingFileError,
    MissingPackageError,
)
from falsezero.data.read import read

LONG = {"row": "site", "column": "genus"}
MTX = b"%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1\n2 3 1\n"
PAIRS = "pass row={!r} and column={!r} if every line is one find"
NO_LABEL = (
    "; pass drop='' to leave such lines out (a row that was searched in vain stays if surveyed= "
    "lists it)."
)
ONES = "pass binarize=0 (or a higher threshold) to make values above it ones, or "

TEXT_FILES = [
    ("", {}, "{} is empty."),
    ("\n\n", {}, "{} is empty."),
    ("site,a\n", {}, "{} has a header but no rows below it."),
    (
        "site\nx\ny\n",
        {},
        "{} has one field per line where fields end at ','; pass delimiter= to say what separates "
        "them.",
    ),
    (
        "site,a,b\nx,1,0\ny,3,1\n",
        {},
        "{} line 3, column 'a' holds 3, but a binary table needs 0 or 1: "
        + ONES
        + "kind='count' to keep counts, or drop='a' to leave that column out.",
    ),
    (
        "site,a,b\nx,1,0\ny,0.5,1\n",
        {},
        "{} line 3, column 'a' holds 0.5, but a binary table needs 0 or 1: "
        + ONES
        + "kind='real' to keep any number, or drop='a' to leave that column out.",
    ),
    (
        "id,a\n1,1\n2,0\n",
        {},
        "{} line 3, column 'id' holds 2, but a binary table needs 0 or 1: "
        + ONES
        + "kind='count' to keep counts, or index='id' if that column names the rows, or "
        "drop='id' to leave that column out.",
    ),
    (
        "site,a\nx,-1\n",
        {"kind": "count"},
        "{} line 2, column 'a' holds -1, but counts are whole numbers from 0 up: pass kind='real' "
        "to keep any number, or marks={{'-1': None}} if it means not observed, or drop='a' to "
        "leave that column out.",
    ),
    (
        "site,a\nx,1\n\ny,inf\n",
        {},
        "{} line 4, column 'a' is infinite; leave a cell that was not observed empty (NaN).",
    ),
    (
        "site,a,b\nx,1,0\ny,1,abc\n",
        {},
        "{} line 3, column 'b' holds 'abc' where a number belongs; "
        + PAIRS.format("site", "a")
        + ".",
    ),
    (
        "id,a,b\n1,1,0\n5,1,abc\n",
        {},
        "{} line 3, column 'b' holds 'abc' where a number belongs; "
        + PAIRS.format("id", "a")
        + ", or index='b' if that column names the rows.",
    ),
    (
        "site,a,b,c,d\nx,1,0,0,P\n",
        {},
        "{} line 2, column 'd' holds 'P' where a number belongs; pass marks={{'P': 1}} if it means "
        "present (0: absent, None: not observed), or drop='d' to leave that column out.",
    ),
    (
        "site,a,b,c,day\nx,1,0,0,2024-05-01\n",
        {},
        "{} line 2, column 'day' holds '2024-05-01' where a number belongs; pass drop='day' to "
        "leave that column out.",
    ),
    (
        "a,site,b\n1,x,abc\n",
        {"index": "site"},
        "{} line 2, column 'b' holds 'abc' where a number belongs; "
        + PAIRS.format("a", "site")
        + ".",
    ),
    (
        "a,b\n1,0\nz,1\n",
        {"index": False},
        "{} line 3, column 'a' holds 'z' where a number belongs; " + PAIRS.format("a", "b") + ".",
    ),
    ("site,a,b\nx,1,0\ny,1,0,1\n", {}, "{} line 3 has 4 fields where the header has 3."),
    (
        "site,a,b\nx,1,0\ny,1\n",
        {},
        "{} line 3 has 2 fields where the header has 3; the file may be cut off there.",
    ),
    (
        'site,a,b\nx,1,0\n"y,1,0\nz,0,0\n',
        {},
        "{} line 3 opens a quote that is never closed properly; the file may be cut off, or the "
        "quote needs doubling.",
    ),
    (
        "site,a\nx,1\ny,1\nx,0\n",
        {},
        "{} line 4 repeats the row label 'x' of line 2; give every row a name of its own, or pass "
        "index=False if the first column holds values.",
    ),
    ("site,a\nx,1\n,1\n", {}, "{} line 3 has no row label in column 'site'."),
    ("site,a,,b\nx,1,0,1\n", {}, "{} line 1 has no column name in field 3."),
    (
        "0,1,0\n0,1,1\n",
        {},
        "{} line 1 uses the column name '0' twice; give every column a name of its own, or pass "
        "header=False if that line holds values.",
    ),
    (
        "site,a\nx,1\n",
        {"index": "sit"},
        "{} has no column 'sit'; did you mean 'site'?",
    ),
    (
        "Site,taxon\nx,1\n",
        {"row": "place", "column": "taxon"},
        "{} has no column 'place'; its columns: 'Site', 'taxon'",
    ),
    ("SITE,genus\nx,a\n", LONG, "{} has no column 'site'; did you mean 'SITE'?"),
    (
        "site,genus\nx,a\ny,b\nx,a\n",
        LONG,
        "{0} line 4 lists the pair ('x', 'a') again (first: {0} line 2); keep one of them, or pass "
        "duplicates='max' to count the pair once or duplicates='sum' to add them up.",
    ),
    (
        "site,genus,n\nx,a,1\ny,b,4\n",
        {**LONG, "value": "n"},
        "{} line 3, pair ('y', 'b'), holds 4, but a binary table needs 0 or 1: "
        + ONES
        + "kind='count' to keep counts.",
    ),
    (
        "site,genus,n\nx,a,1\ny,b,many\n",
        {**LONG, "value": "n"},
        "{} line 3, column 'n' holds 'many' where a number belongs; leave a value that was not "
        "observed empty.",
    ),
    ("site,genus\nx,a\n,b\n", LONG, "{} line 3 has no label in column 'site'" + NO_LABEL),
    ("site,genus\nx,a\ny, \n", LONG, "{} line 3 has no label in column 'genus'" + NO_LABEL),
    (
        "site,genus\nx,a\ny\n",
        LONG,
        "{} line 3 has 1 field where the header has 2; the file may be cut off there.",
    ),
    ("site,genus\n", LONG, "{} has a header but no rows below it."),
    (
        "site,genus\nx,a\n",
        {"row": "site"},
        "A long table needs both row= and column=, but only row= was given; "
        "name the column for column= too.",
    ),
    (
        "site,a\nx,1\n",
        {"value": "a"},
        "value= belongs to a long table; pass row= and column= with it.",
    ),
    ("site,a\nx,1\n", {"kind": "counts"}, "kind='counts' is not known; did you mean 'count'?"),
    (
        "site,genus\nx,a\n",
        {**LONG, "duplicates": "drop"},
        "duplicates='drop' is not known; choose one of: 'error', 'max', 'sum'",
    ),
    (
        "site,a\nx,1\n",
        {"encoding": "utf8000"},
        "encoding='utf8000' is not known; did you mean 'utf-8'?",
    ),
]


@pytest.mark.parametrize(("text", "options", "sentence"), TEXT_FILES)
def test_text_files(tmp_path, text, options, sentence):
    path = tmp_path / "finds.csv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read(path, **options)
    assert str(caught.value) == sentence.format(path)


CUT = "{} is damaged or cut off: it is not a complete "
BYTES = [
    ("a.csv", "site,a\nx,1\ny\xe9,1\n".encode("latin-1"), "{} line 3 is not UTF-8 text; save it as "
     "UTF-8 or pass encoding=, such as encoding='latin-1'."),
    ("a.csv", "a,b\n1,0\n".encode("utf-16"), "{} is UTF-16 text; pass encoding='utf-16'."),
    ("a.csv", b"PK\x00\x01\x02", "{} holds binary data, not text; check its extension."),
    ("a.csv.gz", gzip.compress(b"a,b\n" + b"1,0\n" * 9, mtime=0)[:-12], CUT + "gzip file."),
    ("a.csv.gz", b"not gzip", CUT + "gzip file."),
    ("a.mtx", b"hello", "{} line 1 is damaged or cut off: it is not a complete MatrixMarket file."),
    ("a.mtx", MTX[:-6], CUT + "MatrixMarket file."),
    ("a.mtx", MTX[:-2],
     "{} line 4 is damaged or cut off: it is not a complete MatrixMarket file."),
    ("a.mtx", MTX.replace(b"2 3 1", b"2 9 1"),
     "{} line 4 is damaged or cut off: it is not a complete MatrixMarket file."),
    ("a.mtx.gz", gzip.compress(MTX, mtime=0)[:-9], CUT + "MatrixMarket file."),
    ("a.npz", b"", CUT + ".npz file."),
    ("a.npz", b"garbage", CUT + ".npz file."),
    ("a.npy", b"\x93NUMPY\x01", CUT + ".npy file."),
    ("a.parquet", b"PAR1 and then nothing", CUT + "Parquet file."),
    ("a.h5ad", b"garbage", CUT + ".h5ad file."),
    ("a.xlsx", b"PK\x03\x04...", CUT + "spreadsheet file."),
    ("a.xls", b"\xd0\xcf\x11\xe0", CUT + "spreadsheet file."),
    ("a.csv", b"PK\x03\x04...", "{} is a zip archive; give it a name that ends in .zip, or .xlsx "
     "for a workbook."),
    ("a.zip", b"PK\x03\x04...", "{} is damaged, or locked with a password: its contents cannot be "
     "unpacked."),
    ("a.csv", b"%PDF-1.4", "{} is a PDF document; ask its authors for the table as CSV."),
    ("a.csv", b"<!DOCTYPE html>", "{} is an HTML or XML page; save the table as CSV."),
    ("a.npz.gz", b"x", CUT + "gzip file."),
    ("a.csv", b"\x1f\x8b", "{} is compressed (gzip); give it a name that ends in .gz, or unpack "
     "it."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "sentence"), BYTES)
def test_damaged_files(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value) == sentence.format(path)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_files_cut_off_anywhere(tmp_path):
    path = tmp_path / "t.npz"
    for save in (
        lambda: np.savez_compressed(path, X=np.eye(30), rows=np.arange(30)),
        lambda: sp.save_npz(path, sp.csr_array(np.eye(30))),
    ):
        save()
        whole = path.read_bytes()
        for size in range(0, len(whole), 37):
            path.write_bytes(whole[:size])
            with pytest.raises(FileReadError, match=re.escape(str(path))):
                read(path)


def test_parquet_cut_off(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame(np.eye(4, dtype=int), columns=list("abcd")).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileReadError, match="damaged or cut off"):
        read(path)


def test_a_damaged_member_of_an_archive(tmp_path):
    path = tmp_path / "t.npz"
    np.savez_compressed(path, X=np.random.default_rng(0).random((50, 50)) < 0.5)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 20] = b"\xff" * 20
    path.write_bytes(content)
    with pytest.raises(FileReadError, match="damaged or cut off"):
        read(path)


def test_pickles_are_not_loaded(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(2), rows=np.array(["a", "b"], dtype=object))
    with pytest.raises(FileReadError) as caught:
        read(tmp_path / "t.npz")
    assert str(caught.value) == (
        f"{tmp_path / 't.npz'} holds Python objects (pickle), which are not loaded; "
        "save numbers and text arrays only."
    )


def test_npz_with_impossible_indices(tmp_path):
    matrix = sp.csr_array(np.eye(3))
    matrix.indices[0] = 99
    sp.save_npz(tmp_path / "t.npz", matrix)
    with pytest.raises(FileReadError, match="damaged or cut off"):
        read(tmp_path / "t.npz")


def test_an_npy_file_with_the_wrong_extension(tmp_path):
    np.save(tmp_path / "t.npy", np.eye(2))
    (tmp_path / "t.npy").rename(tmp_path / "t.npz")
    with pytest.raises(FileReadError, match=r"not a complete \.npz file"):
        read(tmp_path / "t.npz")


def test_npz_without_x(tmp_path):
    np.savez(tmp_path / "t.npz", a=np.eye(2), b=np.eye(2))
    with pytest.raises(DataError, match=r"has no array named 'X'; its arrays: 'a', 'b'\.$"):
        read(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", X=np.array([["a"]]))
    with pytest.raises(DataError, match=r"t\.npz holds str\d* entries where numbers belong\.$"):
        read(tmp_path / "t.npz")


def test_places_in_matrix_files(tmp_path):
    np.savez(tmp_path / "t.npz", X=[[1, 5]], columns=["a", "b"])
    with pytest.raises(DataError, match=r"t\.npz row 0, column 'b' holds 5, but a binary table"):
        read(tmp_path / "t.npz")
    with pytest.raises(DataError, match="is a matrix, but row= and column= belong to long tables"):
        read(tmp_path / "t.npz", row="a", column="b")


def test_files_that_cannot_be_opened(tmp_path, monkeypatch):
    (tmp_path / "finds.csv").write_text("a\n1\n")
    with pytest.raises(MissingFileError) as missing:
        read(tmp_path / "find.csv")
    wrong = tmp_path / "find.csv"
    assert str(missing.value) == f"There is no file {wrong}; did you mean 'finds.csv'?"
    assert isinstance(missing.value, FileNotFoundError)
    with pytest.raises(FileNotFoundError) as nowhere:
        read(tmp_path / "no" / "such.csv")
    assert str(nowhere.value) == f"There is no file {tmp_path / 'no' / 'such.csv'}."
    with pytest.raises(FileReadError) as folder:
        read(tmp_path)
    assert str(folder.value) == f"{tmp_path} is a folder; name a file in it."

    def refuse(*args, **kwargs):
        raise PermissionError("secret")

    monkeypatch.setattr(builtins, "open", refuse)
    with pytest.raises(OSError, match=r"finds\.csv may not be read: permission denied\.$"):
        read(tmp_path / "finds.csv")


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match="needs pyarrow: pip install 'falsezero"):
        read(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("t.feather", "pyarrow", "arrow"),
        ("t.h5ad", "anndata", "anndata"),
        ("t.xlsx", "python_calamine", "excel"),
        ("t.rds", "rdata", "r"),
        ("t.biom", "h5py", "biom"),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_installs_it(
    name, module, extra, tmp_path, monkeypatch
):
    (tmp_path / name).write_bytes(b"\x89HDF")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError) as problem:
        read(tmp_path / name)
    assert isinstance(problem.value, ImportError)
    assert str(problem.value).startswith(f"{tmp_path / name}, a")
    assert str(problem.value).endswith(f": pip install 'falsezero[{extra}]'.")
