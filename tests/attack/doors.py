"""The other doors, with what does not belong there: audits, repeated looks, batches, shards."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from tests.attack.files import mutated
from tests.attack.originals import COLUMNS, ROWS, X, originals
from tests.attack.tables import hostile_table

import falsezero as fz

__all__ = ["attack"]

Rng = np.random.Generator
_DEEP = ("numpy", "scipy", "pandas", "pyarrow", "numba", "anndata")


def attack(seed: int, folder: Path) -> str:
    """One door: a finite answer, or a refusal in words."""
    rng = np.random.default_rng([seed, 5])
    door = _DOORS[rng.integers(len(_DOORS))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            door(rng, folder)
        except (ValueError, TypeError) as refusal:
            if not str(refusal) or len(str(refusal)) > 2000:
                raise AssertionError(f"no sentence: {str(refusal)[:100]}") from refusal
            if _is_accident(refusal):
                raise
            return "refused"
    return "answered"


def _is_accident(refusal: Exception) -> bool:
    """Whether an error came of a line that did not mean to refuse, or from deep in NumPy."""
    import traceback

    last = traceback.extract_tb(refusal.__traceback__)[-1]
    deep = any(f"/{name}/" in last.filename for name in _DEEP)
    return deep or not (last.line or "").startswith("raise")


def _odd(rng: Rng, shape: Any) -> np.ndarray:
    """Numbers between 0 and 1, some of them spoilt."""
    array = rng.random(shape)
    if rng.random() < 0.5:
        spoilt = rng.random(shape) < rng.choice([0.05, 1.0])
        array[spoilt] = rng.choice([np.nan, np.inf, -1.0, 2.0, 0.0, 1.0, 1e300, 1e-320])
    return array


def _table(rng: Rng) -> fz.Table:
    n, t = rng.choice([2, 3, 12], 2)
    values = (rng.random((n, t)) < rng.choice([0.1, 0.5, 0.9])).astype(float)
    if rng.random() < 0.4:
        values[rng.random((n, t)) < 0.2] = np.nan
    labels = [["a", "=1", "\x1b[2J", "\ud800", "", " a", "1", "01"], None][rng.integers(2)]
    rows = None if labels is None else (labels + [f"r{i}" for i in range(n)])[:n]
    return fz.Table(values, rows)


def _pairs(rng: Rng, table: fz.Table) -> Any:
    known = [(table.rows[0].item(), table.columns[0].item())]
    choices = [known, [(0, 0), (-1, 99)], known * 3, "ab", [("a",)], [], 7, np.ones((2, 2))]
    choices += [np.ones(table.shape, bool), sparse.csr_array(np.ones(table.shape)), {}, [None]]
    return choices[rng.integers(len(choices))]


def _audit(rng: Rng, folder: Path) -> None:
    table = _table(rng)
    settings: dict[str, Any] = {"probabilities": _odd(rng, table.shape).clip(0, 1)}
    if rng.random() < 0.3:
        settings["probabilities"] = _odd(rng, table.shape if rng.random() < 0.7 else (2, 2))
    if rng.random() < 0.3:
        settings["loss"] = rng.choice([0.0, 0.3, 1.0, np.nan, -1.0, 2.0, np.inf])
    elif rng.random() < 0.5:
        sides = [_odd(rng, table.shape[rng.integers(2)]), {"nobody": 0.5}, {"rows": 3}, "half"]
        sides += [{"rows": _odd(rng, table.shape[0]), "columns": _odd(rng, table.shape[1])}, -1]
        settings["detection"] = sides[rng.integers(len(sides))]
    if rng.random() < 0.3:
        settings["certain"] = _pairs(rng, table)
    audit = fz.audit(table, **settings, random_state=0)
    assert np.isfinite(np.asarray(audit.zeros["expected"], float)).all()
    for known in (audit.present, audit.again):
        if known is not None:
            values = known.of_rows(np.arange(table.shape[0]))
            assert np.isfinite(values).all(), settings
            assert ((values >= 0) & (values <= 1)).all(), settings
    repr(audit), audit.rows, audit.columns, audit.sentences, audit.ones
    if rng.random() < 0.2:
        audit.to_html(folder / "audit.html")
    if rng.random() < 0.3:
        audit.plan(int(rng.choice([1, 5, 1000])), by=str(rng.choice(["rows", "columns", "cells"])))


def _calibrate(rng: Rng, folder: Path) -> None:
    there = rng.random((40, 8)) < rng.choice([0.2, 0.6])
    first = fz.Table((there & (rng.random(there.shape) < 0.6)).astype(float))
    audit = fz.audit(first, probabilities=rng.random(there.shape), random_state=0)
    second = (there & (rng.random(there.shape) < 0.8)).astype(float)
    spoilt = [second, second[:20], second[:, :2], 1 - second, np.full_like(second, np.nan)]
    spoilt += [np.where(rng.random(second.shape) < 0.5, np.nan, second), second * 2, second * 0]
    spoilt += [fz.Table(second[:20]), fz.Table(second, rows=[f"x{i}" for i in range(40)]), None]
    spoilt += [sparse.csr_array(second), np.ma.array(second, mask=second == 1), "revisits", [[1]]]
    found = fz.calibrate(audit, revisits=spoilt[rng.integers(len(spoilt))])
    assert found.again is not None
    values = found.again.of_rows(np.arange(40))
    assert ((values >= 0) & (values <= 1)).all()
    found.select(float(rng.choice([0.05, 0.5, 0.0, 1.0, np.nan, -1.0])))
    found.plan(int(rng.choice([0, -1, 3, 10**6])))


def _looks(rng: Rng, folder: Path) -> None:
    shape = tuple(rng.choice([1, 2, 5], 3))
    values = (rng.random(shape) < 0.4).astype(float)
    if rng.random() < 0.5:
        values[rng.random(shape) < 0.3] = rng.choice([np.nan, 2.0, -1.0, np.inf, 0.5])
    forms = [values, values.tolist(), np.ma.array(values, mask=rng.random(shape) < 0.3)]
    forms += [values.astype(object), values[..., None], values[:0], values[:, :0], values[:, :, :0]]
    obj: Any = forms[rng.integers(len(forms))]
    if rng.random() < 0.3:
        import xarray as xr

        coords = {"site": ["a"] * shape[0]} if rng.random() < 0.3 else {}
        obj = xr.DataArray(values, dims=("site", "visit", "species"), coords=coords)
    named: dict[str, Any] = {}
    if rng.random() < 0.3:
        named["variables"] = {"effort": _odd(rng, shape[:2] if rng.random() < 0.7 else (3, 9))}
    if rng.random() < 0.3:
        named["observers"] = [None, ["me"] * shape[1], [[1.5]], np.full(shape[:2], "x")][
            rng.integers(4)
        ]
    looks = fz.as_looks(obj) if rng.random() < 0.5 else fz.Looks(obj, **named)
    repr(looks), looks.union(), looks.pooled()
    settings = {"max_iter": 4, "random_state": 0, "false_alarms": bool(rng.integers(2))}
    model = fz.RepeatedLooks(int(rng.integers(1, 3)), **settings).fit(looks)
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.reconstruct(looks)).all()


def _counts(rng: Rng, folder: Path) -> None:
    shape = tuple(rng.choice([1, 3, 6], 2))
    ones, looks = rng.integers(-1, 4, shape), rng.integers(0, 5, shape)
    forms: list[Any] = [looks, 3, _odd(rng, shape), [[10**18]], None, looks[:1], -1, 2.5]
    found = fz.Looks.from_counts(ones, forms[rng.integers(len(forms))])
    assert (found.ones <= found.tries).all()


def _batches(rng: Rng, folder: Path) -> None:
    kinds = (fz.AspectBernoulli, fz.BinaryICA, fz.DiscretePCA)
    model: Any = kinds[rng.integers(3)](2, random_state=0, max_iter=5)
    for _ in range(3):
        model.partial_fit(hostile_table(rng) if rng.random() < 0.5 else X)
        assert np.isfinite(model.components_).all()


def _shards(rng: Rng, folder: Path) -> None:
    ending = str(rng.choice(["npy", "npz", "parquet"]))
    source = {"npy": "t.npy", "npz": "csr.npz", "parquet": "t.parquet"}[ending]
    files = [folder / f"{i}.{ending}" for i in range(2)]
    for file in files:
        data = originals()[source]
        file.write_bytes(mutated(data, rng) if rng.random() < 0.5 else data)
    shards = fz.Shards(files)
    model = fz.AspectBernoulli(2, random_state=0, max_iter=3, prior=1.0).fit(shards)
    assert np.isfinite(model.components_).all()


def _impute(rng: Rng, folder: Path) -> None:
    model = fz.AspectBernoulli(2, random_state=0, max_iter=3, prior=1.0).fit(X)
    gaps = X.copy()
    gaps[rng.random(X.shape) < 0.3] = np.nan
    table = gaps if rng.random() < 0.5 else hostile_table(rng)
    found = fz.impute(model, table, n=[None, 3, 0, -1, 10**9, 1.5][rng.integers(6)])
    assert np.isfinite(np.asarray(found["expected"], float)).all()


def _annotate(rng: Rng, folder: Path) -> None:
    import anndata
    import pandas as pd

    table = fz.Table(X, ROWS, COLUMNS)
    model = fz.AspectBernoulli(2, random_state=0, max_iter=3, prior=1.0).fit(table)
    results = [model, fz.audit(table, probabilities=X * 0.5), fz.denoise(model, table), None]
    names = [ROWS, ROWS[::-1], [f"x{i}" for i in range(12)], ROWS[:3]][rng.integers(4)]
    genes = [COLUMNS, ["g0"] * 6, COLUMNS[:2], [f"y{i}" for i in range(6)]][rng.integers(4)]
    frames = pd.DataFrame(index=names), pd.DataFrame(index=genes)
    adata = anndata.AnnData(np.zeros((len(names), len(genes))), *frames)
    fz.to_anndata(results[rng.integers(4)], adata, key=str(rng.choice(["falsezero", "", "a/b"])))


def _surveyed(rng: Rng, folder: Path) -> None:
    path = folder / "long.csv"
    path.write_bytes(originals()["long.csv"])
    forms = [_pairs(rng, fz.Table(X, ROWS, COLUMNS)), hostile_table(rng), folder / "nothing.csv"]
    if rng.random() < 0.5:
        other = folder / "surveyed.csv"
        other.write_bytes(mutated(originals()["long.csv"], rng))
        forms = [other]
    fz.read(path, row="site", column="genus", surveyed=forms[rng.integers(len(forms))])


def _listed_looks(rng: Rng, folder: Path) -> None:
    path, other = folder / "looks.csv", folder / "effort.csv"
    path.write_bytes(originals()["looks.csv"])
    other.write_bytes(mutated(originals()["looks.csv"], rng))
    words: list[Any] = [None, "site", "genus", "visit", "nothing"]
    named = {name: words[rng.integers(5)] for name in ("observer", "value")}
    named["variables"] = [(), "visit", ("visit", "visit"), ("site",)][rng.integers(4)]
    surveyed = [None, other, path][rng.integers(3)]
    fz.read(
        path, row="site", column=words[rng.integers(3)], look="visit", surveyed=surveyed, **named
    )


_DOORS: list[Callable[[Rng, Path], None]] = [
    _audit,
    _audit,
    _calibrate,
    _looks,
    _looks,
    _counts,
    _batches,
    _shards,
    _impute,
    _annotate,
    _surveyed,
    _listed_looks,
]
