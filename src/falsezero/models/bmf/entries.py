"""Moves on entries of the feature matrices: single entries, and several of a row at once."""

from __future__ import annotations

import numpy as np

from falsezero.models.bmf.likelihoods import Likelihood
from falsezero.models.bmf.state import Cells, State

_BLOCK = 3
"""Features of a row that are proposed together."""


def single_entries(
    state: State, cells: Cells, likelihood: Likelihood, rng: np.random.Generator
) -> State:
    """Gibbs sampling of every entry of the row features (eqs. 2-5)."""
    on = state.rows.on.copy()
    likelihood.scan(state, cells, on, rng)
    return state._replace(rows=state.rows._replace(on=on))


def entry_blocks(
    state: State, cells: Cells, likelihood: Likelihood, rng: np.random.Generator
) -> State:
    """Propose several features of each row at once from their conditional priors (section 3.3)."""
    on = state.rows.on.copy()
    likelihood.scan_blocks(state, cells, on, _BLOCK, rng)
    return state._replace(rows=state.rows._replace(on=on))
