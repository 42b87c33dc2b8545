"""Doubtful zeros and doubtful ones, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from falsezero.analysis.best_cells import Search
from falsezero.analysis.doubt import Doubt, doubt_of, judge
from falsezero.analysis.noise import (
    check_convex,
    check_probability,
    keep_of_rows,
    resolve_keep,
)
from falsezero.data.errors import DataError
from falsezero.data.labels import find_label
from falsezero.data.numbers import checked_count
from falsezero.data.rounding import probability
from falsezero.data.tidy import Tidy
from falsezero.data.validate import labels_of

__all__ = ["expand", "false_absences", "false_presences"]

_MOST = 10_000_000
"""Cells that a list may have."""

_AT_A_TIME = 1_000_000


def false_absences(
    model: Any,
    table: Any,
    *,
    keep: Any = None,
    n: int | None = None,
    min_probability: float = 0.5,
) -> Tidy:
    """Zeros that are probably omissions, most probable first, each with its causes.

    A zero is a false absence when noise made it and the content of its row would have made a one.
    With p the probability of a one by the components kept, and q the posterior probability
    (Bingham et al., eq. 4) that a removed component made this zero, its probability is q p.

    Parameters
    ----------
    model : fitted AspectBernoulli or BinaryICA
    table : Table, array, sparse array or data frame
    keep : array, optional
        P(u|k) per component; by default 0 for the phantoms.
    n : int, optional
        List at most so many.
    min_probability : float, default=0.5
        Leave out cells below this.

    Returns
    -------
    Tidy with columns row, column, probability, content (p), noise (q), causes

    Examples
    --------
    >>> import falsezero as fz
    >>> clean = fz.datasets.make_aspect_bernoulli(
    ...     400, 50, 3, concentration=0.1, shape=(0.2, 0.3), random_state=0
    ... ).table
    >>> spoilt = fz.corrupt(clean, omit=0.6, random_state=0)
    >>> model = fz.AspectBernoulli(4, n_init=3, random_state=0).fit(spoilt)
    >>> doubtful = fz.false_absences(model, spoilt, n=100)
    >>> doubtful.columns
    ['row', 'column', 'probability', 'content', 'noise', 'causes']
    """
    return _doubtful(model, table, 0, keep, n, min_probability)


def false_presences(
    model: Any,
    table: Any,
    *,
    keep: Any = None,
    n: int | None = None,
    min_probability: float = 0.5,
) -> Tidy:
    """Ones that are probably additions, best first: `false_absences` with ones and zeros swapped.

    Here ``content`` is the probability of a one by the components kept, ``noise`` the posterior
    probability that a removed component made this one, and ``probability`` is noise (1 - content).

    Parameters
    ----------
    model, table, keep, n, min_probability
        As in `false_absences`.

    Returns
    -------
    Tidy with columns row, column, probability, content, noise, causes
        The causes are the components that expect a zero.
    """
    return _doubtful(model, table, 1, keep, n, min_probability)


def expand(model: Any, table: Any, *, rows: Any = None, keep: Any = None, n: int = 9) -> Tidy:
    """For each row, the absent columns for which noise is most likely responsible.

    This is query expansion as in Table 3 of Bingham et al.: absent columns, best first by the
    posterior probability that a removed component made the zero.

    Parameters
    ----------
    model : fitted AspectBernoulli or BinaryICA
    table : Table, array, sparse array or data frame
    rows : list of labels, optional
        Which rows; all of them when left out.
    keep : array, optional
        P(u|k) per component; by default 0 for the phantoms.
    n : int, default=9
        At most so many columns per row.

    Returns
    -------
    Tidy with columns row, column, noise, content

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(50, 10, 3, random_state=0).table
    >>> model = fz.AspectBernoulli(3, random_state=0).fit(table)
    >>> len(fz.expand(model, table, rows=[7, 3], keep=[1, 1, 0], n=2))
    4
    """
    n = checked_count(n, "n")
    row_labels, column_labels = labels_of(model, table)
    wanted = positions_of(row_labels, rows)
    found: dict[int, list[dict[str, Any]]] = {}
    for tile in _tiles(model, table, keep, 0, wanted):
        for row in wanted[(wanted >= tile.start) & (wanted < tile.start + len(tile.codes))]:
            i = row - tile.start
            absent = np.flatnonzero(tile.codes[i] == 0)
            best = absent[np.argsort(-tile.doubt.noise[i, absent], kind="stable")[:n]]
            found[row] = [
                {
                    "row": row_labels[row],
                    "column": column_labels[t],
                    "noise": float(tile.doubt.noise[i, t]),
                    "content": float(tile.doubt.content[i, t]),
                }
                for t in best
            ]
    listed = [entry for row in wanted for entry in found[row]]
    return Tidy.from_rows(listed, ["row", "column", "noise", "content"])


def positions_of(labels: np.ndarray, wanted: Any, axis: str = "row") -> np.ndarray:
    """Positions of rows (or columns) given by label; all positions by default.

    >>> positions_of(np.array(["Sansan", "Sinap"]), ["Sinap"])
    array([1])
    """
    if wanted is None:
        return np.arange(len(labels))
    names = labels.tolist()
    position = {name: i for i, name in enumerate(names)}
    labelled = [wanted] if np.ndim(wanted) == 0 else list(wanted)
    found = np.array([find_label(label, position, axis) for label in labelled], dtype=int)
    twice = [i for i in found if len(position) < len(names) and names.count(names[i]) > 1]
    if twice:
        raise DataError(
            f"{names.count(names[twice[0]])} {axis}s are labelled {names[twice[0]]!r}; give every "
            f"{axis} a name of its own."
        )
    return found


class _Tile(NamedTuple):
    """A few rows of a table, and how doubtful their cells are."""

    start: int
    codes: np.ndarray
    doubt: Doubt


def _tiles(model: Any, table: Any, keep: Any, value: int, wanted: np.ndarray) -> Iterator[_Tile]:
    """The wanted rows, a few at a time, because a large sparse table must not be made dense."""
    check_convex(model)
    keep = resolve_keep(model, keep)
    for block, weights in model.weights_by_block(table):
        of_block = keep_of_rows(keep, block.rows)
        for tile in block.tiles():
            rows = slice(tile.start - block.start, tile.rows.stop - block.start)
            if ((wanted >= tile.start) & (wanted < tile.rows.stop)).any():
                kept = keep_of_rows(of_block, rows)
                yield _Tile(tile.start, tile.codes, doubt_of(model, weights[rows], kept, value))


def _doubtful(
    model: Any, table: Any, value: int, keep: Any, n: int | None, min_probability: float
) -> Tidy:
    check_list(model, n)
    check_probability("min_probability", min_probability)
    row_labels, column_labels = labels_of(model, table)
    find = _doubtful_ones if value else _doubtful_zeros
    found = find(model, table, resolve_keep(model, keep), n, min_probability)
    return Tidy(
        row=row_labels[found.rows],
        column=column_labels[found.columns],
        probability=found.probability,
        content=found.content,
        noise=found.noise,
        causes=[cause_text(shares) for shares in found.causes],
    )


class JudgedCells(NamedTuple):
    """Some cells, each with its doubt and its causes."""

    rows: np.ndarray
    columns: np.ndarray
    probability: np.ndarray
    content: np.ndarray
    noise: np.ndarray
    causes: np.ndarray

    def best(self, n: int | None) -> JudgedCells:
        order = np.lexsort((self.columns, self.rows, -self.probability))[:n]
        return JudgedCells(*(field[order] for field in self))


def _doubtful_zeros(
    model: Any, table: Any, keep: np.ndarray, n: int | None, least: float
) -> JudgedCells:
    """A bounded search: only cells that may reach the list are visited."""
    search = Search(model.components_, room_for(n), least)
    parts = []
    for block, weights in model.weights_by_block(table):
        of_block = keep_of_rows(keep, block.rows)
        kept = model.reweigh(weights, of_block)
        noise = weights * (1 - of_block), weights
        search.visit(block.start, kept, block.csr, block.missing_csr, noise)
        parts.append(weights)
    found = search.found()
    refuse_too_many(len(found.rows), n, "min_probability", least)
    cells = found.rows, found.columns
    return judge_cells(model, np.concatenate(parts), keep, cells, 0).best(n)


def _doubtful_ones(
    model: Any, table: Any, keep: np.ndarray, n: int | None, least: float
) -> JudgedCells:
    """The ones of each block in turn; only the best doubtful ones are kept."""
    best = None
    for block, weights in model.weights_by_block(table):
        of_block = keep_of_rows(keep, block.rows)
        for rows, columns in ones_of(block):
            found = judge_cells(model, weights, of_block, (rows, columns), 1)
            doubted = found.probability >= least
            found = JudgedCells(*(field[doubted] for field in found))
            found = found._replace(rows=found.rows + block.start)
            if best is not None:
                found = JudgedCells(*map(np.concatenate, zip(best, found, strict=True)))
            best = found.best(n)
            refuse_too_many(len(best.rows), n, "min_probability", least)
    assert best is not None
    return best


def check_list(model: Any, n: int | None) -> None:
    """Refuse models without causes of cells, and lists of a negative length."""
    if n is not None and n < 0:
        raise ValueError(
            f"n={n} is not a number of cells to list; give n=10, say, or leave it out."
        )
    check_convex(model)


def room_for(n: int | None) -> int:
    """Length of a list of `n` cells; without `n`, one more than are allowed."""
    return _MOST + 1 if n is None else n


def refuse_too_many(number: int, n: int | None, name: str, least: float) -> None:
    """Refuse a list that is too long, unless its length was asked for."""
    if number > _MOST and n is None:
        raise ValueError(
            f"More than {_MOST} cells are listed by {name}={least:g}; raise it, or list the best "
            "of them with n=."
        )


def ones_of(block: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows (counted within the block) and columns of its ones, a million at a time."""
    start, columns = block.csr.indptr, block.csr.indices
    for first in range(0, max(len(columns), 1), _AT_A_TIME):
        some = np.arange(first, min(first + _AT_A_TIME, len(columns)))
        yield np.searchsorted(start, some, side="right") - 1, columns[first : first + _AT_A_TIME]


def judge_cells(
    model: Any,
    weights: np.ndarray,
    keep: np.ndarray,
    cells: tuple[np.ndarray, np.ndarray],
    value: int,
) -> JudgedCells:
    """How doubtful some cells are, and their causes."""
    rows, columns = cells
    w, keep = weights[rows], keep_of_rows(keep, rows)
    components = np.ascontiguousarray(model.components_.T[columns])
    kept = model.reweigh(w, keep) if len(w) else w
    makes = components if value else 1 - components
    content = np.clip(np.einsum("ik,ik->i", kept, components), 0, 1)
    removed, everything = (np.einsum("ik,ik->i", v, makes) for v in (w * (1 - keep), w))
    causes = kept * (1 - components if value else components)
    causes /= np.maximum(causes.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return JudgedCells(rows, columns, *judge(content, removed, everything, value), causes)


def cause_text(shares: np.ndarray) -> str:
    """The strongest components behind a cell, with their shares: "3 (0.92), 0 (0.07)"."""
    order = np.argsort(-shares, kind="stable")[:3]
    return ", ".join(f"{k} ({probability(shares[k])})" for k in order if shares[k] >= 0.05)
