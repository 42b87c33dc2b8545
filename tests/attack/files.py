"""Files that were damaged or changed on purpose: read in full, or refused in one sentence."""

from __future__ import annotations

import io
import re
from functools import cache
from pathlib import Path

import numpy as np
from scipy import io as scipy_io
from scipy import sparse

import falsezero as fz
from falsezero.data.errors import DataError
from falsezero.data.plain_text import printable

__all__ = ["attack", "mutated"]

_X = (np.random.default_rng(0).random((12, 6)) < 0.4).astype(float)
_ROWS, _COLUMNS = [f"s{i}" for i in range(12)], [f"g{t}" for t in range(6)]
_KINDS = ("t.csv", "t.tsv", "long.csv", "t.csv.gz", "csr.npz", "coo.npz", "csc.npz", "arrays.npz")
_KINDS += ("t.npy", "t.mtx", "t.mtx.gz", "t.parquet", "t.h5ad")
_SHARE = np.array([4, 2, 4, 2, 2, 2, 2, 2, 2, 5, 2, 2, 0.4])


@cache
def originals() -> dict[str, bytes]:
    """One small sound file of each kind."""
    import gzip

    lines = ["site," + ",".join(_COLUMNS)]
    lines += [f"{row}," + ",".join(f"{v:g}" for v in X) for row, X in zip(_ROWS, _X, strict=True)]
    wide = "\n".join(lines).encode()
    pairs = [f"{_ROWS[i]},{_COLUMNS[t]}" for i, t in np.argwhere(_X)]
    found = {
        "t.csv": wide,
        "t.tsv": wide.replace(b",", b"\t"),
        "long.csv": "\n".join(["site,genus", *pairs]).encode(),
        "t.csv.gz": gzip.compress(wide),
    }
    for kind in (sparse.csr_array, sparse.coo_array, sparse.csc_array):
        stream = io.BytesIO()
        sparse.save_npz(stream, kind(_X), compressed=kind is sparse.coo_array)
        found[f"{kind(_X).format}.npz"] = stream.getvalue()
    stream = io.BytesIO()
    np.savez(stream, X=_X, rows=_ROWS, columns=_COLUMNS)
    found["arrays.npz"] = stream.getvalue()
    stream = io.BytesIO()
    np.save(stream, _X)
    found["t.npy"] = stream.getvalue()
    stream = io.BytesIO()
    scipy_io.mmwrite(stream, sparse.coo_array(_X))
    found["t.mtx"] = stream.getvalue()
    found["t.mtx.gz"] = gzip.compress(found["t.mtx"])
    return found | _frames()


def _frames() -> dict[str, bytes]:
    import tempfile

    import anndata
    import pandas as pd

    frame = pd.DataFrame(_X, _ROWS, _COLUMNS)
    stream = io.BytesIO()
    frame.to_parquet(stream)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.h5ad"
        anndata.AnnData(sparse.csr_matrix(_X), frame[[]], frame.T[[]]).write_h5ad(path)
        return {"t.parquet": stream.getvalue(), "t.h5ad": path.read_bytes()}


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """The same bytes after a few random changes."""
    changed = bytearray(data)
    for _ in range(1 + rng.integers(3)):
        at, size = int(rng.integers(len(changed) or 1)), int(rng.integers(1, 9))
        kind = rng.integers(7)
        if kind == 0 and changed:
            changed[min(at, len(changed) - 1)] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            changed[at:at] = rng.bytes(size)
        elif kind == 2:
            del changed[at : at + size]
        elif kind == 3:
            changed[at:at] = changed[at : at + 50 * size]
        elif kind == 4 and rng.random() < 0.3:
            del changed[at:]
        elif kind == 5:
            changed[at : at + size] = bytes([int(rng.choice([0, 255, 32, 34, 44]))]) * size
        else:
            numbers = list(re.finditer(rb"\d+", bytes(changed)))
            if numbers:
                one = numbers[rng.integers(len(numbers))]
                words = [b"99999999999", b"-1", b"1e400", b"9" * 5000, b"nan", b"0", b"1.5"]
                changed[one.start() : one.end()] = words[rng.integers(len(words))]
    return bytes(changed)


def attack(seed: int, folder: Path) -> None:
    """Read one changed file."""
    rng = np.random.default_rng([seed, 2])
    name = str(rng.choice(_KINDS, p=_SHARE / _SHARE.sum()))
    path = folder / name
    path.write_bytes(mutated(originals()[name], rng))
    layout = {"row": "site", "column": "genus"} if name == "long.csv" else {}
    try:
        table = fz.read(path, kind="real", **layout)
    except DataError as refusal:
        if len(str(refusal)) > 2000 or "\n" in str(refusal):
            raise AssertionError(f"no sentence: {str(refusal)[:300]}") from refusal
        return
    values = table.values
    assert len(values.indptr) == table.shape[0] + 1
    assert not len(values.indices) or 0 <= values.indices.min() <= values.indices.max()
    assert not len(values.indices) or values.indices.max() < table.shape[1]
    assert printable(repr(table)) == repr(table)
