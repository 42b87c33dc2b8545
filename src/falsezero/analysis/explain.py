"""Which component made which cell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from falsezero.analysis.gaps import positions_of
from falsezero.analysis.noise import check_convex
from falsezero.data.blocks import UNOBSERVED, Block
from falsezero.data.numbers import checked_count
from falsezero.data.tidy import Tidy
from falsezero.data.validate import labels_of

__all__ = ["explain"]

_CELLS = 1 << 21

_MOST = 20_000_000
"""Causes that a list may have."""


def explain(
    model: Any,
    table: Any,
    *,
    rows: Any = None,
    columns: Any = None,
    n: int = 3,
    min_posterior: float = 0.01,
) -> Tidy:
    """Every cell's posterior over causes, the strongest first (equation 4 of Bingham et al.).

    Parameters
    ----------
    model : fitted AspectBernoulli or BinaryICA
    table : Table, array, sparse array or data frame
    rows, columns : list of labels, optional
        Which cells; all of them when left out.
    n : int, default=3
        At most so many causes per cell.
    min_posterior : float, default=0.01
        Causes below this are left out.

    Returns
    -------
    Tidy with columns row, column, value, component, posterior

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(50, 10, 2, random_state=0).table
    >>> model = fz.AspectBernoulli(2, random_state=0).fit(table)
    >>> causes = fz.explain(model, table, rows=[0], columns=[3, 4])
    >>> causes.columns
    ['row', 'column', 'value', 'component', 'posterior']
    """
    check_convex(model)
    n = checked_count(n, "n", least=1)
    row_labels, column_labels = labels_of(model, table)
    wanted = positions_of(row_labels, rows)
    across = positions_of(column_labels, columns, "column")
    _check_length(len(wanted), len(across), min(n, len(model.components_)))
    parts = [tuple(np.empty(0, int) for _ in range(5))]
    for block, weights in model.weights_by_block(table):
        inside = wanted[(wanted >= block.rows.start) & (wanted < block.rows.stop)] - block.start
        step = max(1, _CELLS // max(1, len(across) * weights.shape[1]))
        for i in range(0, len(inside), step):
            some = inside[i : i + step]
            parts.append(_strongest(model, block, weights, some, across, n, min_posterior))
    at, column, value, component, posterior = (
        np.concatenate([part[i] for part in parts]) for i in range(5)
    )
    # Blocks come in the order of the table; restore the order that was asked for.
    place = np.zeros(len(row_labels), int)
    place[wanted] = np.arange(len(wanted))
    order = np.argsort(place[at], kind="stable")
    return Tidy(
        row=row_labels[at[order]],
        column=column_labels[column[order]],
        value=value[order],
        component=component[order],
        posterior=posterior[order],
    )


def _check_length(n_rows: int, n_columns: int, n: int) -> None:
    if n_rows * n_columns * n > _MOST:
        raise ValueError(
            f"The {n} strongest causes of {n_rows} x {n_columns} cells make too long a list; "
            "name some cells with rows= and columns=, or ask for fewer causes with n=."
        )


def _strongest(
    model: Any,
    block: Block,
    weights: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    n: int,
    least: float,
) -> tuple[np.ndarray, ...]:
    """The strongest causes of the observed cells of some rows of a block, cell by cell."""
    missing = None if block.missing is None else block.missing[rows][:, columns]
    part = replace(block, values=block.values[rows][:, columns], missing=missing)
    posterior, codes = model.cell_posterior(part, weights[rows], columns), part.codes
    order = np.argsort(-posterior, axis=0, kind="stable")[:n]
    ranked = np.take_along_axis(posterior, order, axis=0)
    keeps = (ranked >= least) & (codes != UNOBSERVED)
    i, t, rank = np.nonzero(keeps.transpose(1, 2, 0))
    return (
        rows[i] + block.start,
        columns[t],
        codes[i, t].astype(int),
        order[rank, i, t],
        ranked[rank, i, t],
    )
