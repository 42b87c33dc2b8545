"""Acceleration of EM and variational fits: longer strides that never lower the objective."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

import numpy as np

from falsezero.inference.contract import Advance, Iteration, Point, Steps

_GROWTH = 4.0


RowStrides = Callable[[list[Any], Any, float], tuple[list[Any], float]]
"""Extrapolates the rows of all blocks. Takes three points of each block, a state and the longest
stride allowed; returns trial points inside the domain and the longest stride taken."""


def squarem(
    steps: Steps,
    advance: Advance,
    point: Point,
    *,
    frozen: bool = False,
    stride: float = 1.0,
    extrapolate_rows: RowStrides | None = None,
) -> Generator[Iteration]:
    """Squared extrapolation (SQUAREM, scheme S3 of Varadhan and Roland, 2008).

    Two plain steps from x0 give x1 and x2, with r = x1 - x0 and v = (x2 - x1) - r. The trial point
    is x0 - 2 a r + a^2 v with a = -|r| / |v|. Its objective comes free with the plain step taken
    from it; where that is below the objective of x1 the trial is dropped and the next cycle starts
    from x2. The objectives reported therefore never fall. `extrapolate_rows` replaces the
    extrapolation of rows in memory, for rows that are kept in files.
    """
    while True:
        start = point
        first, objective, rebased = advance(start)
        yield Iteration(first, objective, "step", False, rebased, stride)
        second, reference, rebased = advance(first)
        yield Iteration(second, reference, "step", rebased, rebased, stride)
        if rebased:
            point = second
            continue
        before = [start, first]
        del start, first, point  # large tables: each holds the weights of all rows
        trial, alpha = _extrapolate(steps, before, second, stride, frozen, extrapolate_rows)
        if trial is None:
            point = second
            continue
        point, objective, rebased = advance(trial)
        del trial
        accepted = rebased or (np.isfinite(objective) and objective >= reference)
        if accepted:
            del second
            stride = stride * _GROWTH if alpha >= stride else stride
            yield Iteration(point, objective, "stride", True, rebased, stride)
        else:
            point = second
            stride = max(1.0, alpha / _GROWTH)
            yield Iteration(point, reference, "stride refused", True, False, stride)


def _extrapolate(
    steps: Steps,
    before: list[Point],
    second: Point,
    stride: float,
    frozen: bool,
    elsewhere: RowStrides | None,
) -> tuple[Point | None, float]:
    """The trial point and its longest stride; None where there is nothing to extrapolate.

    `before` holds the two earlier points. It is emptied, so that the memory of their rows can be
    freed block by block while the trial's rows are computed.
    """
    start, first = before
    before.clear()
    state, longest = second.state, 1.0
    if not frozen:
        states = (start.state, first.state, second.state)
        state, longest = combine(*states, steps.state_params, stride, {})
    local: list[Any] = []
    blocks = list(zip(start.local, first.local, second.local, strict=True))
    del start, first
    if elsewhere is not None:
        local, alpha = elsewhere(blocks, second.state, stride)
        longest = max(longest, alpha)
        if longest == 1.0 and stride > 1.0:
            return None, 1.0
        trial = steps.project(Point(state, []), Point(second.state, []))
        return Point(trial.state, local), longest
    shared = shared_squares(blocks, steps.local_params)
    blocks.reverse()
    while blocks:
        part, alpha = combine(*blocks.pop(), steps.local_params, stride, shared)
        local.append(part)
        longest = max(longest, alpha)
    if longest == 1.0 and stride > 1.0:
        return None, 1.0
    trial = steps.project(Point(state, local), second)
    # A frozen state was learnt from another table, so it stays as it is.
    return trial._replace(state=state) if frozen else trial, longest


def shared_squares(blocks: list[Any], axes: Mapping[str, int | None]) -> dict[str, np.ndarray]:
    """Sums of squares of r and v over all blocks, for fields that share one stride."""
    shared = {field: np.zeros(2) for field, axis in axes.items() if axis is None}
    for x0, x1, x2 in blocks:
        for field, squares in shared.items():
            squares += [
                np.square(part, dtype=float).sum() for part in _differences(x0, x1, x2, field)
            ]
    return shared


def _differences(x0: Any, x1: Any, x2: Any, field: str) -> tuple[np.ndarray, np.ndarray]:
    """r = x1 - x0 and v = (x2 - x1) - r of one field."""
    a, b, c = (getattr(x, field) for x in (x0, x1, x2))
    r = b - a
    v = c - b
    v -= r
    return r, v


def combine(
    x0: Any,
    x1: Any,
    x2: Any,
    axes: Mapping[str, int | None],
    stride: float,
    shared: Mapping[str, np.ndarray],
) -> tuple[Any, float]:
    """x0 + 2 a r + a^2 v for each field, and the largest a; one a for each slice along its axis."""
    changed, longest = {}, 1.0
    for field, axis in axes.items():
        a = getattr(x0, field)
        r, v = _differences(x0, x1, x2, field)
        top, bottom = shared[field] if field in shared else (_squares(r, axis), _squares(v, axis))
        # Limit the quotient to the longest stride, so that it cannot overflow.
        bottom = np.maximum(bottom, np.maximum(top / stride / stride, np.finfo(v.dtype).tiny))
        alpha = np.clip(np.sqrt(top / bottom), 1.0, stride).astype(a.dtype)
        longest = max(longest, float(alpha.max(initial=1.0)))
        # a + alpha (2 r + alpha v), computed in place because there may be many rows.
        v *= alpha
        v += r
        v += r
        v *= alpha
        v += a
        changed[field] = v
    return x2._replace(**changed), longest


def _squares(x: np.ndarray, axis: int | None) -> np.ndarray:
    """Sums of squares along an axis, which is kept with length one."""
    if axis is None:
        return np.square(x).sum(keepdims=True)
    along = x.swapaxes(axis, -1)
    return np.einsum("...i,...i->...", along, along)[..., None].swapaxes(axis, -1)
