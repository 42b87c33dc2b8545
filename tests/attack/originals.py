"""One small sound file of every kind that can be read, as bytes, all of the same table."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tempfile
import zipfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io as scipy_io
from scipy import sparse

__all__ = ["LAYOUTS", "X", "originals"]

X = (np.random.default_rng(0).random((12, 6)) < 0.4).astype(float)
ROWS, COLUMNS = [f"s{i}" for i in range(12)], [f"g{t}" for t in range(6)]

LAYOUTS: dict[str, dict[str, Any]] = {
    "long.csv": {"row": "site", "column": "genus"},
    "long.parquet": {"row": "site", "column": "genus"},
    "looks.csv": {"row": "site", "column": "genus", "look": "visit"},
    "looks.parquet": {"row": "site", "column": "genus", "look": "visit"},
    "t.rda": {"layer": "finds"},
}
"""How to read the files that are not wide tables."""


@cache
def originals() -> dict[str, bytes]:
    """Name of a file to its bytes; a folder (zarr) is a zip of what is in it."""
    wide, pairs = _wide(), [f"{ROWS[i]},{COLUMNS[t]}" for i, t in np.argwhere(X)]
    looks = [f"{pair},{visit}" for visit in (1, 2) for pair in pairs]
    occurrences = ["gbifID\tlocality\tspecies\toccurrenceStatus"]
    occurrences += [f"{n}\t{pair.replace(',', chr(9))}\tPRESENT" for n, pair in enumerate(pairs)]
    return {
        "t.csv": wide,
        "t.tsv": wide.replace(b",", b"\t"),
        "long.csv": "\n".join(["site,genus", *pairs]).encode(),
        "looks.csv": "\n".join(["site,genus,visit", *looks]).encode(),
        "t.csv.gz": gzip.compress(wide),
        "t.zip": _zipped({"data/t.csv": wide, "readme.md": b"by hand"}),
        "gbif.zip": _zipped(
            {"occurrence.txt": "\n".join(occurrences).encode(), "meta.xml": b"<a>"}
        ),
        "t.rds": _r_object(),
        "t.rda": b"RDX3\n" + _r_object(as_variable=True),
        **_arrays(),
        **_frames(pairs, looks),
        **_annotated(),
        **_biom(),
    } | {"packed.rds": gzip.compress(_r_object())}


def _wide() -> bytes:
    lines = ["site," + ",".join(COLUMNS)]
    lines += [f"{row}," + ",".join(f"{v:g}" for v in x) for row, x in zip(ROWS, X, strict=True)]
    return "\n".join(lines).encode()


def _zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def _arrays() -> dict[str, bytes]:
    found = {}
    for kind in (sparse.csr_array, sparse.coo_array, sparse.csc_array):
        stream = io.BytesIO()
        sparse.save_npz(stream, kind(X), compressed=kind is sparse.coo_array)
        found[f"{kind(X).format}.npz"] = stream.getvalue()
    stream = io.BytesIO()
    np.savez(stream, X=X, rows=ROWS, columns=COLUMNS)
    found["arrays.npz"] = stream.getvalue()
    stream = io.BytesIO()
    np.save(stream, X)
    found["t.npy"] = stream.getvalue()
    stream = io.BytesIO()
    scipy_io.mmwrite(stream, sparse.coo_array(X))
    found["t.mtx"] = stream.getvalue()
    found["t.mtx.gz"] = gzip.compress(found["t.mtx"])
    return found


def _frames(pairs: list[str], looks: list[str]) -> dict[str, bytes]:
    import pandas as pd

    frame = pd.DataFrame(X, ROWS, COLUMNS)
    long = pd.DataFrame([pair.split(",") for pair in pairs], columns=["site", "genus"])
    visits = pd.DataFrame([look.split(",") for look in looks], columns=["site", "genus", "visit"])
    found = {}
    for name, each in (("t", frame), ("long", long), ("looks", visits)):
        stream = io.BytesIO()
        each.to_parquet(stream)
        found[f"{name}.parquet"] = stream.getvalue()
    stream = io.BytesIO()
    frame.rename_axis("site").reset_index().to_feather(stream)
    found["t.feather"] = stream.getvalue()
    for ending, engine in (("xlsx", "openpyxl"), ("ods", "odf")):
        stream = io.BytesIO()
        frame.to_excel(stream, engine=engine)
        found[f"t.{ending}"] = stream.getvalue()
    return found


def _annotated() -> dict[str, bytes]:
    import anndata
    import pandas as pd

    frame = pd.DataFrame(X, ROWS, COLUMNS)
    adata = anndata.AnnData(sparse.csr_matrix(X), frame[[]], frame.T[[]])
    with tempfile.TemporaryDirectory() as folder:
        path, store = Path(folder) / "t.h5ad", Path(folder) / "t.zarr"
        adata.write_h5ad(path)
        found = {"t.h5ad": path.read_bytes()}
        if find_spec("zarr") is not None:
            adata.write_zarr(store)
            members = {
                str(each.relative_to(store)): each.read_bytes()
                for each in sorted(store.rglob("*"))
                if each.is_file()
            }
            found["t.zarr"] = _zipped(members)
        return found


def _biom() -> dict[str, bytes]:
    import biom
    import h5py

    made = biom.Table(sparse.csr_matrix(X.T), COLUMNS, ROWS)
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        made.to_hdf5(file, "test")
    return {"json.biom": json.dumps(json.loads(made.to_json("test"))).encode(),
            "hdf5.biom": stream.getvalue()}  # fmt: skip


def _r_object(as_variable: bool = False) -> bytes:
    """A matrix with dimnames as R's `saveRDS` writes it without compression, or as `save` does."""

    def text(word: str) -> bytes:
        return struct.pack(">ii", 0x00040009, len(word)) + word.encode()

    def texts(words: list[str]) -> bytes:
        return struct.pack(">ii", 16, len(words)) + b"".join(map(text, words))

    def pair(name: str, value: bytes) -> bytes:
        # The tag is a symbol, which is a text.
        return struct.pack(">ii", 0x0402, 1) + text(name) + value

    header = b"X\n" + struct.pack(">iiii", 3, 0x00040301, 0x00030500, 5) + b"UTF-8"
    values = struct.pack(">ii", 14 | 0x200, X.size) + X.T.astype(">f8").tobytes()
    shape = struct.pack(">iiii", 13, 2, *X.shape)
    names = struct.pack(">ii", 19, 2) + texts(ROWS) + texts(COLUMNS)
    end = struct.pack(">i", 254)
    matrix = values + pair("dim", shape) + pair("dimnames", names) + end
    return header + (pair("finds", matrix) + end if as_variable else matrix)
