"""Files that were damaged or changed on purpose: read in full, or refused in one sentence."""

from __future__ import annotations

import io
import re
import shutil
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.attack.originals import LAYOUTS, originals

import falsezero as fz
from falsezero.data.errors import DataError
from falsezero.data.plain_text import printable

__all__ = ["attack", "mutated", "put"]

_ZIPPED = (".npz", ".zip", ".xlsx", ".ods", ".zarr")
_SLOW = {"t.h5ad": 0.15, "hdf5.biom": 0.15, "t.zarr": 0.3}
"""Kinds that take a process or many small files each."""


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


def _inside(data: bytes, rng: np.random.Generator) -> bytes:
    """The archive with one of its members changed, packed anew, its checksums in order."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = list(members)[rng.integers(len(members))]
    change = rng.integers(12)
    if change == 0:
        del members[name]
    elif change == 1:
        members = {
            _other_name(each, rng) if each == name else each: d for each, d in members.items()
        }
    else:
        members[name] = mutated(members[name], rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in members.items():
            archive.writestr(each, content)
    return stream.getvalue()


def _other_name(name: str, rng: np.random.Generator) -> str:
    end = name.rsplit("/", 1)[-1]
    words = [f"../../{end}", f"/{end}", f"..\\{end}", "..", f"{'x' * 300}{end}", f"a\x1b[2J{end}"]
    return str(rng.choice([*words, f"{name}/", "C:\\t.csv", "con.csv"]))


def changed(name: str, rng: np.random.Generator) -> bytes:
    """The bytes of a changed file of some kind."""
    data = originals()[name]
    deep = name.endswith(".zarr") or (name.endswith(_ZIPPED) and rng.random() < 0.6)
    return _inside(data, rng) if deep else mutated(data, rng)


def put(path: Path, data: bytes) -> None:
    """Write a file, or a folder that is packed in a zip."""
    if path.suffix != ".zarr":
        path.write_bytes(data)
        return
    shutil.rmtree(path, ignore_errors=True)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            # As somebody would make such a folder; names that lead out of it cannot be there.
            safe = path.joinpath(*[p[:100] for p in name.split("/") if p not in ("", "..", ".")])
            if not safe.exists() and not any(p.is_file() for p in safe.parents):
                safe.parent.mkdir(parents=True, exist_ok=True)
                safe.write_bytes(archive.read(name))


def attack(seed: int, folder: Path) -> str:
    """Read one changed file."""
    rng = np.random.default_rng([seed, 2])
    names = list(originals())
    share = np.array([_SLOW.get(name, 1.0) for name in names])
    name = str(rng.choice(names, p=share / share.sum()))
    path = folder / name
    put(path, changed(name, rng))
    before = sorted(each.name for each in folder.parent.iterdir())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = fz.read(path, **LAYOUTS.get(name, {"kind": "real"}))
    except DataError as refusal:
        if len(str(refusal)) > 2000 or "\n" in str(refusal):
            raise AssertionError(f"no sentence: {str(refusal)[:300]}") from refusal
        return "refused"
    finally:
        path.unlink() if path.is_file() else shutil.rmtree(path)
    assert sorted(each.name for each in folder.parent.iterdir()) == before, "a file elsewhere"
    _check(found)
    return "read"


def _check(found: Any) -> None:
    """What was read is a table, or looks, that holds together."""
    assert printable(repr(found)) == repr(found)
    if isinstance(found, fz.Looks):
        assert (found.ones <= found.tries).all()
        return
    values = found.values
    assert len(values.indptr) == found.shape[0] + 1
    assert not len(values.indices) or 0 <= values.indices.min() <= values.indices.max()
    assert not len(values.indices) or values.indices.max() < found.shape[1]
