"""Removal of redundant features before a chain starts.

The same table can be written with more features or with fewer: where column features divide the
columns between them, the bias makes one of them superfluous, and two features may do the work of
one. Such states predict alike, but the one with fewer features has far more posterior probability,
and single entries, births, splits and merges seldom lead from one to the other. So before a chain
starts, each feature is removed if the chain does as well without it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from falsezero.models.bmf.state import State

_TRIES = 4
"""Settling sweeps over which the log joint density of a state is averaged."""


def without_redundant(state: State, settle: Callable[[State], State]) -> State:
    """The state without features of either side that a few settling sweeps do as well without.

    `settle` is a sweep that keeps the number of features and fills in the log joint density.
    """
    level, state = _level(state, settle)
    for _ in range(2):
        for feature in reversed(range(state.rows.n_fixed, state.rows.on.shape[1])):
            if state.rows.on[:, feature].any():
                fewer, trial = _level(_taken_away(state, feature), settle)
                if fewer > level:
                    level, state = fewer, trial
        state, settle = state.flipped(), _on_the_other_side(settle)
    return state


def _level(state: State, settle: Callable[[State], State]) -> tuple[float, State]:
    """Mean log joint density of a few settling sweeps, and their final state."""
    total = 0.0
    for _ in range(_TRIES):
        state = settle(state)
        total += state.log_joint
    return total / _TRIES, state


def _on_the_other_side(settle: Callable[[State], State]) -> Callable[[State], State]:
    return lambda state: settle(state.flipped()).flipped()


def _taken_away(state: State, feature: int) -> State:
    """The state without one row feature, with the weights that change the predictor least.

    In the finite model the feature stays, but no row has it.
    """
    rows, kept = state.rows, np.delete(state.rows.on, feature, axis=1)
    weights = np.linalg.pinv(kept.astype(float)) @ state.rows.on @ state.weights
    if (state.weights > 0).all():
        weights = np.maximum(weights, 1e-3 * state.weights.mean())
    if rows.finite:
        kept = np.insert(kept, feature, 0, axis=1)
        weights = np.insert(weights, feature, state.weights[feature], axis=0)
    on = np.ascontiguousarray(kept, dtype=np.uint8)
    return state._replace(rows=rows._replace(on=on), weights=np.ascontiguousarray(weights))
