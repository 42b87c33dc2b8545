"""One iteration over the rows of a sparse table for the convex family: see `models/convex/sparse`.

A few rows at a time, while all that belongs to them is in cache: visit their listed cells, solve
for their weights, and add what those mean for the columns. Nothing of the size of the table is
stored. Each loop has one array to write to, in halves: with two, compilers must ask at run time
whether they overlap, which takes as long as a dozen components.
"""

from __future__ import annotations

import numpy as np

from falsezero.kernels._jit import jit

_ROWS = 128
_ENOUGH = 1e-10
"""How close the weights of a row come to adding up to one before they are divided by their sum."""


@jit
def sparse_pass(
    weights, columns, everywhere, overlap, share,
    start, indices, hot_start, hot_columns, holes_start, holes,
    new, ones, zeros,
):  # fmt: skip
    """Visit the listed cells of some rows, renew the rows, and collect what columns need.

    Parameters
    ----------
    weights : array (rows, components)
        w, on the simplex.
    columns : array (columns, components)
        F'.
    everywhere, overlap : arrays (components,) and (components, components)
        Sum of F over all columns, and F F'.
    share : float
        Pseudo-observations of each component in each row.
    start, indices, ... : the listed cells as CSR patterns
        Ones, hot zeros and cells not observed.
    new : array like `weights`
        Receives the renewed weights.
    ones, zeros : arrays (columns, 2 components)
        Sums of w / p over ones, of w / (1 - p) over hot zeros; in their second halves the sums of
        (1 + p) times the new weights over ones, and over all other listed cells. Added to in place.

    Returns
    -------
    objective, log prior : floats
        At the weights that came in.
    """
    n_rows, k_all = weights.shape
    sums = np.empty((_ROWS, 2 * k_all))
    most = 0
    for first in range(0, n_rows, _ROWS):
        most = max(most, start[min(first + _ROWS, n_rows)] - start[first])
    inverse = np.empty(most)
    objective, log_prior = 0.0, 0.0
    for first in range(0, n_rows, _ROWS):
        stop = min(first + _ROWS, n_rows)
        w, to = weights[first:stop], new[first:stop]
        lists = start[first : stop + 1], hot_start[first : stop + 1], holes_start[first : stop + 1]
        sums[:] = 0.0
        objective += _visit_ones(lists[0], indices, w, columns, sums, inverse)
        for i in range(stop - first):
            for k in range(k_all):
                sums[i, k] *= w[i, k]
        objective += _visit_zeros(lists[1], hot_columns, w, columns, sums)
        objective += _visit_holes(lists[2], holes, w, columns, sums)
        objective += _climb_rows(w, everywhere, overlap, share, sums, to)
        if share > 0.0:
            log_prior += share * _log_sum(w)
        _spread_ones(lists[0], indices, w, inverse, to, ones)
        _spread_zeros(lists[1], hot_columns, w, columns, to, zeros)
        _spread_holes(lists[2], holes, w, columns, to, zeros)
    return objective, log_prior


@jit(reassociate=True)
def _visit_ones(start, indices, weights, columns, sums, inverse):
    """Add sums of f / p and of (1 + p) f for each row; return the objective of the cells.

    `inverse` receives 1 / p of each cell.
    """
    k_all = weights.shape[1]
    w = np.empty(k_all)
    objective = 0.0
    for n in range(weights.shape[0]):
        total = sums[n]
        for k in range(k_all):
            w[k] = weights[n, k]
        product, factors = 1.0, 0
        for entry in range(start[n], start[n + 1]):
            f = columns[indices[entry]]
            p = 0.0
            for k in range(k_all):
                p += w[k] * f[k]
            q, back = 1.0 / p, 1.0 + p
            inverse[entry - start[0]] = q
            for k in range(k_all):
                total[k] += q * f[k]
            for k in range(k_all):
                total[k_all + k] += back * f[k]
            objective += p + 0.5 * p * p
            product *= p
            factors += 1
            if factors == 16:
                objective += np.log(product)
                product, factors = 1.0, 0
        objective += np.log(product)
    return objective


@jit(reassociate=True)
def _visit_zeros(start, indices, weights, columns, sums):
    """The same for hot zeros: w (1 - f) / (1 - p) and (1 + p) f."""
    k_all = weights.shape[1]
    objective = 0.0
    for n in range(weights.shape[0]):
        w, total = weights[n], sums[n]
        for entry in range(start[n], start[n + 1]):
            f = columns[indices[entry]]
            p = 0.0
            for k in range(k_all):
                p += w[k] * f[k]
            q, back = 1.0 / (1.0 - p), 1.0 + p
            for k in range(k_all):
                total[k] += q * w[k] * (1.0 - f[k])
            for k in range(k_all):
                total[k_all + k] += back * f[k]
            objective += p + 0.5 * p * p + np.log(1.0 - p)
    return objective


@jit(reassociate=True)
def _visit_holes(start, indices, weights, columns, sums):
    """The same for cells not observed: (1 + p) f alone."""
    k_all = weights.shape[1]
    objective = 0.0
    for n in range(weights.shape[0]):
        w, total = weights[n], sums[n]
        for entry in range(start[n], start[n + 1]):
            f = columns[indices[entry]]
            p = 0.0
            for k in range(k_all):
                p += w[k] * f[k]
            for k in range(k_all):
                total[k_all + k] += (1.0 + p) * f[k]
            objective += p + 0.5 * p * p
    return objective


@jit(reassociate=True)
def _spread_ones(start, indices, weights, inverse, new, made):
    """Add w / p and (1 + p) times the new weights to the columns of the listed cells."""
    k_all = weights.shape[1]
    w, renewed = np.empty(k_all), np.empty(k_all)
    for n in range(weights.shape[0]):
        for k in range(k_all):
            w[k] = weights[n, k]
            renewed[k] = new[n, k]
        for entry in range(start[n], start[n + 1]):
            total, q = made[indices[entry]], inverse[entry - start[0]]
            back = 1.0 + 1.0 / q
            for k in range(k_all):
                total[k] += q * w[k]
            for k in range(k_all):
                total[k_all + k] += back * renewed[k]


@jit(reassociate=True)
def _spread_zeros(start, indices, weights, columns, new, made):
    """Add w / (1 - p) and (1 + p) times the new weights."""
    k_all = weights.shape[1]
    for n in range(weights.shape[0]):
        w, renewed = weights[n], new[n]
        for entry in range(start[n], start[n + 1]):
            f, total = columns[indices[entry]], made[indices[entry]]
            p = 0.0
            for k in range(k_all):
                p += w[k] * f[k]
            q, back = 1.0 / (1.0 - p), 1.0 + p
            for k in range(k_all):
                total[k] += q * w[k]
            for k in range(k_all):
                total[k_all + k] += back * renewed[k]


@jit(reassociate=True)
def _spread_holes(start, indices, weights, columns, new, made):
    """Add (1 + p) times the new weights."""
    k_all = weights.shape[1]
    for n in range(weights.shape[0]):
        w, renewed = weights[n], new[n]
        for entry in range(start[n], start[n + 1]):
            f, total = columns[indices[entry]], made[indices[entry]]
            p = 0.0
            for k in range(k_all):
                p += w[k] * f[k]
            for k in range(k_all):
                total[k_all + k] += (1.0 + p) * renewed[k]


@jit
def _log_sum(weights):
    total = 0.0
    for n in range(weights.shape[0]):
        for k in range(weights.shape[1]):
            total += np.log(max(weights[n, k], 1e-300))
    return total


@jit(reassociate=True)
def _climb_rows(weights, everywhere, overlap, share, sums, new):
    """Solve each row for its weights; return the objective of the sums over all cells."""
    k_all = weights.shape[1]
    w, count, slope = np.empty(k_all), np.empty(k_all), np.empty(k_all)
    curve, solved = np.empty(k_all), np.empty(k_all)
    objective = 0.0
    for n in range(weights.shape[0]):
        for k in range(k_all):
            w[k] = weights[n, k]
            count[k] = share + sums[n, k]
            slope[k] = everywhere[k] - sums[n, k_all + k]
            curve[k] = 0.0
        for j in range(k_all):
            by, row = w[j], overlap[j]
            for k in range(k_all):
                curve[k] += by * row[k]
        for k in range(k_all):
            objective -= w[k] * (everywhere[k] + 0.5 * curve[k])
        climb(w, count, slope, curve, solved)
        for k in range(k_all):
            new[n, k] = solved[k]
    return objective


@jit(reassociate=True)
def climb(w0, count, slope, curve, new):
    """Maximise sum_k c_k log w_k - b_k w_k - e_k w_k^2 / (2 w0_k) over the simplex.

    With a multiplier m for the constraint, w_k is the positive root of
    (e_k / w0_k) w^2 + (b_k + m) w = c_k, and the sum of the w_k is decreasing and convex in m:
    Newton's method from the left of the answer cannot miss it. `curve` is changed.
    """
    # A sum and a store never share a loop: whether such a loop runs in vectors, and so in which
    # order it adds up, depends on where the arrays happen to lie in memory.
    n_components = w0.shape[0]
    steep = np.empty(n_components)
    multiplier = 0.0
    for k in range(n_components):
        multiplier += count[k] - w0[k] * (slope[k] + curve[k])
    for k in range(n_components):
        curve[k] /= max(w0[k], 1e-300)
    leftmost = -np.inf
    for k in range(n_components):
        leftmost = max(leftmost, count[k] - slope[k] - curve[k])
    multiplier = max(multiplier, leftmost)
    total = 0.0
    for _ in range(50):
        for k in range(n_components):
            b = slope[k] + multiplier
            root = np.sqrt(b * b + 4.0 * curve[k] * count[k])
            # Whichever of the two forms of the root does not subtract nearly equal numbers.
            top = 2.0 * count[k] if b > 0.0 else root - b
            bottom = b + root if b > 0.0 else 2.0 * curve[k]
            new[k] = top / bottom if bottom > 0.0 else 1.0
            steep[k] = root
        total, steepness = 0.0, 0.0
        for k in range(n_components):
            total += new[k]
            steepness += new[k] / steep[k] if steep[k] > 0.0 else 0.0
        gap = total - 1.0
        if abs(gap) < _ENOUGH or steepness <= 0.0:
            break
        multiplier = max(multiplier + gap / steepness, leftmost)
    for k in range(n_components):
        new[k] = new[k] / total if 0.0 < total < np.inf else w0[k]
