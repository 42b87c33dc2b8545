"""Zeros and ones that a fit did not expect."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.analysis.best_cells import Search
from falsezero.analysis.gaps import (
    JudgedCells,
    cause_text,
    check_list,
    judge_cells,
    ones_of,
    refuse_too_many,
    room_for,
)
from falsezero.analysis.noise import check_probability, keep_of_rows, resolve_keep
from falsezero.data.tidy import Tidy
from falsezero.data.validate import labels_of
from falsezero.inference.progress import stages

__all__ = ["ONE_SURPRISES", "ZERO_SURPRISES", "surprise", "surprising_ones", "surprising_zeros"]

ZERO_SURPRISES = 0.5
"""A zero is surprising where a one was expected more often than not."""

ONE_SURPRISES = 0.9
"""A one is surprising where it was expected at most a tenth as often as its column has ones."""


def surprise(expected: np.ndarray, ones: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """How far a cell departs from its expectation: p for a zero, 1 - p / rate for a one.

    >>> surprise(np.array([0.8, 0.01]), np.array([False, True]), np.array([0.5, 0.2])).tolist()
    [0.8, 0.95]
    """
    relative = expected / np.where(rates > 0, rates, 1.0)
    return np.where(ones, 1 - np.minimum(1.0, relative), expected)


def surprising_zeros(
    model: Any,
    table: Any,
    *,
    keep: Any = None,
    n: int | None = None,
    min_expected: float = ZERO_SURPRISES,
    verbose: int = 0,
) -> Tidy:
    """Zeros where the components of a fit expect a one, most expected first.

    `expected` is the probability of a one by the components kept. It ranks the zeros; a single look
    at each cell cannot tell how many of them are false (see `falsezero.audit`). Where a component
    is removed, `noise` is the posterior probability that it made the zero (Bingham et al., eq. 4).
    The search is bounded: columns that cannot reach the list are never visited.

    Parameters
    ----------
    model : fitted AspectBernoulli or BinaryICA
    table : Table, array, sparse array or data frame
    keep : array, optional
        P(u|k) per component; by default 0 for the phantoms that `find_phantoms` names.
    n : int, optional
        List at most so many.
    min_expected : float, default=0.5
        Leave out zeros where a one was less probable.
    verbose : int
        1 shows progress on a terminal.

    Returns
    -------
    Tidy with columns row, column, expected, causes, and noise where a component is removed

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(200, 20, 2, random_state=0).table
    >>> model = fz.AspectBernoulli(2, random_state=0).fit(table)
    >>> surprising_zeros(model, table, n=3).columns
    ['row', 'column', 'expected', 'causes']
    """
    check_list(model, n)
    check_probability("min_expected", min_expected)
    keep = resolve_keep(model, keep)
    labels = labels_of(model, table)
    search = Search(model.components_, room_for(n), min_expected)
    parts = []
    with stages("Surprising zeros", verbose, 2) as begin:
        begin("searching")
        for block, weights in model.weights_by_block(table):
            kept = model.reweigh(weights, keep_of_rows(keep, block.rows))
            search.visit(block.start, kept, block.csr, block.missing_csr)
            parts.append(weights)
        begin("listing")
        found = search.found()
        refuse_too_many(len(found.rows), n, "min_expected", min_expected)
        judged = judge_cells(model, np.concatenate(parts), keep, (found.rows, found.columns), 0)
    return _listed(judged, labels, keep)


def surprising_ones(model: Any, table: Any, *, keep: Any = None, n: int | None = None) -> Tidy:
    """Ones that the components of a fit expect at most a tenth as often as their column has ones.

    Parameters
    ----------
    model, table, keep, n
        As in `surprising_zeros`.

    Returns
    -------
    Tidy with columns row, column, expected, rate, causes, and noise where a component is removed
        `rate` is the column's share of ones; the least expected come first, compared with it.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(200, 20, 2, random_state=0).table
    >>> model = fz.AspectBernoulli(2, random_state=0).fit(table)
    >>> surprising_ones(model, table).columns
    ['row', 'column', 'expected', 'rate', 'causes']
    """
    check_list(model, n)
    keep = resolve_keep(model, keep)
    blocks = list(model.weights_by_block(table))
    rates = _column_rates([block for block, _ in blocks])
    found = []
    for block, weights in blocks:
        of_block = keep_of_rows(keep, block.rows)
        for rows, columns in ones_of(block):
            judged = judge_cells(model, weights, of_block, (rows, columns), 1)
            listed = 1 - judged.content / rates[columns] >= ONE_SURPRISES
            judged = JudgedCells(*(field[listed] for field in judged))
            found.append(judged._replace(rows=judged.rows + block.start))
    cells = JudgedCells(*map(np.concatenate, zip(*found, strict=True)))
    share = cells.content / rates[cells.columns]
    order = np.lexsort((cells.columns, cells.rows, share))[:n]
    cells = JudgedCells(*(field[order] for field in cells))
    return _listed(cells, labels_of(model, table), keep, rate=rates[cells.columns])


def _column_rates(blocks: list[Any]) -> np.ndarray:
    """Share of ones among the observed cells of each column."""
    width = blocks[0].shape[1]
    ones, observed = np.zeros(width), np.zeros(width)
    for block in blocks:
        ones += np.bincount(block.csr.indices, minlength=width)
        holes = block.missing_csr
        unknown = 0 if holes is None else np.bincount(holes.indices, minlength=width)
        observed += block.shape[0] - unknown
    return ones / np.maximum(observed, 1)


def _listed(
    cells: JudgedCells, labels: tuple[np.ndarray, np.ndarray], keep: np.ndarray, **more: Any
) -> Tidy:
    noise = {"noise": cells.noise} if (keep < 1).any() else {}
    return Tidy(
        row=labels[0][cells.rows],
        column=labels[1][cells.columns],
        expected=cells.content,
        **more,
        **noise,
        causes=[cause_text(shares) for shares in cells.causes],
    )
