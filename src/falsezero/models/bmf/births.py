"""Birth and death of singleton features, where their number is not fixed (section 3.2)."""

from __future__ import annotations

import numpy as np

from falsezero.kernels.bmf_birth import birth_scan
from falsezero.models.bmf.likelihoods import Likelihood
from falsezero.models.bmf.state import Cells, State

_FEWEST, _SHARE = 3, 100
"""Rows visited in one move: one in a hundred, three at least. Few, because a new feature must
spread over the rows it is for before the next is born, or every row gets a feature of its own and
the chain is stuck there."""
_ROOM = 4


def births_and_deaths(
    state: State, cells: Cells, likelihood: Likelihood, rng: np.random.Generator
) -> State:
    """Propose one singleton feature more or fewer in some rows (eqs. 6-8)."""
    rows = state.rows
    n, width = rows.on.shape
    chosen = rng.permutation(n)[: max(_FEWEST, n // _SHARE)]
    on, weights = rows.on, state.weights
    predictor = state.predictor()
    reached = 0
    while reached < len(chosen):
        spare = np.zeros((n, _ROOM), dtype=np.uint8)
        on = np.hstack([on[:, :width], spare])
        weights = np.vstack([weights[:width], np.zeros((_ROOM, weights.shape[1]))])
        width, reached = birth_scan(
            likelihood.kind, chosen, reached, on, width, rows.n_fixed, rows.birth_rate,
            weights, state.columns.on, cells.values, cells.observed, predictor,
            state.weight_scale, state.precision, rng,
        )  # fmt: skip
    on = np.ascontiguousarray(on[:, :width])
    return state._replace(rows=rows._replace(on=on), weights=weights[:width].copy())
