"""Add results to the AnnData object that the table came from."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.analysis.noise import Denoised
from falsezero.base.factor_model import FactorModel
from falsezero.data.errors import DataError
from falsezero.data.table import Table
from falsezero.data.validate import column_names

__all__ = ["to_anndata"]


def to_anndata(result: Any, adata: Any, *, key: str = "falsezero") -> Any:
    """Put an audit, a fitted model or a denoised table into an AnnData object, and return it.

    Cells and genes are matched by name; those that the result does not know get NaN. As scanpy's
    functions do, this changes `adata` in place.

    ===========  ==================================================================================
    an audit     ``layers[key]``: how often a one is expected; ``obs[key + "_expected"]`` and
                 ``obs[key + "_surprising"]``, ``var[...]`` likewise: sums over zeros;
                 ``uns[key]``: the answer in sentences
    a model      ``obsm["X_" + key]``: row weights; ``varm[key]``: components
    a Denoised   ``layers[key]``: probability of a one without the noise
    ===========  ==================================================================================

    Parameters
    ----------
    result : Audit, fitted model or Denoised
    adata : AnnData
        Rows are observations, columns are variables, named as in the table.
    key : str, default="falsezero"

    Examples
    --------
    >>> import anndata, numpy as np, falsezero as fz
    >>> adata = anndata.AnnData((np.random.default_rng(0).random((30, 8)) < 0.4).astype(float))
    >>> model = fz.AspectBernoulli(2, random_state=0).fit(fz.as_table(adata))
    >>> fz.to_anndata(model, adata).obsm["X_falsezero"].shape
    (30, 2)
    """
    if hasattr(result, "expected") and hasattr(result, "zeros"):
        _put_audit(result, adata, key)
    elif isinstance(result, Denoised):
        adata.layers[key] = _aligned(result.probability, adata)
    elif isinstance(result, FactorModel):
        _put_model(result, adata, key)
    else:
        raise TypeError(
            f"to_anndata takes an audit, a fitted model or a denoised table, not a "
            f"{type(result).__name__}."
        )
    return adata


def _put_audit(audit: Any, adata: Any, key: str) -> None:
    adata.layers[key] = _aligned(audit.expected.to_table(), adata)
    for frame, side, tidy in (
        (adata.obs, adata.obs_names, audit.rows),
        (adata.var, adata.var_names, audit.columns),
    ):
        at = _positions(tidy[tidy.columns[0]], side)
        for name in ("expected", "surprising"):
            frame[f"{key}_{name}"] = _taken(np.asarray(tidy[name], dtype=float), at)
    adata.uns[key] = {"sentences": list(audit.sentences)}


def _put_model(model: Any, adata: Any, key: str) -> None:
    weights = getattr(model, "row_weights_", None)
    if weights is None or len(weights) != adata.n_obs:
        raise DataError(
            f"The model was fitted to {0 if weights is None else len(weights)} rows, but the "
            f"AnnData object has {adata.n_obs}; pass the object it was fitted to."
        )
    at = _positions(column_names(model), adata.var_names)
    adata.obsm[f"X_{key}"] = np.asarray(weights)
    adata.varm[key] = _taken(np.asarray(model.components_.T), at)


def _aligned(table: Table, adata: Any) -> np.ndarray:
    rows = _positions(table.rows, adata.obs_names)
    columns = _positions(table.columns, adata.var_names)
    return _taken(_taken(table.to_numpy(), rows).T, columns).T


def _positions(labels: Any, names: Any) -> np.ndarray:
    """Where each name stands among the labels; -1 for those that are not there."""
    lookup = {str(label): position for position, label in enumerate(np.asarray(labels).tolist())}
    found = np.array([lookup.get(str(name), -1) for name in names], dtype=int)
    if (found < 0).all():
        raise DataError(
            f"No name of the AnnData object, such as {str(names[0])!r}, is in the result, whose "
            f"labels are like {str(labels[0])!r}."
        )
    return found


def _taken(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    taken = np.array(values[at], dtype=float)
    taken[at < 0] = np.nan
    return taken
