"""Split and merge moves on binary features with restricted Gibbs scans (section 3.3).

Two rows are picked, and one feature of each. If it is the same feature, it is proposed to split it
in two; if not, to merge the two into one that has the rows of both. A split gives every row of the
feature the first part, the second, or both; the first picked row must have the first part, the
second the second. As in Jain and Neal's algorithm for non-conjugate mixtures, the split starts
from a launch state that a few scans have made plausible, and the last scan's probability enters
the acceptance ratio. Weights of the features concerned are proposed from (an approximation to)
their posterior, which integrates them out for Gaussian tables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from falsezero.models.bmf.likelihoods import Likelihood
from falsezero.models.bmf.parts import KINDS, NO_ROWS, PARTS, WHOLE, Part, scan_parts
from falsezero.models.bmf.state import Cells, Features, State

_STEPS = 5
"""Steps towards the mode of the weights, from nothing."""


class _Move(NamedTuple):
    """What a split and its inverse merge have in common."""

    features: list[int]
    pair: np.ndarray
    """The picked rows."""
    which: np.ndarray
    """The rows that have any of the features."""
    anchors: np.ndarray
    """Where the picked rows are among them."""
    part: Part
    state: State
    likelihood: Likelihood


class _Launch(NamedTuple):
    """Where the last scan of a split begins."""

    choice: np.ndarray
    weights: np.ndarray


def split_merge(
    state: State, cells: Cells, likelihood: Likelihood, rng: np.random.Generator
) -> State:
    """Propose one split or merge of row features; returns the state, changed or not."""
    rows = state.rows
    n, n_learnt = rows.learnt.shape
    if n < 2 or not n_learnt:
        return state
    first, second = int(rng.integers(n)), int(rng.integers(n - 1))
    pair = np.array([first, second + (second >= first)])
    available = [np.flatnonzero(rows.learnt[i]) for i in pair]
    if not len(available[0]) or not len(available[1]):
        return state
    one, other = (rows.n_fixed + int(each[rng.integers(len(each))]) for each in available)
    if one == other and rows.finite and rows.learnt.any(axis=0).all():
        return state
    features = [one] if one == other else [one, other]
    move = _concerned(state, likelihood.completed(state, cells, rng), likelihood, pair, features)
    needed = float(np.log(rng.random()))
    trial = (_split if one == other else _merge)(move, needed, rng)
    return state if trial is None else trial


def _concerned(
    state: State, cells: Cells, likelihood: Likelihood, pair: np.ndarray, features: list[int]
) -> _Move:
    """The rows with any of the features, given all their other features."""
    on = state.rows.on
    which = np.flatnonzero(on[:, features].any(axis=1))
    rest = on[which].astype(float)
    rest[:, features] = 0
    few = Cells(cells.values[which], cells.observed[which])
    part = KINDS[likelihood.kind](state, few, rest)
    return _Move(features, pair, which, np.searchsorted(which, pair), part, state, likelihood)


def _split(move: _Move, needed: float, rng: np.random.Generator) -> State | None:
    """The state with the feature split in two, if the log acceptance ratio is large enough."""
    state, (feature,) = move.state, move.features
    rows = state.rows
    launch = _launch(move, rng)
    choice, log_scan = _scan(move, launch, rng)
    there, drawn = _weigh(move, PARTS, choice, None, rng)
    here, _ = _weigh(move, WHOLE, np.zeros_like(choice), state.weights[[feature]], rng)
    ratio = there - here - log_scan + _prior_gain(rows, choice)
    ratio -= _log_picks(rows, move.pair, (choice[move.anchors] == 2).astype(int))
    empty = rows.n_fixed + np.flatnonzero(~rows.learnt.any(axis=0))
    if rows.finite:
        ratio += float(np.log(len(empty)))
    if needed >= ratio:
        return None
    if rows.finite:
        spare, on, weights = int(rng.choice(empty)), rows.on.copy(), state.weights.copy()
    else:
        spare = rows.on.shape[1]
        on = np.pad(rows.on, ((0, 0), (0, 1)))
        weights = np.pad(state.weights, ((0, 1), (0, 0)))
    on[move.which[:, None], [feature, spare]] = PARTS[choice]
    weights[[feature, spare]] = drawn
    return state._replace(rows=rows._replace(on=on), weights=weights)


def _merge(move: _Move, needed: float, rng: np.random.Generator) -> State | None:
    """The state with the two features merged, if the log acceptance ratio is large enough.

    The scan that would undo the merge can only lower the ratio, because its log probability is
    negative; most merges are rejected without it.
    """
    state, (keep, drop) = move.state, move.features
    rows = state.rows
    first, second = rows.on[move.which[:, None], move.features].T.astype(np.int64)
    choice = first + 2 * second - 1
    here, _ = _weigh(move, PARTS, choice, state.weights[move.features], rng)
    there, drawn = _weigh(move, WHOLE, np.zeros_like(choice), None, rng)
    ratio = there - here - _prior_gain(rows, choice)
    ratio -= _log_picks(rows, move.pair, -(choice[move.anchors] == 2).astype(int))
    if rows.finite:
        ratio -= float(np.log(1 + (~rows.learnt.any(axis=0)).sum()))
    if needed >= ratio or needed >= ratio + _scan(move, _launch(move, rng), rng, choice)[1]:
        return None
    on, weights = rows.on.copy(), state.weights.copy()
    on[move.which, keep], weights[keep] = 1, drawn
    if rows.finite:
        on[:, drop] = 0
        shape = 1, weights.shape[1]
        weights[drop] = move.likelihood.prior_weights(shape, state.weight_scale, rng)
    else:
        on = np.ascontiguousarray(np.delete(on, drop, axis=1))
        weights = np.delete(weights, drop, axis=0)
    return state._replace(rows=rows._replace(on=on), weights=weights)


def _launch(move: _Move, rng: np.random.Generator) -> _Launch:
    """A split made plausible by restricted scans from a random start."""
    choice = rng.integers(3, size=len(move.which))
    choice[move.anchors] = 0, 1
    return _Launch(*move.part.launch(choice, move.anchors, move.state.rows, rng))


def _scan(
    move: _Move, launch: _Launch, rng: np.random.Generator, wanted: np.ndarray = NO_ROWS
) -> tuple[np.ndarray, float]:
    """The last scan, free or forced to end at `wanted`."""
    rows = move.state.rows
    return scan_parts(move.part, launch.choice, launch.weights, move.anchors, rows, wanted, rng)


def _weigh(
    move: _Move,
    options: np.ndarray,
    choice: np.ndarray,
    weights: np.ndarray | None,
    rng: np.random.Generator,
) -> tuple[float, np.ndarray]:
    """Log of likelihood x prior / proposal for weights, drawn here if None; and the weights."""
    part = move.part
    proposal = part.propose(options, choice, part.initial_weights(options), _STEPS)
    drawn = proposal.draw(rng) if weights is None else part.inside(weights)
    value = part.terms(options, drawn)[np.arange(len(choice)), choice].sum()
    value -= proposal.log_density(drawn)
    prior = move.likelihood.weight_log_prior(drawn, move.state.weight_scale)
    return float(value) + prior, part.outside(drawn)


def _prior_gain(rows: Features, choice: np.ndarray) -> float:
    """Log prior of the two parts against the one feature (and, in the finite model, a spare)."""
    n = len(choice)
    before = [n, 0] if rows.finite else [n]
    after = [n - np.count_nonzero(choice == 1), n - np.count_nonzero(choice == 0)]
    gain = rows.column_log_prior(np.array(after, dtype=float)).sum()
    return float(gain - rows.column_log_prior(np.array(before, dtype=float)).sum())


def _log_picks(rows: Features, pair: np.ndarray, gained: np.ndarray) -> float:
    """Log ratio of the numbers of features to pick from, after a move and before."""
    before = rows.learnt[pair].sum(axis=1, dtype=float)
    return float(np.log((before + gained) / before).sum())
