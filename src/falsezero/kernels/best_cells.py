"""Bounded search for the highest-scoring cells of W F, without visiting all cells.

Each component keeps its columns in descending order of f_kt. A row can reach c only in columns
where one of its larger components k has f_kt >= (c - rest) / mass, with `mass` the sum of the
larger weights and `rest` the most that the smaller ones can add, because a weighted mean is no
larger than its largest term. So a row reads only the heads of a few lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.kernels._jit import jit

_SLACK = 1e-9
"""Tolerance for rounding: bounds are summed in another order than what they bound."""

_SMALL_SHARE = 0.25
"""Weights that together add at most this share of the level sought are put into `rest`."""


@jit
def candidates(n, w, level, columns, order, ranked, is_large, last_row, out):
    """Write the columns in which row n may reach `level` to `out`; return how many there are.

    `order` and `ranked` come from `ranked_columns`. `last_row` holds for each column the last row
    that met it, -1 at first, so that no row lists it twice. If the lists of the larger
    components are longer together than the list of all columns that reach the level with any
    weights, that list is read instead.
    """
    n_components = columns.shape[1]
    rest, mass, total = 0.0, 0.0, 0.0
    allowed = _SMALL_SHARE * level / n_components
    for k in range(n_components):
        most = w[k] * ranked[k, 0]
        is_large[k] = most > allowed
        total += w[k]
        if is_large[k]:
            mass += w[k]
        else:
            rest += most
    if mass <= 0.0:
        return 0 if level > 0.0 else _head(order[n_components], columns.shape[0], out)
    least = (level - rest) / mass * (1.0 - _SLACK) - 1e-300
    longest = _reach(ranked[n_components], level / total * (1.0 - _SLACK) - 1e-300)
    length = 0
    for k in range(n_components):
        if is_large[k]:
            length += _reach(ranked[k], least)
    if length >= longest:
        return _head(order[n_components], longest, out)
    count = 0
    for k in range(n_components):
        if not is_large[k]:
            continue
        for place in range(columns.shape[0]):
            if ranked[k, place] < least:
                break
            t = order[k, place]
            out[count] = t
            count += last_row[t] != n
            last_row[t] = n
    return count


@jit
def _reach(values, least):
    """Number of values, given in descending order, that are at least `least`."""
    first, stop = 0, values.shape[0]
    while first < stop:
        middle = (first + stop) // 2
        if values[middle] >= least:
            first = middle + 1
        else:
            stop = middle
    return first


@jit
def _head(order, length, out):
    for i in range(length):
        out[i] = order[i]
    return length


@jit
def is_listed(t, indices, first, stop):
    """Whether the sorted columns from `first` up to `stop` hold t."""
    end = stop
    while first < stop:
        middle = (first + stop) // 2
        if indices[middle] < t:
            first = middle + 1
        else:
            stop = middle
    return first < end and indices[first] == t


@jit
def _score(w, removed, weights, f):
    """The content of a cell, sum_k w_k f_k, times the probability that noise made its zero.

    Without `removed`, the content alone.
    """
    content = 0.0
    for k in range(f.shape[0]):
        content += w[k] * f[k]
    if removed.shape[0] == 0:
        return content
    content = min(content, 1.0)
    noise, everything = 0.0, 0.0
    for k in range(f.shape[0]):
        noise += removed[k] * (1.0 - f[k])
        everything += weights[k] * (1.0 - f[k])
    return content * min(noise / max(everything, 1e-300), 1.0)


@jit
def _level(score, removed, total):
    """The content that a row needs for this score.

    The posterior of noise is at most r / (r + (1 - r)(1 - c)) with r the share of removed weights
    and c the content, so that c >= score / (r + score (1 - r)).
    """
    if removed.shape[0] == 0:
        return score
    share = 0.0
    for k in range(removed.shape[0]):
        share += removed[k]
    share = min(share / max(total, 1e-300), 1.0)
    bottom = share + score * (1.0 - share)
    return score / bottom * (1.0 - 100.0 * _SLACK) if bottom > 0.0 else np.inf


@jit
def _is_better(score, cell, other_score, other_cell):
    """Higher scores first; among equal ones the cell that comes first in the table."""
    return score > other_score or (score == other_score and cell < other_cell)


@jit
def _sift_down(scores, cells, size):
    """Sift the top of a heap, whose worst entry comes first, down to its place."""
    at = 0
    while True:
        worst = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < size and _is_better(
                scores[worst], cells[worst], scores[child], cells[child]
            ):
                worst = child
        if worst == at:
            return
        scores[at], scores[worst] = scores[worst], scores[at]
        cells[at], cells[worst] = cells[worst], cells[at]
        at = worst


@jit
def _sift_up(scores, cells, at):
    while at > 0:
        parent = (at - 1) // 2
        if not _is_better(scores[parent], cells[parent], scores[at], cells[at]):
            return
        scores[at], scores[parent] = scores[parent], scores[at]
        cells[at], cells[parent] = cells[parent], cells[at]
        at = parent


@jit
def best_in_rows(
    rows, first_row, kept, removed, weights, columns, order, ranked,
    start, indices, holes_start, holes, least, scores, cells, size,
):  # fmt: skip
    """Enter the unlisted cells of some rows into a heap of the best; return its new size.

    `rows` are visited in the order given. A cell is (row + first_row) * n_columns + column. The
    heap is full at ``len(scores)`` entries; then `least` is the score of its worst.
    """
    n_columns = columns.shape[0]
    capacity = scores.shape[0]
    out = np.empty(n_columns + 1, dtype=np.int64)
    last_row = np.full(n_columns, -1)
    is_large = np.empty(columns.shape[1], dtype=np.bool_)
    for n in rows:
        w, gone, every = kept[n], removed[n], weights[n]
        total = 0.0
        for k in range(every.shape[0]):
            total += every[k]
        bar = max(least, scores[0]) if size == capacity else least
        count = candidates(
            n, w, _level(bar, gone, total), columns, order, ranked, is_large, last_row, out
        )
        for i in range(count):
            t = out[i]
            score = _score(w, gone, every, columns[t])
            cell = (first_row + n) * n_columns + t
            if score < least:
                continue
            if size == capacity and not _is_better(score, cell, scores[0], cells[0]):
                continue
            if is_listed(t, indices, start[n], start[n + 1]):
                continue
            if is_listed(t, holes, holes_start[n], holes_start[n + 1]):
                continue
            if size < capacity:
                scores[size], cells[size] = score, cell
                _sift_up(scores, cells, size)
                size += 1
            else:
                scores[0], cells[0] = score, cell
                _sift_down(scores, cells, size)
    return size


@jit
def hot_zeros(
    weights, columns, order, ranked, start, indices, holes_start, holes, level,
    first, hot_start, found,
):  # fmt: skip
    """List the unlisted cells above a level, from row `first` on, as far as there is room.

    Columns are written to `found`, and where those of row n end to ``hot_start[n + 1]``. Returns
    the row that did not fit, or the number of rows.
    """
    out = np.empty(columns.shape[0] + 1, dtype=np.int64)
    last_row = np.full(columns.shape[0], -1)
    is_large = np.empty(columns.shape[1], dtype=np.bool_)
    w = np.empty(columns.shape[1])
    number = hot_start[first]
    for n in range(first, weights.shape[0]):
        w[:] = weights[n]
        count = candidates(n, w, level, columns, order, ranked, is_large, last_row, out)
        if number + count > found.shape[0]:
            return n
        for i in range(count):
            t = out[i]
            p = dot(w, columns[t])
            if p <= level or is_listed(t, indices, start[n], start[n + 1]):
                continue
            if is_listed(t, holes, holes_start[n], holes_start[n + 1]):
                continue
            found[number] = t
            number += 1
        hot_start[n + 1] = number
        found[hot_start[n] : number].sort()
    return weights.shape[0]


@jit(reassociate=True, inline=True)
def dot(w, f):
    """sum_k w_k f_k in double precision."""
    total = 0.0
    for k in range(f.shape[0]):
        total += w[k] * f[k]
    return total


@jit(reassociate=True)
def sampled_products(indptr, indices, weights, columns, out):
    """W F at the entries of a CSR pattern, with F' given by columns."""
    for n in range(weights.shape[0]):
        w = weights[n]
        for entry in range(indptr[n], indptr[n + 1]):
            out[entry] = dot(w, columns[indices[entry]])


@jit(reassociate=True)
def products_at(rows, at, weights, columns, out):
    """W F in single cells, with F' given by columns."""
    for i in range(rows.shape[0]):
        out[i] = dot(weights[rows[i]], columns[at[i]])


def zeros_above(
    weights: np.ndarray, components: np.ndarray, ones: Any, level: float, holes: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Where W F exceeds a level in cells that are stored neither in `ones` nor in `holes`.

    Returns a CSR pattern: where each row begins, and columns. Columns that cannot reach the level
    are passed over.
    """
    look = np.ascontiguousarray(components.T), *ranked_columns(components)
    lists = *csr_pattern(ones), *csr_pattern(holes, weights)
    start = np.zeros(len(weights) + 1, dtype=np.int64)
    found = np.empty(components.shape[1] + len(weights), dtype=np.int32)
    row = 0
    while row < len(weights):
        row = hot_zeros(weights, *look, *lists, level, row, start, found)
        if row < len(weights):
            found = np.concatenate([found, np.empty_like(found)])
    return start, found[: start[-1]].copy()


def csr_pattern(listed: Any, rows: Any = ()) -> tuple[np.ndarray, np.ndarray]:
    """Row starts and columns of a sparse table; None stands for an empty one with as many rows."""
    if listed is None:
        return np.zeros(len(rows) + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    return listed.indptr.astype(np.int64, copy=False), listed.indices


def ranked_columns(components: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of each component in descending order, and their values in that order.

    A last list has all columns by the largest of their components.

    >>> order, values = ranked_columns(np.array([[0.1, 0.9, 0.5], [0.3, 0.0, 0.2]]))
    >>> order.tolist()
    [[1, 2, 0], [0, 2, 1], [1, 2, 0]]
    >>> values.tolist()
    [[0.9, 0.5, 0.1], [0.3, 0.2, 0.0], [0.9, 0.5, 0.3]]
    """
    lists = np.vstack([components, components.max(axis=0)])
    order = np.argsort(-lists, axis=1).astype(np.int32)
    return order, np.take_along_axis(lists, order, axis=1)
