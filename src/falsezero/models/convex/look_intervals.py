"""Intervals for detection and for how much is there, from one fit of repeated looks.

For each column two things are uncertain: its detection (b, on the logit scale) and how common it is
(c, a shift of the log odds of its content). With presences known, a cell with nu looks, x ones,
rate d and content pi would tell r nu d (1 - d) of b and pi (1 - pi) of c. They are not known: by
Louis's formula (1982) the information left is

    I = sum_n diag(r nu d (1 - d), pi (1 - pi))  -  sum_n r (1 - r) s s',   s = (x - nu d, 1)   (2)

with r the probability that the thing is there. The number of occupied cells N = sum r varies by
sum r (1 - r), because presences are uncertain, and by g' I^-1 g with g = sum r (1 - r) s, because
detection and content are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from falsezero.data.errors import DataError
from falsezero.data.looks import as_looks
from falsezero.data.tidy import Tidy

_LEAST_SHARE = 0.1
"""Information is at least this share of that with presences known: (2) is an approximation."""


def rate_covariance(model: Any, blocks: Any, local: list[Any]) -> np.ndarray:
    """Posterior covariance of b and c for each column, columns x 2 x 2, by (2)."""
    n_columns = blocks.shape[1]
    known, lost = np.zeros((n_columns, 2)), np.zeros((n_columns, 2, 2))
    known += _precision(model)
    steps = model._steps(blocks)
    for block, part in zip(blocks, local, strict=True):
        present = model._plain_present(steps, block, part, model.state_)[0]
        content = model._content(part, model.state_)
        tries = block.cells(block.patterns.tries.sum(axis=1))
        score = cell_scores(model, block)
        d = model.detection_
        known[:, 0] += (present * tries * d * (1 - d)).sum(axis=0)
        known[:, 1] += (block.is_observed * content * (1 - content)).sum(axis=0)
        spread = present * (1 - present) * block.is_observed
        lost += np.einsum("nt,int,jnt->tij", spread, score, score, optimize=True)
    # In units of the information with presences known, so that a floor means the same everywhere.
    scale = 1 / np.sqrt(known)
    share = np.eye(2) - lost * scale[:, :, None] * scale[:, None, :]
    values, vectors = np.linalg.eigh(share)
    inverse = (vectors / np.maximum(values, _LEAST_SHARE)[:, None, :]) @ vectors.swapaxes(1, 2)
    return np.asarray(inverse * scale[:, :, None] * scale[:, None, :])


def cell_scores(model: Any, block: Any) -> np.ndarray:
    """s of (2) for every cell, 2 x rows x columns."""
    ones = block.cells(block.patterns.ones.sum(axis=1)).astype(float)
    tries = block.cells(block.patterns.tries.sum(axis=1))
    return np.stack([ones - tries * model.detection_, np.ones_like(ones)])


def averaged_over_rates(present: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """E[r] where logit r is uncertain with this variance (MacKay's approximation).

    >>> averaged_over_rates(np.array([0.1, 0.5, 1.0]), np.array([1.0, 1.0, 1.0])).round(3)
    array([0.134, 0.5  , 1.   ])
    """
    inside = np.clip(present, 1e-12, 1 - 1e-12)
    flat = expit(logit(inside) / np.sqrt(1 + np.pi * variance / 8))
    return np.asarray(np.where(present == inside, flat, present))


def look_intervals(model: Any, X: Any, level: float, by: str) -> Tidy:
    """Detection and number of occupied cells of each column, or the latter of each row."""
    looks = as_looks(X)
    ones, tries = (part.astype(float) for part in looks.counts)
    present, d, covariance = np.asarray(model.present(X)), model.detection_, model.rate_covariance_
    spread = present * (1 - present)
    slope = spread * np.stack([ones - tries * d, np.ones_like(present)])
    axis = 0 if by == "columns" else 1
    if axis == 0:
        total = slope.sum(axis=1)
        by_rates = np.einsum("it,tij,jt->t", total, covariance, total)
    else:
        by_rates = np.einsum("int,tij,jnt->n", slope, covariance, slope, optimize=True)
    error = np.sqrt(spread.sum(axis=axis) + by_rates)
    z = float(norm.ppf(0.5 + level / 2))
    table: dict[str, Any] = {by[:-1]: looks.columns if axis == 0 else looks.rows}
    if axis == 0:
        reach, odds = z * np.sqrt(covariance[:, 0, 0]), logit(np.clip(d, 1e-9, 1 - 1e-9))
        table |= {"detection": d, "detection_low": expit(odds - reach)}
        table["detection_high"] = expit(odds + reach)
    seen, there = (ones > 0).sum(axis=axis), present.sum(axis=axis)
    table |= {"seen": seen, "occupied": there}
    floor = 0 if model.false_alarms else seen
    table["occupied_low"] = np.maximum(there - z * error, floor)
    table["occupied_high"] = np.minimum(there + z * error, present.shape[axis])
    return Tidy(table)


def check_interval(level: float, by: str) -> None:
    """Refuse levels and groupings that there are none of."""
    if by not in ("columns", "rows"):
        raise DataError(f'by={by!r} must be "columns" or "rows".')
    if not 0 < level < 1:
        raise DataError(f"level={level!r} must lie between 0 and 1, as in level=0.9.")


def mean_intervals(tables: list[Tidy], X: Any, answers: Any, by: str) -> Tidy:
    """Means over the tables of some models, occupied cells moved to the mean of `answers`."""
    looks, axis = as_looks(X), 0 if by == "columns" else 1
    table = {name: tables[0][name] for name in tables[0].columns}
    for name in table.keys() - {by[:-1], "seen"}:
        table[name] = np.mean([each[name] for each in tables], axis=0)
    there = answers.present.sum(axis=axis)
    shift, size = there - table["occupied"], looks.counts[0].shape[axis]
    for name in ("occupied", "occupied_low", "occupied_high"):
        table[name] = np.clip(table[name] + shift, 0, size)
    table["occupied_low"] = np.maximum(
        table["occupied_low"], np.minimum(tables[0]["seen"], table["occupied"])
    )
    return Tidy(table)


def drawn_intervals(model: Any, X: Any, answers: Any, level: float, by: str) -> Tidy:
    """The same from posterior draws: quantiles of detection and of the number of occupied cells."""
    check_interval(level, by)
    looks = as_looks(X)
    axis = 0 if by == "columns" else 1
    drawn = answers.by_columns if axis == 0 else answers.by_rows
    ends = (0.5 - level / 2, 0.5 + level / 2)
    table: dict[str, Any] = {by[:-1]: looks.columns if axis == 0 else looks.rows}
    if axis == 0:
        low, high = np.quantile(model.detection_draws_, ends, axis=0)
        table |= {"detection": model.detection_, "detection_low": low, "detection_high": high}
    table["seen"] = (looks.counts[0] > 0).sum(axis=axis)
    table["occupied"] = answers.present.sum(axis=axis)
    table["occupied_low"] = np.quantile(drawn, ends[0], axis=0, method="lower")
    table["occupied_high"] = np.quantile(drawn, ends[1], axis=0, method="higher")
    return Tidy(table)


def _precision(model: Any) -> np.ndarray:
    """Prior precision of detection and content."""
    effects = model.state_.seen
    return np.array([1e12 if effects is None else 1 / effects.width2[0], 0.25])
