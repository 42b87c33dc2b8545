"""One iteration over the rows of a sparse table for the convex family: see `models/convex/sparse`.

A few rows at a time, while their data is in cache: visit their listed cells once for the statistics
of rows and columns, then solve for the rows' weights. Nothing of the size of the table is stored.
Each loop writes to one array only: with two, compilers check at run time whether they overlap,
which takes as long as a dozen components.
"""

from __future__ import annotations

import math

import numpy as np

from falsezero.kernels._jit import jit, prefetch

_ROWS = 32
"""Rows solved side by side, so that a step of Newton's method runs in vectors over rows."""

_ENOUGH = 1e-10
"""Tolerance for the sum of a row's weights, before they are divided by it."""

_TINY = 1e-300

_AHEAD = 8
"""How many cells ahead a column is prefetched."""

_LINE = 64
"""Bytes in a cache line."""


def on_lines(shape, dtype):
    """An array of zeros aligned to cache lines, so that a column occupies as few as possible.

    >>> on_lines((3, 5), np.float32).ctypes.data % 64
    0
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(size + _LINE, dtype=np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + size].view(dtype).reshape(shape)


@jit
def sparse_pass(
    weights, columns, everywhere, overlap, share,
    start, indices, hot_start, hot_columns, holes_start, holes,
    new, ones, zeros,
):  # fmt: skip
    """Visit the listed cells of some rows, update the rows, and collect statistics of columns.

    Parameters
    ----------
    weights : array (rows, components)
        w, on the simplex.
    columns : array (columns, components)
        F', in single or double precision; like `ones`, it should come from `on_lines`.
    everywhere, overlap : arrays (components,) and (components, components)
        Sum of F over all columns, and F F'.
    share : float
        Pseudo-observations of each component in each row.
    start, indices, ... : the listed cells as CSR patterns
        Ones, hot zeros and cells not observed.
    new : array like `weights`
        Receives the renewed weights.
    ones, zeros : arrays (columns, components)
        Sums of w times the counts of ones (`_visit`) over all listed cells, and of w / (1 - p) over
        hot zeros. Added to in place.

    Returns
    -------
    objective, log prior : floats
        At the weights that came in.
    """
    n_rows, k_all = weights.shape
    sums = np.empty((_ROWS, k_all + 1))
    work = np.empty((4 * k_all + 4, _ROWS))
    objective, log_prior = 0.0, 0.0
    for first in range(0, n_rows, _ROWS):
        stop = min(first + _ROWS, n_rows)
        w, to = weights[first:stop], new[first:stop]
        sums[:] = 0.0
        objective += _visit(0, start[first : stop + 1], indices, w, columns, sums, ones, zeros)
        objective += _visit(
            1, hot_start[first : stop + 1], hot_columns, w, columns, sums, ones, zeros
        )
        objective += _visit(2, holes_start[first : stop + 1], holes, w, columns, sums, ones, zeros)
        objective += _climb_rows(w, everywhere, overlap, share, sums, work, to)
        if share > 0.0:
            log_prior += share * _log_sum(w)
    return objective, log_prior


@jit(reassociate=True)
def _visit(kind, start, indices, weights, columns, sums, ones, zeros):
    """Add listed cells to the sums of rows and columns; return their part of the objective.

    A cell counts for a ones and b zeros: 1/p + 1 + p and 0 where it is a one (`kind` 0), 1 + p and
    1 / (1 - p) where it is a hot zero (1), 1 + p and 0 where it was not observed (2). Rows receive
    the sums of (a - b) f and, last, of b; columns those of a w and of b w.
    """
    k_all = weights.shape[1]
    flat, flat_ones = columns.reshape(-1), ones.reshape(-1)
    line, line_of_ones = _LINE // columns.itemsize, _LINE // ones.itemsize
    w = np.empty(k_all)
    most = 0
    for n in range(weights.shape[0]):
        most = max(most, start[n + 1] - start[n])
    counts = np.empty(most)
    end = start[weights.shape[0]] - 1
    objective = 0.0
    for n in range(weights.shape[0]):
        first, stop = start[n], start[n + 1]
        if first == stop:
            continue
        total = sums[n]
        for k in range(k_all):
            w[k] = weights[n, k]
        product, factors = 1.0, 0
        for entry in range(first, stop):
            f = columns[indices[entry]]
            soon = indices[min(entry + _AHEAD, end)] * np.int64(k_all)
            for k in range(0, k_all, line):
                prefetch(flat, soon + k)
            soon = indices[entry] * np.int64(k_all)
            for k in range(0, k_all, line_of_ones):
                prefetch(flat_ones, soon + k)
            p = 0.0
            for k in range(k_all):
                p += w[k] * f[k]
            a = 1.0 + p
            b = 0.0
            if kind == 0:
                a += 1.0 / p
                product *= p
            elif kind == 1:
                b = 1.0 / (1.0 - p)
                product *= 1.0 - p
                total[k_all] += b
            counts[entry - first] = a
            rest = a - b
            for k in range(k_all):
                total[k] += rest * f[k]
            objective += p + 0.5 * p * p
            factors += 1
            if factors == 16:
                objective += np.log(product)
                product, factors = 1.0, 0
        objective += np.log(product)
        for entry in range(first, stop):
            made, a = ones[indices[entry]], counts[entry - first]
            for k in range(k_all):
                made[k] += a * w[k]
        if kind == 1:
            for entry in range(first, stop):
                # 1 + p is known: 1 / (1 - p) = 1 / (2 - (1 + p)).
                made, b = zeros[indices[entry]], 1.0 / (2.0 - counts[entry - first])
                for k in range(k_all):
                    made[k] += b * w[k]
    return objective


@jit
def _log_sum(weights):
    total = 0.0
    for n in range(weights.shape[0]):
        for k in range(weights.shape[1]):
            total += np.log(max(weights[n, k], _TINY))
    return total


@jit
def _climb_rows(weights, everywhere, overlap, share, sums, work, new):
    """Solve each row for its weights; return the objective of the sums over all cells."""
    n_rows, k_all = weights.shape
    w, count, curve = work[:k_all], work[k_all : 2 * k_all], work[2 * k_all : 3 * k_all]
    solved, spare = work[3 * k_all : 4 * k_all], work[4 * k_all :]
    for n in range(n_rows):
        for k in range(k_all):
            w[k, n] = weights[n, k]
    for n in range(n_rows):
        of_zeros = sums[n, k_all]
        for k in range(k_all):
            count[k, n] = share + w[k, n] * max(sums[n, k] + of_zeros, 0.0)
    _products(n_rows, w, overlap, curve)
    objective = 0.0
    for k in range(k_all):
        objective -= _objective(n_rows, w[k], everywhere[k], curve[k])
    climb(n_rows, w, count, everywhere, curve, solved, spare)
    for n in range(n_rows):
        for k in range(k_all):
            new[n, k] = solved[k, n]
    return objective


@jit(reassociate=True)
def _objective(n_rows, w, everywhere, curve):
    total = 0.0
    for n in range(n_rows):
        total += w[n] * (everywhere + 0.5 * curve[n])
    return total


@jit(reassociate=True)
def _products(n_rows, w, overlap, curve):
    """The product of `overlap` and w, four components at a time."""
    k_all = overlap.shape[0]
    whole = k_all - k_all % 4
    for k in range(k_all):
        to, by = curve[k], overlap[k]
        for n in range(n_rows):
            to[n] = 0.0
        for j in range(0, whole, 4):
            a, b, c, d = w[j], w[j + 1], w[j + 2], w[j + 3]
            of_a, of_b, of_c, of_d = by[j], by[j + 1], by[j + 2], by[j + 3]
            for n in range(n_rows):
                to[n] += of_a * a[n] + of_b * b[n] + of_c * c[n] + of_d * d[n]
        for j in range(whole, k_all):
            a, of_a = w[j], by[j]
            for n in range(n_rows):
                to[n] += of_a * a[n]


@jit(reassociate=True)
def climb(n_rows, w0, count, slope, curve, new, spare):
    """Maximise sum_k c_k log w_k - b_k w_k - e_k w_k^2 / (2 w0_k) over the simplex, row by row.

    With a multiplier m for the constraint, w_k is the positive root of
    (e_k / w0_k) w^2 + (b_k + m) w = c_k, and the sum of the w_k is decreasing and convex in m:
    Newton's method from the left of the answer cannot miss it. A row that has converged stays as it
    is, so that its answer does not depend on the others.

    Parameters
    ----------
    n_rows : int
        Rows in use, of those that the arrays have room for.
    w0, count, curve, new : arrays (components, rows)
        `curve` is changed; `new` receives the answers.
    slope : array (components,)
    spare : array (4, rows)
    """
    k_all = slope.shape[0]
    multiplier, leftmost, total, steepness = spare[0], spare[1], spare[2], spare[3]
    for n in range(n_rows):
        multiplier[n] = 0.0
        leftmost[n] = -np.inf
    for k in range(k_all):
        _begin(n_rows, w0[k], count[k], slope[k], curve[k], multiplier)
        for n in range(n_rows):
            curve[k, n] /= max(w0[k, n], _TINY)
        for n in range(n_rows):
            leftmost[n] = max(leftmost[n], count[k, n] - slope[k] - curve[k, n])
    for n in range(n_rows):
        multiplier[n] = max(multiplier[n], leftmost[n])
    for _ in range(50):
        for n in range(n_rows):
            total[n] = 0.0
        for n in range(n_rows):
            steepness[n] = 0.0
        for k in range(k_all):
            _root(n_rows, count[k], slope[k], curve[k], multiplier, new[k], total, steepness)
        if not _advance(n_rows, total, steepness, leftmost, multiplier):
            break
    for k in range(k_all):
        for n in range(n_rows):
            is_usable = 0.0 < total[n] < np.inf
            new[k, n] = new[k, n] / total[n] if is_usable else w0[k, n]


@jit(inline=True)
def _begin(n_rows, w0, count, slope, curve, multiplier):
    for n in range(n_rows):
        multiplier[n] += count[n] - w0[n] * (slope + curve[n])


@jit(reassociate=True, inline=True)
def _root(n_rows, count, slope, curve, multiplier, new, total, steepness):
    """Weights of one component at a multiplier, and what they add to the sum and to its slope."""
    for n in range(n_rows):
        b = slope + multiplier[n]
        root = np.sqrt(b * b + 4.0 * curve[n] * count[n])
        # Use the form of the root that does not subtract nearly equal numbers.
        top = 2.0 * count[n] if b > 0.0 else root - b
        bottom = b + root if b > 0.0 else 2.0 * curve[n]
        steep = top / max(bottom * root, _TINY)
        new[n] = steep * root if bottom > 0.0 else 1.0
        total[n] += new[n]
        steepness[n] += steep


@jit
def _advance(n_rows, total, steepness, leftmost, multiplier):
    """Newton's step for the rows that have not converged; return whether there are any."""
    has_moved = False
    for n in range(n_rows):
        gap = total[n] - 1.0
        if not (abs(gap) < _ENOUGH or steepness[n] <= 0.0):
            multiplier[n] = max(multiplier[n] + gap / steepness[n], leftmost[n])
            has_moved = True
    return has_moved
