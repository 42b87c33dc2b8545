"""Hostile tables in memory, through every model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import falsezero as fz
from falsezero.models import REGISTRY, model_class

__all__ = ["attack", "hostile_table"]

_SMALL = {"n_components": 2, "max_iter": 5, "n_row_features": 2, "n_column_features": 2}
_SMALL |= {"n_chains": 1, "warmup": 2, "n_draws": 2}
_ODD = (np.nan, np.inf, -np.inf, 1e308, -1.0, 0.5, 2.0, 1e-320, 2.0**53, -0.0)


def hostile_table(rng: np.random.Generator) -> Any:
    """A table of zeros and ones that may be spoilt, in a container that may be spoilt too."""
    shape = rng.choice([1, 2, 3, 7, 20], 2)
    X = (rng.random(shape) < rng.choice([0.0, 0.02, 0.3, 1.0])).astype(float)
    for _ in range(rng.integers(0, 4)):
        spoil = rng.integers(6)
        if spoil == 0:
            X[rng.random(shape) < 0.3] = np.nan
        elif spoil == 1:
            X[rng.integers(shape[0])] = rng.choice([0.0, 1.0, np.nan])
        elif spoil == 2:
            X[:, rng.integers(shape[1])] = rng.choice([0.0, 1.0, np.nan])
        elif spoil == 3 and rng.random() < 0.3:
            X[rng.integers(shape[0]), rng.integers(shape[1])] = rng.choice(_ODD)
        elif spoil == 4:
            X = np.repeat(X[:1], shape[0], axis=0)
    return _CONTAINERS[rng.integers(len(_CONTAINERS))](X, rng)


def _broken_csr(X: np.ndarray, rng: np.random.Generator) -> Any:
    matrix = sparse.csr_array(X)
    part = [matrix.indices, matrix.indptr, matrix.data][rng.integers(3)]
    if len(part):
        part[rng.integers(len(part))] = rng.choice([-1, 3, 10**6])
    return matrix


def _unsorted(X: np.ndarray, rng: np.random.Generator) -> Any:
    matrix = sparse.coo_array(np.nan_to_num(X))
    order = rng.permutation(matrix.nnz)
    coords = tuple(axis[order] for axis in matrix.coords)
    return sparse.coo_array((matrix.data[order], coords), X.shape)


def _read_only(X: np.ndarray, rng: np.random.Generator) -> Any:
    X.flags.writeable = False
    return X


def _pandas(X: np.ndarray, rng: np.random.Generator) -> Any:
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"c{t}" for t in range(X.shape[1])])
    kind = rng.integers(4)
    if kind == 0:
        return frame.convert_dtypes()
    if kind == 1:
        return frame.astype(pd.SparseDtype(float, 0.0))
    if kind == 2:
        return frame.astype(object).where(frame.notna(), None)
    frame.columns = ["same"] * X.shape[1]
    return frame


def _polars(X: np.ndarray, rng: np.random.Generator) -> Any:
    import polars as pl

    frame = pl.DataFrame({f"c{t}": X[:, t] for t in range(X.shape[1])})
    frame = frame.with_columns(pl.all().fill_nan(None))
    return frame.lazy() if rng.random() < 0.3 else frame


def _arrow(X: np.ndarray, rng: np.random.Generator) -> Any:
    import pyarrow as pa

    columns = {f"c{t}": pa.array(X[:, t], from_pandas=True) for t in range(X.shape[1])}
    return pa.table(columns)


def _xarray(X: np.ndarray, rng: np.random.Generator) -> Any:
    import xarray as xr

    dims = ("row", "column") if rng.random() < 0.8 else ("x", "x ")
    return xr.DataArray(X, dims=dims)


def _table(X: np.ndarray, rng: np.random.Generator) -> Any:
    return fz.as_table(X, kind="real")


_CONTAINERS = [
    _pandas,
    _polars,
    _arrow,
    _xarray,
    _table,
    lambda X, rng: X,
    lambda X, rng: X.astype(np.float32),
    lambda X, rng: np.asfortranarray(X)[::-1],
    lambda X, rng: X.astype(object),
    lambda X, rng: X.astype(str),
    lambda X, rng: X.tolist(),
    lambda X, rng: np.nan_to_num(X, posinf=1, neginf=0).clip(-9, 9).astype(np.int8),
    lambda X, rng: X.astype(bool),
    lambda X, rng: np.ma.array(X, mask=rng.random(X.shape) < 0.2),
    lambda X, rng: X[:0],
    lambda X, rng: X[:, :0],
    lambda X, rng: X[0],
    lambda X, rng: X[None],
    lambda X, rng: X + 1j,
    lambda X, rng: sparse.csr_array(X),
    lambda X, rng: sparse.csc_matrix(X),
    _broken_csr,
    _unsorted,
    _read_only,
]


def attack(seed: int, folder: Path) -> str:
    """Fit and use one model: answers are finite, refusals are sentences, NumPy stays silent."""
    rng = np.random.default_rng([seed, 1])
    name = sorted(REGISTRY)[rng.integers(len(REGISTRY))]
    try:
        X = hostile_table(rng)
    except fz.DataError:
        return "refused"
    kind = model_class(name)
    settings = _SMALL | {"random_state": seed, "binarize": rng.choice([None, 0.0])}
    model = kind(**{key: value for key, value in settings.items() if key in kind().get_params()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model.fit(X)
        except (ValueError, TypeError) as refusal:
            if not str(refusal):
                raise AssertionError("a refusal without words") from refusal
            return "refused"
        expected = np.asarray(model.reconstruct(X), dtype=float)
        assert np.isfinite(expected).all(), f"{name}: {expected}"
        for row in vars(model).get("history_", []):
            assert np.isfinite(row["objective"])
        if isinstance(model, fz.AspectBernoulli | fz.BernoulliMixture | fz.NoisyOr):
            assert ((expected >= 0) & (expected <= 1)).all()
            assert np.isfinite(model.score_samples(X)).all()
        if hasattr(model, "transform"):
            assert np.isfinite(model.transform(X)).all()
    return "fitted"
