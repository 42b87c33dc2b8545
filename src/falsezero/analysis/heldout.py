"""One held-out likelihood for every model: hide cells or rows, fit the rest, score what was hidden.

Three numbers, all in nats, larger is better:

cells
    A share of the observed cells is turned to "not observed", the model is fitted, and each hidden
    cell is scored by the log probability that `reconstruct` gives to its true value; a row's
    weights are inferred from its visible cells alone. The mean over all hidden cells. It is defined
    for every model with `reconstruct`, and means the same for all.
rows
    Whole rows are left out and scored by `score_samples`: the log probability of a new row, its
    weights integrated out (empirical Bayes for factor models, an exact sum for mixtures, a bound
    where a model's docstring says so). For counts it is the probability of the bag of tokens given
    their number. The mean over all rows.
completion
    Whole rows are left out, half of their tokens are shown and the other half is scored by
    `completion_samples`. The mean over all hidden tokens.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln
from sklearn.model_selection import KFold

from falsezero.base.bags import split_tokens
from falsezero.base.capabilities import capabilities_of
from falsezero.data.table import Table

__all__ = [
    "HiddenCells",
    "cell_log_probability",
    "hidden_log_probability",
    "hide_cells",
    "score_cells",
    "score_completion",
    "score_rows",
]

FLOOR = 1e-6
"""No hidden cell scores below log(1e-6): otherwise one confidently wrong prediction would outweigh
all others."""


MOST_HIDDEN = 5_000_000
"""Largest number of cells hidden in all parts together."""

AT_A_TIME = 4_000_000
"""Cells that are made dense at a time."""


class HiddenCells(NamedTuple):
    """A table with some cells hidden, and their true values."""

    table: Table
    """The table with NaN where cells were hidden."""
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray


def hide_cells(
    table: Table, n_splits: int, seed: Any, part: int, most: int | None = None
) -> HiddenCells:
    """Hide one part of `n_splits`, which together hold every observed cell once.

    In a table with more than `most` cells (`MOST_HIDDEN` by default) only that many, picked at
    random, are hidden in all parts together: a mean over millions of cells is precise enough, and
    the table stays sparse.

    >>> parts = [hide_cells(Table([[1, 0], [0, 1]]), 2, seed=0, part=i) for i in range(2)]
    >>> [len(part.values) for part in parts], [part.table.n_missing for part in parts]
    ([2, 2], [2, 2])
    """
    most = MOST_HIDDEN if most is None else most
    cells, values = _observed(table, np.random.default_rng(seed), most)
    if len(cells) < 2 * n_splits:
        raise ValueError(
            f"A table with {len(cells)} observed cells cannot be split in {n_splits} parts; "
            "give fewer splits with n_splits=."
        )
    chosen = np.array_split(np.arange(len(cells)), n_splits)[part]
    chosen = chosen[np.argsort(cells[chosen])]
    rows, columns = np.divmod(cells[chosen], table.shape[1])
    # A stored NaN added to whatever is in the cell makes it "not observed".
    holes = sparse.csr_array((np.full(len(rows), np.nan), (rows, columns)), shape=table.shape)
    return HiddenCells(table.with_values(table.values + holes), rows, columns, values[chosen])


def _observed(table: Table, rng: np.random.Generator, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Observed cells in random order, counted along the rows, and their values."""
    n_cells = table.shape[0] * table.shape[1]
    if n_cells <= most:
        cells = np.arange(n_cells)
    else:
        cells = np.sort(rng.integers(n_cells, size=most))
        cells = cells[np.append(True, np.diff(cells) > 0)]
    values = _values_at(table, cells)
    order = rng.permutation(np.flatnonzero(~np.isnan(values)))
    return cells[order], values[order]


def _values_at(table: Table, cells: np.ndarray) -> np.ndarray:
    """Values of cells in ascending order: a table's stored entries are sorted, and few."""
    stored: Any = table.values.tocoo()
    places = stored.row.astype(np.int64) * table.shape[1] + stored.col
    at = np.searchsorted(places, cells)
    found = np.append(places, -1)[at] == cells
    return np.where(found, np.append(stored.data, 0.0)[at], 0.0)


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
        return np.asarray(np.where(values > 0, np.log(p), np.log1p(-p)))
    mean = np.maximum(expected, FLOOR)
    return np.asarray(values * np.log(mean) - mean - gammaln(values + 1))


def score_cells(model: Any, hidden: HiddenCells, binary: bool) -> tuple[np.ndarray, np.ndarray]:
    """Fit on the visible cells; total log probability and number of hidden cells, for each row."""
    scores = hidden_log_probability(model.fit(hidden.table), hidden, binary)
    n_rows = hidden.table.shape[0]
    total = np.bincount(hidden.rows, scores, minlength=n_rows)
    return total, np.bincount(hidden.rows, minlength=n_rows)


def hidden_log_probability(model: Any, hidden: HiddenCells, binary: bool) -> np.ndarray:
    """Log probability of each hidden cell, by a model that did not see them."""
    return cell_log_probability(_expected(model, hidden), hidden.values, binary)


def score_rows(model: Any, table: Table, fold: Any) -> tuple[np.ndarray, np.ndarray]:
    """Fit on some rows; log likelihood of each of the others, and which were scored."""
    train, test = fold
    model.fit(table.select(rows=_mask(train, table)))
    total = np.zeros(table.shape[0])
    total[test] = model.score_samples(table.select(rows=_mask(test, table)))
    return total, _mask(test, table).astype(int)


def score_completion(model: Any, table: Table, fold: Any) -> tuple[np.ndarray, np.ndarray]:
    """Fit on some rows; for the others, log probability and number of the hidden tokens."""
    train, test = fold
    model.fit(table.select(rows=_mask(train, table)))
    held_out = table.select(rows=_mask(test, table))
    total, count = np.zeros((2, table.shape[0]))
    total[test] = model.completion_samples(held_out)
    _, hidden = split_tokens(sparse.csr_array(held_out.values))
    count[test] = np.asarray(hidden.sum(axis=1)).ravel()
    return total, count


def split_rows(table: Table, n_splits: int, seed: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows in `n_splits` disjoint parts: training and test positions, each sorted."""
    if table.shape[0] < n_splits:
        raise ValueError(
            f"A table cannot be split in {n_splits} parts by its {table.shape[0]} row"
            f"{'s' * (table.shape[0] != 1)}; give fewer splits with n_splits=."
        )
    number = int(np.random.default_rng(seed).integers(2**31))
    folds = KFold(n_splits, shuffle=True, random_state=number)
    return list(folds.split(np.arange(table.shape[0])))


def _mask(positions: np.ndarray, table: Table) -> np.ndarray:
    mask = np.zeros(table.shape[0], dtype=bool)
    mask[positions] = True
    return mask


def _expected(model: Any, hidden: HiddenCells) -> np.ndarray:
    """Expected values of the hidden cells; where possible no others are computed."""
    table, cells = hidden.table, (hidden.rows, hidden.columns)
    if capabilities_of(model).link is None:
        return _reconstructed(model, hidden)
    weights = np.concatenate([part for _, part in model.weights_by_block(table)])
    return np.asarray(model._expected_cells(weights, *cells))


def _reconstructed(model: Any, hidden: HiddenCells) -> np.ndarray:
    """The same by `reconstruct`, a few rows of the table at a time."""
    n_rows, n_columns = hidden.table.shape
    step, found = max(1, AT_A_TIME // n_columns), []
    for start in range(0, n_rows, step):
        inside = slice(*np.searchsorted(hidden.rows, [start, start + step]))
        some = np.asarray(model.reconstruct(hidden.table.select(rows=slice(start, start + step))))
        found.append(some[hidden.rows[inside] - start, hidden.columns[inside]])
    return np.concatenate(found)
