"""Archives, workbooks, stores and lists that mean harm or ask for too much: a sentence each."""

import bz2
import gzip
import json
import lzma
import struct
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import falsezero as fz
from falsezero.data.errors import DataError, FileReadError

ASKS = r"asks for [\d.]+ GB of memory; .* pass max_gigabytes=\d+"


def edited(path, member, change):
    """The archive with one of its members changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members[member] = change(members[member])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("XFD1048576", "asks for too much memory: it cannot be read as a spreadsheet"),
        ("ZZ60000", ASKS),
        ("ZZZZZZZZZZ99999999999", "damaged or cut off"),
    ],
)
def test_two_cells_far_apart_do_not_take_all_memory(tmp_path, last, message):
    """In calamine they end the process, or raise what is no Exception."""
    pytest.importorskip("python_calamine")
    path = tmp_path / "t.xlsx"
    pd.DataFrame(np.eye(3), list("abc"), list("xyz")).to_excel(path)
    row = last.lstrip("XFDZ").encode()
    far = {b'r="D4"': f'r="{last}"'.encode(), b'<row r="4"': b'<row r="%s"' % row}

    def change(sheet):
        for old, new in far.items():
            assert old in sheet
            sheet = sheet.replace(old, new)
        return sheet

    edited(path, "xl/worksheets/sheet1.xml", change)
    with pytest.raises(FileReadError, match=message):
        fz.read(path)


def test_a_spreadsheet_with_a_broken_directory_is_refused(tmp_path):
    pytest.importorskip("python_calamine")
    path = tmp_path / "t.xlsx"
    pd.DataFrame(np.eye(3)).to_excel(path)
    path.write_bytes(path.read_bytes().replace(b"PK\x01\x02", b"PK\x01\x07", 1))
    with pytest.raises(FileReadError, match="damaged or cut off"):
        fz.read(path)


@pytest.mark.parametrize("name", ["..", "a/..", "\x00.csv", f"{'x' * 300}.csv"])
def test_odd_names_in_an_archive_are_refused(tmp_path, name):
    path = tmp_path / "t.zip"
    member = zipfile.ZipInfo("t.csv")
    member.filename = name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "site,a\nx,1\ny,0\n")
    with pytest.raises(DataError, match=r"cannot be unpacked|holds no table"):
        fz.read(path)
    with pytest.raises(DataError, match=r"cannot be unpacked|holds no table"):
        fz.read(path, layer=name)


def test_names_in_an_archive_lead_nowhere_else(tmp_path):
    path, outside = tmp_path / "in" / "t.zip", tmp_path / "evil.csv"
    path.parent.mkdir()
    for name in ("../evil.csv", str(outside), "a/../../evil.csv"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, "site,a,b\nx,1,0\ny,0,1\n")
        assert fz.read(path).shape == (2, 2)
        assert not outside.exists()


def test_damage_in_an_archive_is_told(tmp_path):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", "site,a,b\n" + "x,1,0\ny,0,1\n" * 50)
    data = path.read_bytes()
    path.write_bytes(data[:45] + b"\xff\xff\xff" + data[48:])
    with pytest.raises(FileReadError, match="cannot be unpacked"):
        fz.read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("t.csv", "site,a,b\nx,1,0\ny,0,zero\n")
    with pytest.raises(DataError, match=r"t\.zip \(t\.csv\) line 3"):
        fz.read(path)


def test_occurrences_in_another_encoding_are_told(tmp_path):
    text = "gbifID\tlocality\tspecies\n1\tSansan\tSus\n2\tM\xe2con\tSus\n"
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("occurrence.txt", text.encode("latin-1"))
    with pytest.raises(FileReadError, match="line 3 is not UTF-8 text"):
        fz.read(tmp_path / "t.zip")
    assert "M\xe2con" in fz.read(tmp_path / "t.zip", encoding="latin-1").rows


def r_vector(length):
    """The beginning of what R saves: a vector of doubles."""
    header = b"X\n" + struct.pack(">iiii", 3, 0x40301, 0x30500, 5) + b"UTF-8"
    return header + struct.pack(">ii", 14, length)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_objects_of_r_may_not_ask_for_everything(tmp_path, monkeypatch, pack):
    pytest.importorskip("rdata")
    monkeypatch.setattr("falsezero.data.limits.FREE", 10**6)
    path = tmp_path / "t.rds"
    path.write_bytes(pack(r_vector(10**6) + bytes(8 * 10**6)))
    with pytest.raises(FileReadError, match=ASKS):
        fz.read(path)


def test_a_range_of_r_may_not_ask_for_everything(tmp_path):
    """R saves 1:2000000000 as three numbers."""
    pytest.importorskip("rdata")

    def symbol(name):
        return struct.pack(">iii", 1, 0x40009, len(name)) + name

    pair, end = struct.pack(">i", 2), struct.pack(">i", 254)
    about = pair + symbol(b"compact_intseq") + pair + symbol(b"base")
    about += pair + struct.pack(">iii", 13, 1, 13) + end
    state = struct.pack(">iiddd", 14, 3, 2e9, 1, 1)
    path = tmp_path / "t.rds"
    path.write_bytes(r_vector(0)[:-8] + struct.pack(">i", 238) + about + state + end)
    with pytest.raises(FileReadError, match=ASKS):
        fz.read(path)


@pytest.fixture
def store(tmp_path):
    anndata = pytest.importorskip("anndata")
    pytest.importorskip("zarr")
    path = tmp_path / "t.zarr"
    found = anndata.AnnData(np.eye(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found.write_zarr(path)
    assert fz.read(path).n_ones == 3
    return path


def described(store, array, **change):
    """Change the description of an array, wherever a store keeps it."""
    path = store / array / ".zarray"
    content = json.loads(path.read_text()) | change
    path.write_text(json.dumps(content))
    together = store / ".zmetadata"
    if together.exists():
        all_of_them = json.loads(together.read_text())
        all_of_them["metadata"][f"{array}/.zarray"] = content
        together.write_text(json.dumps(all_of_them))


def test_a_zarr_store_may_not_ask_for_everything(store):
    described(store, "X", shape=[10**6, 10**6])
    with pytest.raises(FileReadError, match=ASKS):
        fz.read(store)
    described(store, "X", shape=[3, 3], chunks=[10**6, 10**6])
    with pytest.raises(FileReadError, match=ASKS):
        fz.read(store)


def test_a_zarr_store_may_not_hold_python_objects(store):
    codecs = [{"id": "vlen-utf8"}, {"id": "pickle", "protocol": 5}]
    described(store, "obs/_index", filters=codecs, compressor=None)
    with pytest.raises(FileReadError, match="holds Python objects"):
        fz.read(store)


@pytest.mark.parametrize("part", ["X/0.0", "X"])
def test_a_zarr_store_may_not_lead_elsewhere(store, tmp_path, part):
    moved = tmp_path / "elsewhere"
    (store / part).rename(moved)
    (store / part).symlink_to(moved)
    with pytest.raises(FileReadError, match="from elsewhere by a link"):
        fz.read(store)


def test_labels_that_are_no_text_are_refused(tmp_path):
    """Four bytes of an array can be any number; Python's texts cannot."""
    junk = np.full(2, -1).view("<U2")[:2]
    np.savez(tmp_path / "t.npz", X=np.eye(2), rows=junk, columns=np.array(["a", "b"]))
    with pytest.raises(DataError, match="row labels hold bytes that are no text"):
        fz.read(tmp_path / "t.npz")


@pytest.mark.parametrize("numbers", [[2**70, 1], [-(2**63) - 1, 0], np.array([2**63, 1], "u8")])
def test_numbers_beyond_64_bits_are_labels_all_the_same(numbers):
    assert fz.Table([[1], [0]], rows=numbers).rows.tolist() == [str(n) for n in numbers]


def test_a_list_of_looks_may_not_ask_for_everything(tmp_path):
    lines = [f"s{i},v{i},g{i}" for i in range(9000)]
    path = tmp_path / "looks.csv"
    path.write_text("\n".join(["site,visit,genus", *lines]))
    with pytest.raises(DataError, match=r"9000 rows and 9000 looks, which together take 1\.3 GB"):
        fz.read(path, row="site", column="genus", look="visit")
    path.write_text("\n".join(["site,visit,genus", *lines[:700]]))
    assert fz.read(path, row="site", column="genus", look="visit").shape == (700, 700, 700)
    with pytest.raises(DataError, match=r"700 rows, 700 looks and 700 columns.*0\.0 GB"):
        fz.read(path, row="site", look="visit", column="genus", max_gigabytes=0.01)


def test_a_list_of_looks_with_odd_numbers_and_names(tmp_path):
    path = tmp_path / "looks.csv"
    path.write_text(f"site,visit,genus\n{'9' * 5000},1,Sus\n2,1,Sus\n")
    found = fz.read(path, row="site", column="genus", look="visit")
    assert found.rows.tolist() == ["9" * 5000, "2"]
    path.write_text("site,visit,site\na,1,b\n")
    with pytest.raises(DataError, match="uses the column name 'site' twice"):
        fz.read(path, row="site", column="site", look="visit")


@pytest.mark.parametrize("ending", ["npy", "npz", "parquet"])
def test_damaged_shards_are_told(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    if ending == "npy":
        np.save(path, np.eye(30))
    elif ending == "npz":
        sp.save_npz(path, sp.csr_array(np.eye(30)))
    else:
        pytest.importorskip("pyarrow")
        pd.DataFrame(np.eye(30), columns=[f"c{i}" for i in range(30)]).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileReadError, match=f"t.{ending} is damaged or cut off"):
        fz.Shards([path])
    path.unlink()
    with pytest.raises(FileNotFoundError, match=f"no file .*t.{ending}"):
        fz.Shards([path])


def test_shards_with_wrong_indices_are_refused(tmp_path):
    matrix = sp.csr_array(np.eye(30))
    matrix.indices[3] = 10**6
    sp.save_npz(tmp_path / "t.npz", matrix)
    with pytest.raises(DataError, match="indices reach to 1000000"):
        fz.AspectBernoulli(2).fit(fz.Shards([tmp_path / "t.npz"]))
