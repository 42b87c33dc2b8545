"""Predicted values of unobserved cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.base.capabilities import capabilities_of
from falsezero.data.numbers import checked_count
from falsezero.data.read import as_table
from falsezero.data.tidy import Tidy

__all__ = ["impute"]

_ROWS_OF_CELLS = 4_000_000


def impute(model: Any, table: Any, *, n: int | None = None) -> Tidy:
    """What a fitted model expects in the cells that were not observed (NaN).

    Row weights are inferred from the observed cells of the row. For a model of zeros and ones
    `expected` is the probability of a one.

    Parameters
    ----------
    model : fitted model with `transform` and `reconstruct`
        It must leave unobserved cells out of its likelihood, as AspectBernoulli, BinaryICA and
        LogisticPCA do.
    table : Table, array, sparse array or data frame
    n : int, optional
        List only so many cells, those nearest to certainty, zeros or ones.

    Returns
    -------
    Tidy with columns row, column, expected
        In the order of the table, or the most certain first where `n` is given.

    Examples
    --------
    >>> import numpy as np, falsezero as fz
    >>> votes = fz.datasets.make_aspect_bernoulli(60, 8, 2, random_state=0).table.to_numpy()
    >>> votes[3, 5] = np.nan
    >>> model = fz.AspectBernoulli(2, random_state=0).fit(votes)
    >>> found = impute(model, votes)
    >>> found["row"].tolist(), found["column"].tolist(), bool(0 < found["expected"][0] < 1)
    ([3], [5], True)
    """
    if not capabilities_of(model).leaves_cells_out:
        raise TypeError(
            f"{type(model).__name__} treats an unobserved cell as a zero, so it cannot predict it; "
            "fit AspectBernoulli, BinaryICA or LogisticPCA."
        )
    most = None if n is None else checked_count(n, "n")
    labelled = as_table(table, kind="real")
    unknown = labelled.missing.tocoo()
    rows, columns = unknown.coords
    expected = np.empty(len(rows))
    affected = np.unique(rows)
    step = max(1, _ROWS_OF_CELLS // labelled.shape[1])
    for start in range(0, len(affected), step):
        some = affected[start : start + step]
        mask = np.isin(rows, some)
        picked = np.zeros(labelled.shape[0], dtype=bool)
        picked[some] = True
        predicted = np.asarray(model.reconstruct(labelled.select(rows=picked)))
        expected[mask] = predicted[np.searchsorted(some, rows[mask]), columns[mask]]
    order = np.lexsort((columns, rows))
    if most is not None:
        order = np.lexsort((columns, rows, -np.abs(expected - 0.5)))[:most]
    return Tidy(
        row=labelled.rows[rows[order]],
        column=labelled.columns[columns[order]],
        expected=expected[order],
    )
