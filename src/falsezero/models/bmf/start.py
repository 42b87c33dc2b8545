"""Initial features of a chain of binary matrix factorization, from singular vectors.

A chain that starts with few features from the prior can stay there: a new feature of a single row
seldom survives, and one that would help many rows is seldom proposed. Binary features are what
independent component analysis is good at (no distribution has less kurtosis than a fair coin), so
the leading singular vectors of the table are rotated until they look independent, and each is cut
in two. Each chain weights the rows at random, so that chains start apart. Where a chain starts
does not change its stationary distribution.
"""

from __future__ import annotations

import numpy as np

from falsezero.models.bmf.state import Cells, Features

_MOST = 12
"""Features of each side at the start; the chain adds others."""

_CUTS = 50
_TURNS = 200


def found_features(cells: Cells, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Binary features of rows and of columns that explain what column means leave unexplained.

    There are as many as singular values above those of a table whose columns were permuted.
    """
    table = _standardised(cells)
    rank = _rank(table, rng)
    if not rank:
        return (np.zeros((n, 0), np.uint8) for n in table.shape)  # type: ignore[return-value]
    emphasis = np.sqrt(rng.standard_exponential(len(table)))[:, None]
    _, _, axes = np.linalg.svd(emphasis * table, full_matrices=False)
    scores = table @ axes[:rank].T
    loadings = axes[:rank].T * np.linalg.norm(scores, axis=0)
    return _binary(scores, rng), _binary(loadings, rng)


def begun_with(prior: Features, found: np.ndarray, is_higher: np.ndarray | None) -> Features:
    """Initial features of one side: known ones, then those that were found.

    `is_higher` is the size of each row (or column), for models with positive weights: there a
    feature can only add, so it is on where rows are larger.
    """
    if is_higher is not None:
        for feature in found.T:
            if is_higher[feature == 1].mean() < is_higher[feature == 0].mean():
                feature[:] = 1 - feature
    if prior.finite:
        few = found[:, : prior.finite]
        found = np.pad(few, ((0, 0), (0, prior.finite - few.shape[1])))
    else:
        found = found[:, found.any(axis=0)]
    on = np.hstack([prior.on[:, : prior.n_fixed], found])
    return prior._replace(on=np.ascontiguousarray(on, dtype=np.uint8))


def _standardised(cells: Cells) -> np.ndarray:
    """Cells less their column's mean, over its deviation; zero where nothing was observed."""
    seen = np.maximum(cells.observed.sum(axis=0), 1)
    centred = (cells.values - cells.values.sum(axis=0) / seen) * cells.observed
    deviation = np.sqrt((centred**2).sum(axis=0) / seen)
    return np.where(deviation > 1e-9, centred / np.maximum(deviation, 1e-9), 0.0)


def _rank(table: np.ndarray, rng: np.random.Generator) -> int:
    """Singular values above the largest of a table with no structure but its columns'."""
    most = min(_MOST, (min(table.shape) - 1) // 2)
    if most < 1:
        return 0
    noise = max(np.linalg.norm(rng.permuted(table, axis=0), 2) for _ in range(2))
    return int(np.minimum((np.linalg.svd(table, compute_uv=False) > noise).sum(), most))


def _binary(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Independent components of the scores, as many as vary, each cut in two."""
    left, sizes, _ = np.linalg.svd(scores - scores.mean(axis=0), full_matrices=False)
    white = left[:, sizes > 1e-6 * max(sizes[0], 1e-300)] * np.sqrt(len(left))
    parts = white @ _independent(white, rng)
    cut = [_halves(part) for part in parts.T]
    return np.array(cut, dtype=np.uint8).reshape(len(cut), len(left)).T


def _independent(white: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The rotation that makes white scores independent: FastICA with cubes (Hyvärinen, 1999)."""
    k = white.shape[1]
    rotation = _orthogonal(rng.standard_normal((k, k)))
    for _ in range(_TURNS):
        parts = white @ rotation
        moved = _orthogonal(white.T @ parts**3 / len(white) - 3 * rotation)
        settled = np.abs(np.abs((moved * rotation).sum(axis=0)) - 1).max(initial=0) < 1e-6
        rotation = moved
        if settled:
            break
    return rotation


def _orthogonal(matrix: np.ndarray) -> np.ndarray:
    """The nearest orthogonal matrix."""
    left, _, right = np.linalg.svd(matrix)
    return left @ right


def _halves(values: np.ndarray) -> np.ndarray:
    """Whether each value is in the smaller of two clusters on a line."""
    cut = float(np.median(values))
    for _ in range(_CUTS):
        above = values > cut
        if above.all() or not above.any():
            break
        moved = 0.5 * float(values[above].mean() + values[~above].mean())
        if moved == cut:
            break
        cut = moved
    above = values > cut
    return above if above.mean() <= 0.5 else ~above
