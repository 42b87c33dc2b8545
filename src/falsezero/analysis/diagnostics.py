"""Whether Markov chains agree: R-hat and effective sample sizes, and draws for ArviZ.

A sampler keeps `chains_`, one dict per chain: the name of a quantity and its values at the kept
draws, draw by draw. Quantities do not depend on how components are numbered, because chains number
them differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from falsezero.data.errors import import_for
from falsezero.data.read import as_table
from falsezero.data.tidy import Tidy

if TYPE_CHECKING:
    import xarray

__all__ = ["diagnose", "stack_chains", "to_datatree"]

_EXTRA = "falsezero[mcmc]"


def stack_chains(model: Any) -> dict[str, np.ndarray]:
    """Each quantity of a sampled model as one array, chains x draws (x what it has).

    Chains that were stopped early are cut to the shortest.

    >>> class Sampled:
    ...     chains_ = [{"log_joint": np.array([-3.0, -2.0])}, {"log_joint": np.array([-2.5])}]
    >>> stack_chains(Sampled())["log_joint"].shape
    (2, 1)
    """
    chains: Sequence[Mapping[str, Any]] | None = getattr(model, "chains_", None)
    if not chains:
        raise ValueError(
            f"{type(model).__name__} has no chains to diagnose; models that sample keep them, "
            'such as BinaryMatrixFactorization and DiscretePCA(inference="gibbs").'
        )
    names = [name for name in chains[0] if all(name in chain for chain in chains)]
    length = min(len(np.atleast_1d(chain[name])) for chain in chains for name in names)
    return {
        name: np.stack([np.atleast_1d(np.asarray(chain[name]))[:length] for chain in chains])
        for name in names
    }


def diagnose(model: Any) -> Tidy:
    """Rank-normalised split R-hat and effective sample size of every recorded quantity.

    Chains have mixed when R-hat is below 1.01 and the effective sizes are above 100 a chain
    (Vehtari et al., 2021). A quantity that never moves has no R-hat (NaN).

    Parameters
    ----------
    model : a fitted model that samples
        Of quantities with several numbers per draw, each number is judged and the worst is given.

    Returns
    -------
    Tidy
        Columns quantity, mean, sd, r_hat, ess_bulk, ess_tail.
    """
    check_is_fitted(model)
    return Tidy.from_rows(
        [_judged(name, values) for name, values in stack_chains(model).items()],
        columns=["quantity", "mean", "sd", "r_hat", "ess_bulk", "ess_tail"],
    )


def _judged(name: str, values: np.ndarray) -> dict[str, Any]:
    array_stats = _array_stats()
    flat = values.reshape(*values.shape[:2], -1).astype(float)
    moving = np.flatnonzero(np.ptp(flat.reshape(-1, flat.shape[2]), axis=0) > 0)
    row: dict[str, Any] = {"quantity": name, "mean": float(flat.mean()), "sd": float(flat.std())}
    # Split chains need two draws per half.
    if not len(moving) or flat.shape[1] < 4:
        return row | {"r_hat": np.nan, "ess_bulk": np.nan, "ess_tail": np.nan}
    several = [flat[:, :, i] for i in moving]
    # Chains that stand still at different values have an infinite R-hat, and that is the answer.
    with np.errstate(divide="ignore", invalid="ignore"):
        r_hat = max(array_stats.rhat(v) for v in several)
        bulk = min(array_stats.ess(v, method="bulk") for v in several)
        tail = min(array_stats.ess(v, method="tail", prob=(0.05, 0.95)) for v in several)
    return row | {"r_hat": float(r_hat), "ess_bulk": float(bulk), "ess_tail": float(tail)}


def _array_stats() -> Any:
    with import_for("diagnose", "arviz-stats", _EXTRA):
        from arviz_stats.base import array_stats
    return array_stats


def to_datatree(model: Any, table: Any = None) -> xarray.DataTree:
    """Draws as an `xarray.DataTree`, which is what ArviZ takes.

    Group "posterior" holds what `chains_` keeps but log densities, which are in "sample_stats"
    ("lp" is the log joint). With a table, "observed_data" holds its cells.

    Parameters
    ----------
    model : a fitted model that samples
    table : table, optional
        The table that the model was fitted on.
    """
    check_is_fitted(model)
    with import_for("to_datatree", "xarray", _EXTRA):
        import xarray
    groups: dict[str, dict[str, Any]] = {"posterior": {}, "sample_stats": {}}
    for name, values in stack_chains(model).items():
        extra = tuple(f"{name}_dim_{i}" for i in range(values.ndim - 2))
        group = "sample_stats" if name.startswith("log_") else "posterior"
        shown = "lp" if name == "log_joint" else name
        groups[group][shown] = (("chain", "draw", *extra), values)
    sets = {name: _with_positions(xarray.Dataset(values)) for name, values in groups.items()}
    if table is not None:
        known = as_table(table)
        sets["observed_data"] = xarray.Dataset(
            {"cells": (("row", "column"), known.to_numpy())},
            coords={"row": known.rows, "column": known.columns},
        )
    tree = xarray.DataTree.from_dict(sets)
    tree.attrs["creation_library"] = "falsezero"
    tree.attrs["model"] = type(model).__name__
    return tree


def _with_positions(dataset: Any) -> Any:
    """Number the chains and draws, as ArviZ expects."""
    sizes = dict(dataset.sizes)
    return dataset.assign_coords({d: np.arange(sizes[d]) for d in ("chain", "draw") if d in sizes})
