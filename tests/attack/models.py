"""Model files written by a careful forger: checksums fit, contents do not."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import falsezero as fz
from falsezero.data.errors import FileReadError
from falsezero.io.models import _digest

__all__ = ["attack", "forged"]

_X = (np.random.default_rng(0).random((15, 6)) < 0.4).astype(float)


@cache
def originals() -> list[bytes]:
    """A few sound model files."""
    import tempfile

    models = [
        fz.AspectBernoulli(2, random_state=0, max_iter=5),
        fz.BinaryICA(2, inference="vb", random_state=0, max_iter=5),
        fz.NoisyOr(2, random_state=0, max_iter=5),
        fz.PLSA(2, random_state=0, max_iter=5),
        fz.LogisticPCA(2, random_state=0, max_iter=5),
        fz.DiscretePCA(2, random_state=0, max_iter=5),
        fz.BernoulliMixture(2, random_state=0, max_iter=5),
        fz.BinaryMatrixFactorization(2, 2, random_state=0, n_chains=1, warmup=2, n_draws=2),
        fz.RepeatedLooks(2, random_state=0, max_iter=5),
        fz.StackedAverage([("common", fz.Margins()), ("ease", fz.EASE())], random_state=0),
        fz.EASE(),
    ]
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in models:
            looks = np.stack([_X, 1 - _X], axis=1) if isinstance(model, fz.RepeatedLooks) else _X
            fz.save(model.fit(looks), Path(folder) / "m.fz")
            found.append((Path(folder) / "m.fz").read_bytes())
    return found


def forged(data: bytes, rng: np.random.Generator) -> bytes:
    """The file with its description or one of its arrays changed, and a checksum that fits."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {n: archive.read(n) for n in archive.namelist() if n != "sha256"}
    arrays = sorted(name for name in members if name.endswith(".npy"))
    if rng.random() < 0.3 and arrays:
        name = arrays[rng.integers(len(arrays))]
        stream = io.BytesIO()
        np.save(stream, _other(np.load(io.BytesIO(members[name])), rng))
        members[name] = stream.getvalue()
        meta = json.loads(members["meta.json"])
        array = np.load(io.BytesIO(members[name]))
        declared = {"dtype": array.dtype.str, "shape": list(array.shape)}
        meta["arrays"][int(name.removesuffix(".npy"))] = declared
    else:
        meta = _changed(json.loads(members["meta.json"]), rng)
    members["meta.json"] = json.dumps(meta).encode()
    members["sha256"] = _digest(members).encode()
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return whole.getvalue()


def _other(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    kind = rng.integers(5)
    if kind == 0 and array.dtype.kind == "f":
        return np.full_like(array, rng.choice([np.nan, np.inf, -1.0, 1e300]))
    if kind == 1:
        return array[: len(array) // 2] if array.ndim else array
    if kind == 2:
        return np.concatenate([array, array]) if array.ndim else array
    return array.ravel() if kind == 3 else array.T.copy()


def _changed(node: Any, rng: np.random.Generator) -> Any:
    """The same JSON with one of its leaves replaced, dropped or moved."""
    if isinstance(node, dict) and node:
        key = list(node)[rng.integers(len(node))]
        if rng.random() < 0.1:
            return {other: value for other, value in node.items() if other != key}
        return {**node, key: _changed(node[key], rng)}
    if isinstance(node, list) and node and rng.random() < 0.9:
        at = int(rng.integers(len(node)))
        return [*node[:at], _changed(node[at], rng), *node[at + 1 :]]
    words = [None, -1, 0, 3, 10**9, 1e308, "x", "__class__", [], {}, [[1]], True]
    return words[rng.integers(len(words))]


def attack(seed: int, folder: Path) -> str:
    """Load one forged model: refused, or a model that does no harm when it is used."""
    rng = np.random.default_rng([seed, 3])
    path = folder / "forged.fz"
    path.write_bytes(forged(originals()[rng.integers(len(originals()))], rng))
    try:
        model = fz.load(path)
    except FileReadError as refusal:
        if "\n" in str(refusal):
            raise AssertionError(str(refusal)) from refusal
        return "refused"
    assert type(model).__module__.startswith("falsezero.")
    assert vars(model).get("checkpoint") is None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            repr(model)
            model.reconstruct(_X)
        except (MemoryError, RecursionError, SystemError) as problem:
            raise AssertionError(f"too much was asked for: {problem!r}") from problem
        except Exception:
            # Nonsense in, an error out: the process lives, and nothing ran.
            return "loaded, of no use"
    return "loaded and used"
