"""Files that are damaged, mean harm or ask for too much: refused in a sentence, and quickly."""

import gzip
import io
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import falsezero as fz
from falsezero.data import labels
from falsezero.data.cells import is_number
from falsezero.data.errors import DataError, FileReadError, quote
from falsezero.data.formats import _probe

ASKS = r"asks for [\d.]+ GB of memory; .* pass max_gigabytes=\d+"


@pytest.mark.parametrize(
    "content",
    [
        "%%MatrixMarket matrix coordinate real general\n99999 99999 9999999999\n1 1 1\n",
        "%%MatrixMarket matrix coordinate real general\n% so\n\n9999999999 9 1\n1 1 1\n",
        "%%MatrixMarket matrix array real general\n999999 999999\n1\n",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_matrix_market_file_may_not_ask_for_everything(tmp_path, content, packed):
    path = tmp_path / ("t.mtx.gz" if packed else "t.mtx")
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    with pytest.raises(FileReadError, match=ASKS):
        fz.read(path)


@pytest.mark.parametrize("end", ["1 1 \0\n2 2 1\0\0\n", "1 1 1\n2 2 1,,,,,,,,"])
def test_junk_does_not_reach_the_matrix_market_reader(tmp_path, end):
    """In a process of its own: scipy's reader ends it."""
    path = tmp_path / "t.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n3 3 2\n{end}")
    program = f"import falsezero as fz; fz.read({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "is damaged or cut off" in done.stderr.splitlines()[-1]


def save_parts(path, **parts):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **parts)
    path.write_bytes(buffer.getvalue())
    return path


def test_sparse_archives_may_not_ask_for_everything(tmp_path):
    one = np.ones(1)
    start = np.zeros(1, dtype=int)
    coo = {"row": start, "col": start, "data": one, "format": b"coo"}
    path = save_parts(tmp_path / "t.npz", **coo, shape=np.array([10**11, 3]))
    with pytest.raises(FileReadError, match=ASKS):
        fz.read(path)
    bomb = save_parts(tmp_path / "b.npz", X=np.zeros((1000, 150_000)))
    with pytest.raises(FileReadError, match=ASKS):
        fz.read(bomb)
    with pytest.raises(FileReadError, match=ASKS):
        fz.read(path, max_gigabytes=2)
    small = save_parts(tmp_path / "s.npz", **coo, shape=np.array([4, 3]))
    assert fz.read(small).n_ones == 1
    with pytest.raises(FileReadError, match=ASKS):
        fz.read(small, max_gigabytes=1e-8)


def test_an_array_must_be_as_long_as_it_says(tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.eye(3))
    longer = buffer.getvalue().replace(b"(3, 3)", b"(9999999, 99999)".ljust(6))
    longer = longer.replace(b" " * 10 + b"\n", b"\n", 1)
    (tmp_path / "t.npy").write_bytes(longer)
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X.npy", longer)
    for name in ("t.npy", "t.npz"):
        with pytest.raises(FileReadError, match="damaged or cut off"):
            fz.read(tmp_path / name)


def test_parquet_may_not_ask_for_everything(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ones = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000_000, np.int8)), pa.array([1]))
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({f"c{i}": ones.cast(pa.int64()) for i in range(8)}), path)
    assert path.stat().st_size < 1e6
    with pytest.raises(FileReadError, match=ASKS):
        fz.read(path)


def test_packed_text_may_not_ask_for_everything(tmp_path, monkeypatch):
    monkeypatch.setattr("falsezero.data.limits.FREE", 10**6)
    monkeypatch.setattr("falsezero.data.limits.EXPANSION", 1)
    long_line, many = tmp_path / "l.csv.gz", tmp_path / "m.csv.gz"
    long_line.write_bytes(gzip.compress(b"a,b\n" + b"1" * 10**6))
    many.write_bytes(gzip.compress(b"a,b\n" + b"0,1\n" * 100_000))
    full = tmp_path / "f.csv.gz"
    full.write_bytes(gzip.compress(b",".join([b"c%d" % i for i in range(1000)]) + b"\n"
                                   + (b",".join([b"1"] * 1000) + b"\n") * 100))  # fmt: skip
    for path in (long_line, many, full):
        with pytest.raises(FileReadError, match=ASKS):
            fz.read(path)
    assert fz.read(many, max_gigabytes=1).shape == (100_000, 2)


def test_a_huge_field_is_named(tmp_path):
    (tmp_path / "t.csv").write_text(f"site,a,b\n{'x' * 200_000},1,0\n")
    with pytest.raises(FileReadError, match="line 2 has a field of more than 131072 characters"):
        fz.read(tmp_path / "t.csv")


def test_one_long_label_does_not_widen_all_others(tmp_path, monkeypatch):
    monkeypatch.setattr(labels, "_WIDEST", 10**6)
    names = [*map(str, range(5000)), "a" * 20_000]
    with pytest.raises(DataError, match=r"label 'aa[a…]+' has 20000 characters.* shorten it"):
        fz.Table(np.ones((len(names), 2)), rows=names)
    lines = ["site,x,y", *(f"s{name},1,0" for name in names)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with pytest.raises(DataError, match="has 20001 characters"):
        fz.read(tmp_path / "t.csv")


def test_numbers_are_parsed_in_linear_time():
    """Backtracking took minutes; this takes no time at all, and pytest would wait."""
    assert not is_number("1" * 200_000 + "x")
    assert is_number("1" * 200_000)
    assert [is_number(t) for t in ("1.", ".5", "1.5e3", ".", "1.2.3", "+inf")] == [
        True, True, True, False, False, True,
    ]  # fmt: skip


def test_messages_shorten_what_they_quote(tmp_path):
    wide, text = "c" * 50_000, "z" * 60_000
    (tmp_path / "t.csv").write_text(f"site,{wide},b,d,e\nx,{text},0,1,1\n")
    with pytest.raises(DataError) as refusal:
        fz.read(tmp_path / "t.csv")
    assert len(str(refusal.value)) < 1000
    with pytest.raises(DataError, match="There is no row labelled") as refusal:
        fz.Table([[1]], rows=["a" * 50_000]).row("9" * 50_000)
    assert len(str(refusal.value)) < 1000
    assert len(quote("\x00" * 100_000)) <= 80


@pytest.fixture
def annotated(tmp_path):
    anndata = pytest.importorskip("anndata")
    path = tmp_path / "t.h5ad"
    X = sp.csr_matrix(np.eye(6))
    obs = pd.DataFrame(index=[f"c{i}" for i in range(6)])
    anndata.AnnData(X, obs).write_h5ad(path)
    return path


def test_annotated_data_is_read_from_one_file_only(annotated, tmp_path):
    import h5py

    np.arange(36.0).tofile(tmp_path / "secret")
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["data"] = np.ones(6)
    assert fz.read(annotated).shape == (6, 6)
    original = annotated.read_bytes()

    def external_link(file):
        del file["X/data"]
        file["X/data"] = h5py.ExternalLink("other.h5", "/data")

    def external_storage(file):
        del file["X"]
        file.create_dataset("X", (6, 6), "f8", external=[(str(tmp_path / "secret"), 0, 288)])

    def virtual(file):
        layout = h5py.VirtualLayout((6,), "f8")
        layout[:] = h5py.VirtualSource(tmp_path / "other.h5", "data", (6,))
        del file["X/data"]
        file.create_virtual_dataset("X/data", layout)

    for tamper in (external_link, external_storage, virtual):
        annotated.write_bytes(original)
        with h5py.File(annotated, "r+") as file:
            tamper(file)
        with pytest.raises(FileReadError, match=r"takes '/X.*' from another file"):
            fz.read(annotated)


def test_annotated_data_may_not_ask_for_everything(annotated):
    import h5py

    with h5py.File(annotated, "r+") as file:
        file.create_dataset("layers/huge", (10**7, 10**6), "f8", chunks=(1000, 1000))
    with pytest.raises(FileReadError, match=ASKS):
        fz.read(annotated)


def test_an_endless_loop_in_the_reader_ends(annotated, tmp_path, monkeypatch):
    endless = tmp_path / "_probe_hdf5.py"
    endless.write_text("while True: pass")
    monkeypatch.setattr(_probe, "_FOLDER", endless.parent)
    monkeypatch.setattr(_probe, "_SECONDS", 0.5)
    with pytest.raises(FileReadError, match="damaged or cut off"):
        fz.read(annotated)


def test_a_zip_without_a_proper_end_is_refused(tmp_path):
    path = tmp_path / "t.npz"
    sp.save_npz(path, sp.csr_array(np.eye(3)))
    data = path.read_bytes()
    path.write_bytes(data.replace(b"PK\x01\x02", b"PK\x01\x07", 1))
    with pytest.raises(FileReadError, match="damaged or cut off"):
        fz.read(path)


def test_a_matrix_market_file_may_end_without_an_end_of_line(tmp_path):
    path = tmp_path / "t.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n2 2 1")
    assert fz.read(path).n_ones == 2


def test_parquet_with_spoilt_metadata_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1, 0]}, ["x", "y"]).to_parquet(path)
    path.write_bytes(path.read_bytes().replace(b'"index_columns"', b'"index_col\xff\xfes"'))
    with pytest.raises(FileReadError, match="damaged or cut off"):
        fz.read(path)
