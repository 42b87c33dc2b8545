"""One held-out likelihood for every model: hide cells or rows, fit the rest, score what was hidden.

Two numbers, both in nats, larger is better:

cells
    A share of the observed cells is turned to "not observed", the model is fitted, and each hidden
    cell is scored by the log probability that `reconstruct` gives to its true value; a row's
    weights are inferred from its visible cells alone. The mean over all hidden cells. Every model
    with `reconstruct` can be asked, and all are asked the same thing.
rows
    Whole rows are left out and scored by `score_samples`: the log probability of a new row, its
    weights integrated out (empirical Bayes for factor models, an exact sum for mixtures, a bound
    where a model's docstring says so). The mean over all rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln
from sklearn.model_selection import KFold

from falsezero.data.table import Table

__all__ = ["HiddenCells", "cell_log_probability", "hide_cells", "score_cells", "score_rows"]

FLOOR = 1e-6
"""No hidden cell counts for less than log(1e-6): one cell that a model was wrongly sure of would
otherwise outweigh all the rest."""


class HiddenCells(NamedTuple):
    """A table with some cells hidden, and what they were."""

    table: Table
    """The table with NaN where cells were hidden."""
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray


def hide_cells(table: Table, n_splits: int, seed: Any) -> list[HiddenCells]:
    """Hide every observed cell once, in `n_splits` tables.

    >>> folds = hide_cells(Table([[1, 0], [0, 1]]), n_splits=2, seed=0)
    >>> [len(fold.values) for fold in folds], [fold.table.n_missing for fold in folds]
    ([2, 2], [2, 2])
    """
    n_rows, n_columns = table.shape
    missing = table.missing.tocoo()
    observed = np.ones(n_rows * n_columns, dtype=bool)
    observed[missing.row.astype(np.int64) * n_columns + missing.col] = False
    cells = np.random.default_rng(seed).permutation(np.flatnonzero(observed))
    if len(cells) < 2 * n_splits:
        raise ValueError(
            f"A table with {len(cells)} observed cells cannot be split in {n_splits} parts; "
            "give fewer splits with n_splits=."
        )
    return [_hide(table, np.sort(part)) for part in np.array_split(cells, n_splits)]


def _hide(table: Table, cells: np.ndarray) -> HiddenCells:
    rows, columns = np.divmod(cells, table.shape[1])
    values = np.asarray(table.values[rows, columns]).ravel()
    # A stored NaN added to whatever is in the cell makes it "not observed".
    holes = sparse.csr_array((np.full(len(cells), np.nan), (rows, columns)), shape=table.shape)
    return HiddenCells(table.with_values(table.values + holes), rows, columns, values)


def cell_log_probability(
    expected: np.ndarray, values: np.ndarray, binary: bool = True
) -> np.ndarray:
    """Log probability of values where a model expects `expected`.

    Zeros and ones are Bernoulli with that probability, counts are Poisson with that mean.

    >>> np.exp(cell_log_probability(np.array([0.9, 0.9]), np.array([1.0, 0.0]))).round(3)
    array([0.9, 0.1])
    """
    if binary:
        p = np.clip(expected, FLOOR, 1 - FLOOR)
        return np.where(values > 0, np.log(p), np.log1p(-p))
    mean = np.maximum(expected, FLOOR)
    return values * np.log(mean) - mean - gammaln(values + 1)


def score_cells(model: Any, hidden: HiddenCells, binary: bool) -> tuple[np.ndarray, np.ndarray]:
    """Fit on the visible cells; total log probability and number of hidden cells, for each row."""
    model.fit(hidden.table)
    expected = _dense(model.reconstruct(hidden.table))[hidden.rows, hidden.columns]
    scores = cell_log_probability(expected, hidden.values, binary)
    n_rows = hidden.table.shape[0]
    total = np.bincount(hidden.rows, scores, minlength=n_rows)
    return total, np.bincount(hidden.rows, minlength=n_rows)


def score_rows(model: Any, table: Table, fold: Any) -> tuple[np.ndarray, np.ndarray]:
    """Fit on some rows; log likelihood of each of the others, and which were scored."""
    train, test = fold
    model.fit(table.select(rows=_mask(train, table)))
    total = np.zeros(table.shape[0])
    total[test] = model.score_samples(table.select(rows=_mask(test, table)))
    return total, _mask(test, table).astype(int)


def split_rows(table: Table, n_splits: int, seed: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows in `n_splits` disjoint parts: training and test positions, each sorted."""
    if table.shape[0] < n_splits:
        raise ValueError(
            f"A table with {table.shape[0]} rows cannot be split in {n_splits} parts; "
            "give fewer splits with n_splits=."
        )
    number = int(np.random.default_rng(seed).integers(2**31))
    folds = KFold(n_splits, shuffle=True, random_state=number)
    return list(folds.split(np.arange(table.shape[0])))


def _mask(positions: np.ndarray, table: Table) -> np.ndarray:
    mask = np.zeros(table.shape[0], dtype=bool)
    mask[positions] = True
    return mask


def _dense(table: Any) -> np.ndarray:
    return table.to_numpy() if isinstance(table, Table) else np.asarray(table)
