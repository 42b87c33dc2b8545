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

from falsezero.kernels.bmf_split import restricted_scan
from falsezero.models._bmf_likelihoods import Likelihood, WeightProposal
from falsezero.models._bmf_state import Cells, Features, State

_LAUNCH_SCANS = 3
_PARTS = np.array([[1, 0], [0, 1], [1, 1]], dtype=float)
"""What a row of the split feature may have: the first part, the second, or both."""


class _Part(NamedTuple):
    """The rows of the table that a move is about, and all that it needs of the rest."""

    rows: np.ndarray
    cells: Cells
    base: np.ndarray
    """Predictor of these rows without the features concerned."""
    anchors: np.ndarray
    state: State
    likelihood: Likelihood

    def propose(self, parts: np.ndarray) -> WeightProposal:
        """Distribution of the weights of features that these rows have as `parts` says."""
        s = self.state
        columns = s.columns.on.astype(float)
        return self.likelihood.propose(
            parts, columns, self.cells, self.base, s.weight_scale, s.precision
        )

    def basis(self, weights: np.ndarray) -> np.ndarray:
        """What features with these weights add to every column."""
        return weights @ self.state.columns.on.T.astype(float)

    def terms(self, added: np.ndarray) -> np.ndarray:
        """Log likelihood of each row when this is added to the base."""
        predictor = self.base + added
        terms = self.likelihood.log_likelihood(self.cells, predictor, self.state.precision)
        return terms.sum(axis=1)

    def weigh(self, parts: np.ndarray, weights: np.ndarray | None, rng: np.random.Generator):
        """Log of likelihood x prior / proposal for weights, drawn here if None; and the weights."""
        proposal = self.propose(parts)
        drawn = proposal.draw(rng) if weights is None else weights
        value = float(self.terms(parts @ self.basis(drawn)).sum()) - proposal.log_density(drawn)
        return value + self.likelihood.weight_log_prior(drawn, self.state.weight_scale), drawn


class _Launch(NamedTuple):
    """Where the last scan of a split begins."""

    choice: np.ndarray
    weights: np.ndarray


_NOTHING = np.empty(0, dtype=np.int64)


def split_merge(
    state: State, cells: Cells, likelihood: Likelihood, rng: np.random.Generator
) -> State:
    """Propose one split or merge of row features; returns the state, changed or not."""
    rows = state.rows
    n, n_learnt = rows.learnt.shape
    if n < 2 or not n_learnt:
        return state
    pair = rng.choice(n, size=2, replace=False)
    available = [np.flatnonzero(rows.learnt[i]) for i in pair]
    if not len(available[0]) or not len(available[1]):
        return state
    one, other = (rows.n_fixed + int(rng.choice(each)) for each in available)
    features = [one] if one == other else [one, other]
    part = _concerned(state, cells, likelihood, pair, features)
    move = _split if one == other else _merge
    trial, ratio = move(part, rng, features)
    if trial is None:
        return state
    ratio += _log_picks(rows, pair) - _log_picks(trial.rows, pair)
    return trial if np.log(rng.random()) < ratio else state


def _split(
    part: _Part, rng: np.random.Generator, features: list[int]
) -> tuple[State | None, float]:
    """A trial state with the feature in two, and the log acceptance ratio but for the picks."""
    state, (feature,) = part.state, features
    rows = state.rows
    empty = rows.n_fixed + np.flatnonzero(~rows.learnt.any(axis=0))
    if rows.finite and not len(empty):
        return None, 0.0
    choice, log_scan = _scan(part, _launch(part, rng), rng)
    parts = _PARTS[choice]
    there, drawn = part.weigh(parts, None, rng)
    here, _ = part.weigh(np.ones((len(parts), 1)), state.weights[[feature]], rng)
    if rows.finite:
        spare, on, weights = int(rng.choice(empty)), rows.on.copy(), state.weights.copy()
    else:
        spare = rows.on.shape[1]
        on = np.pad(rows.on, ((0, 0), (0, 1)))
        weights = np.pad(state.weights, ((0, 1), (0, 0)))
    on[part.rows[:, None], [feature, spare]] = parts
    weights[[feature, spare]] = drawn
    ratio = there - here - log_scan + _prior_gain(rows, parts)
    if rows.finite:
        ratio += float(np.log(len(empty)))
    return state._replace(rows=rows._replace(on=on), weights=weights), ratio


def _merge(
    part: _Part, rng: np.random.Generator, features: list[int]
) -> tuple[State | None, float]:
    """A trial state with the two features in one, and the log acceptance ratio but for picks."""
    state, (keep, drop) = part.state, features
    rows = state.rows
    parts = rows.on[part.rows[:, None], features].astype(float)
    present = (parts @ [1, 2]).astype(np.int64) - 1
    _, log_scan = _scan(part, _launch(part, rng), rng, present)
    here, _ = part.weigh(parts, state.weights[features], rng)
    there, drawn = part.weigh(np.ones((len(parts), 1)), None, rng)
    on, weights = rows.on.copy(), state.weights.copy()
    on[part.rows, keep], weights[keep] = 1, drawn
    ratio = there - here + log_scan - _prior_gain(rows, parts)
    if rows.finite:
        on[:, drop] = 0
        shape = 1, weights.shape[1]
        weights[drop] = part.likelihood.prior_weights(shape, state.weight_scale, rng)
        ratio -= float(np.log((~on[:, rows.n_fixed :].any(axis=0)).sum()))
    else:
        on = np.ascontiguousarray(np.delete(on, drop, axis=1))
        weights = np.delete(weights, drop, axis=0)
    return state._replace(rows=rows._replace(on=on), weights=weights), ratio


def _concerned(
    state: State, cells: Cells, likelihood: Likelihood, pair: np.ndarray, features: list[int]
) -> _Part:
    """The rows that have any of the features, and their predictor without them."""
    on = state.rows.on
    which = np.flatnonzero(on[:, features].any(axis=1))
    rest = on[which].astype(float)
    rest[:, features] = 0
    few = Cells(cells.values[which], cells.observed[which])
    anchors = np.searchsorted(which, pair)
    return _Part(which, few, rest @ state.basis, anchors, state, likelihood)


def _launch(part: _Part, rng: np.random.Generator) -> _Launch:
    """A split that some restricted scans have made plausible, from a random start."""
    choice = rng.integers(3, size=len(part.rows))
    choice[part.anchors] = 0, 1
    for _ in range(_LAUNCH_SCANS):
        weights = part.propose(_PARTS[choice]).draw(rng)
        choice, _ = _scan(part, _Launch(choice, weights), rng)
    return _Launch(choice, part.propose(_PARTS[choice]).draw(rng))


def _scan(
    part: _Part, launch: _Launch, rng: np.random.Generator, wanted: np.ndarray = _NOTHING
) -> tuple[np.ndarray, float]:
    """One restricted Gibbs scan, free or made to arrive at what is `wanted`."""
    rows = part.state.rows
    options = [part.terms(added) for added in _PARTS @ part.basis(launch.weights)]
    log_likelihood = np.column_stack(options)
    return restricted_scan(
        log_likelihood, launch.choice, part.anchors, len(rows.on), rows.mass, wanted, rng
    )


def _prior_gain(rows: Features, parts: np.ndarray) -> float:
    """Log prior of the two parts against the one feature (and, in the finite model, a spare)."""
    before = [len(parts), 0] if rows.finite else [len(parts)]
    gain = rows.column_log_prior(parts.sum(axis=0)).sum()
    return float(gain - rows.column_log_prior(np.array(before, dtype=float)).sum())


def _log_picks(rows: Features, pair: np.ndarray) -> float:
    """Log of how many pairs of features the two picked rows could have offered."""
    return float(np.log(rows.learnt[pair].sum(axis=1, dtype=float)).sum())
