"""Answers averaged over posterior draws of a fit of repeated looks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from falsezero.backends import workers
from falsezero.inference import tree
from falsezero.inference.chains import sample
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer
from falsezero.models.convex.looks_gibbs import GibbsState, LooksGibbs, pointed_rows
from falsezero.models.convex.looks_steps import State

_THIN = 4
"""Two draws of the cells, and two trials of other rates, to each draw that is kept."""
_ALARMED_THIN = 16
"""The same where there are false alarms: chains mix slowly there, and shorter ones give intervals
that are too narrow."""
_LEAST_WARMUP = 400
"""A chain starts with a wide spread between cells; after half as many iterations it may be too wide
still, and `present` too high, where cells do not differ."""
_ROW_SWEEPS = 2
"""Iterations that the rows have to follow each kept draw of all that they share."""


class Draws(NamedTuple):
    """Draws of what all rows share, stacked along a first axis."""

    states: State
    shapes: np.ndarray
    """alpha0, beta0 and gamma0."""

    def __len__(self) -> int:
        return len(self.shapes)

    def at(self, number: int) -> GibbsState:
        """One of the draws."""
        leaves = [leaf[number] for leaf in tree.flatten(self.states)]
        shapes = self.shapes[number]
        return GibbsState(tree.unflatten(self.states, leaves), shapes, shapes[2], None)


class Answers(NamedTuple):
    """What is asked of every cell, and draws of how many cells are occupied (none with "vb")."""

    present: np.ndarray
    again: np.ndarray
    expected: np.ndarray
    """Probability of a one at a look, the cell's own looks apart from what they say of its row."""
    by_columns: np.ndarray
    by_rows: np.ndarray


def sampled(model: Any, blocks: Any, start: Point, seed: np.random.SeedSequence) -> Draws:
    """Run one chain from a variational fit, at least as long for warming up as for its draws."""
    steps = LooksGibbs(model._steps(blocks, draws=True), start, _shapes(model))
    thin = _ALARMED_THIN if model.false_alarms else _THIN
    [chain] = sample(
        steps,
        blocks,
        [seed],
        warmup=max(_LEAST_WARMUP, thin * model.n_draws),
        draws=model.n_draws,
        thin=thin,
        record=lambda point: point.state,
        n_jobs=model.n_jobs,
    )
    leaves = zip(*(tree.flatten(state.drawn) for state in chain.draws), strict=True)
    stacked = [np.stack(leaf) for leaf in leaves]
    states = tree.unflatten(chain.draws[0].drawn, stacked)
    return Draws(states, np.stack([state.shapes for state in chain.draws]))


def drawn_answers(model: Any, blocks: Any, local: list[Any], design: Any = None) -> Answers:
    """Average over the draws; `local` are the rows of `blocks` under the variational fit.

    `design` holds the terms of the next look at each row; None for average conditions.
    """
    rng = np.random.default_rng(model.draw_seed_)
    present, again, expected = np.zeros((3, *blocks.shape))
    n_draws = len(model.draws_)
    by_columns, by_rows = (np.zeros((n_draws, size), dtype=int) for size in blocks.shape[::-1])
    steps = model._steps(blocks)
    for number, (state, rows) in enumerate(_followed(model, blocks, local, rng)):
        for block, part in zip(blocks, rows, strict=True):
            p, hit, alarm = model._answers_at(steps, block, part, state, design)
            present[block.rows] += p
            again[block.rows] += p * hit + (1 - p) * alarm
            expected[block.rows] += model._recorded(model._content(part, state))
            there = rng.random(p.shape) < p
            by_rows[number, block.rows] = there.sum(axis=1)
            by_columns[number] += there.sum(axis=0)
    for total in (present, again, expected):
        total /= n_draws
    return Answers(present, again, expected, by_columns, by_rows)


def _followed(
    model: Any, blocks: Any, local: list[Any], rng: np.random.Generator
) -> Iterator[tuple[State, list[Any]]]:
    """Each draw of what rows share, and rows drawn given it."""
    rows = pointed_rows(Point(model.state_, local))
    steps = LooksGibbs(model._steps(blocks, draws=True), Point(model.state_, local), _shapes(model))
    with workers(model.n_jobs, len(blocks)) as run:
        advance = advancer(steps, blocks, run, frozen=True, rng=rng)
        for number in range(len(model.draws_)):
            point = Point(model.draws_.at(number), rows)
            for _ in range(_ROW_SWEEPS):
                point, _, _ = advance(point)
            rows = point.local
            yield point.state.drawn, rows


def _shapes(model: Any) -> np.ndarray:
    """Where the search for the shapes starts."""
    return np.array([model.alpha0, model.beta0, model.gamma0], dtype=float)
