"""Moves of the sampler of repeated looks that are judged with presences summed out.

Three kinds take turns. A column may change its rate; it may change its rate and, the other way, how
common it is, which leaves what was seen about as likely; and the spread between cells may change,
with all rates scaled so that their means over cells stay about the same:

    s -> s', (b, centre, width) -> kappa (b, centre, width),  kappa^2 = (1 + q s'^2) / (1 + q s^2)

with q = pi / 8. In the last the density of b changes by kappa^-T and so do volumes, by kappa^T.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from falsezero.models.convex.detection import LookRates
from falsezero.models.convex.looks_steps import LooksSteps, State

SPREAD_WIDTH = 2.0
"""Standard deviation of the half-normal prior of the spread between cells."""
_STRIDES = (0.1, 0.3, 1.0)
_TRADE = 0.7
"""By how much the log odds of a column's content fall where those of its rate rise by one."""
_SPREAD_STRIDE = 0.2
_FLATTER = np.pi / 8
_EDGE = 1e-15


class Proposal(NamedTuple):
    """Another state, and what its density and the volume add to its log likelihood."""

    drawn: State
    by_column: np.ndarray
    """Added to each column; columns are judged one by one unless `together` is finite."""
    together: np.ndarray


def proposed(drawn: State, shapes: np.ndarray, steps: LooksSteps, rng: Any) -> Proposal | None:
    """A move of a kind drawn at random; None where detection is known."""
    if steps.seen is None or drawn.seen is None:
        return None
    kind = rng.random()
    if steps.seen.learns_spread and kind < 1 / 3:
        return _other_spread(drawn, steps.seen, rng)
    return _other_rates(drawn, shapes, rng, trades=kind > 2 / 3)


def accepted(
    drawn: State, trial: Proposal, gains: np.ndarray, steps: LooksSteps, rng: Any
) -> State:
    """The trial where it was accepted, as a whole or column by column."""
    if np.isfinite(trial.together):
        whole = np.log(rng.random()) < gains.sum() + trial.together
        return trial.drawn if whole else drawn
    takes = np.log(rng.random(len(gains))) < gains + trial.by_column
    parts = {
        name: np.where(takes, getattr(trial.drawn, name), getattr(drawn, name))
        for name in ("alpha", "beta", "ones", "zeros")
    }
    mean = np.where(takes[:, None], trial.drawn.seen_mean, drawn.seen_mean)
    return drawn._replace(seen_mean=mean, **parts)


def _other_rates(drawn: State, shapes: np.ndarray, rng: Any, trades: bool) -> Proposal:
    assert drawn.seen is not None
    n_columns = len(drawn.seen_mean)
    step = rng.choice(_STRIDES) * rng.standard_normal(n_columns)
    mean = drawn.seen_mean.copy()
    mean[:, 0] += step
    centre, width2 = drawn.seen.centre[0], drawn.seen.width2[0]
    before, after = drawn.seen_mean[:, 0] - centre, mean[:, 0] - centre
    by_column = 0.5 * (before**2 - after**2) / width2
    new = drawn._replace(seen_mean=mean)
    if trades:
        a = expit(logit(drawn.ones) - _TRADE * step).clip(_EDGE, 1 - _EDGE)
        new = new._replace(alpha=a, beta=1 - a, ones=a, zeros=1 - a)
        for value, old, shape in ((a, drawn.ones, shapes[0]), (1 - a, drawn.zeros, shapes[1])):
            by_column = by_column + shape * (np.log(value) - np.log(old)).sum(axis=0)
    return Proposal(new, by_column, np.array(np.nan))


def _other_spread(drawn: State, rates: LookRates, rng: Any) -> Proposal:
    assert drawn.seen is not None
    effects, old = drawn.seen, float(drawn.seen.spread)
    new = old * np.exp(_SPREAD_STRIDE * rng.standard_normal())
    kappa = np.sqrt((1 + _FLATTER * new**2) / (1 + _FLATTER * old**2))
    mean, centre, width2 = drawn.seen_mean.copy(), effects.centre.copy(), effects.width2.copy()
    mean[:, 0] *= kappa
    centre[0] *= kappa
    width2[0] *= kappa**2
    together = np.log(new / old) + 0.5 * (old**2 - new**2) / SPREAD_WIDTH**2 + 3 * np.log(kappa)
    level, level_width, usual = rates.prior.level, rates.prior.level_width, rates.prior.width**2
    before, after = (effects.centre[0] - level), (centre[0] - level)
    together += 0.5 * (before**2 - after**2) / level_width**2
    together += 0.5 * usual * (1 / effects.width2[0] - 1 / width2[0]) - 3 * np.log(kappa)
    effects = effects._replace(spread=np.array(new), centre=centre, width2=width2)
    return Proposal(
        drawn._replace(seen_mean=mean, seen=effects), np.zeros(len(mean)), np.array(together)
    )
