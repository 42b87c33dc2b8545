"""The sampler of binary matrix factorization: one sweep is every move once, on both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from falsezero.data.blocks import Block, Blocks
from falsezero.inference.contract import Point
from falsezero.models.bmf.births import births_and_deaths
from falsezero.models.bmf.entries import entry_blocks, single_entries
from falsezero.models.bmf.likelihoods import Likelihood
from falsezero.models.bmf.redundant import without_redundant
from falsezero.models.bmf.split_merge import split_merge
from falsezero.models.bmf.start import begun_with, found_features
from falsezero.models.bmf.state import (
    Cells,
    Features,
    Gamma,
    Priors,
    State,
    draw_features,
    gamma_log_density,
)

_FEW = 0.3
"""Concentration at the start: chains grow into the table better than they shrink to it."""

_FITTED = 3
"""Draws of the weights at the start, given the features."""

_SETTLING = 10
"""Sweeps before superfluous features are looked for, each of the times that they are."""

_TIDYINGS = 2

_LEAST_CONCENTRATION = 1e-12
"""Kept away from zero, where alpha / K would vanish and logarithms fail."""

_SLICE = 2.0
"""First width of a slice on the log scale."""

Move = Callable[[State, Cells, Likelihood, np.random.Generator], State]


@dataclass(frozen=True)
class Model:
    """Settings fixed before sampling."""

    likelihood: Likelihood
    fixed_rows: np.ndarray
    """Known row features, the bias among them: rows x features."""
    fixed_columns: np.ndarray
    n_row_features: int = 0
    """K of the finite model, 0 for the Indian buffet process."""
    n_column_features: int = 0
    priors: Priors = field(default_factory=Priors)
    n_split_merge: int = 1
    """Split or merge proposals of a sweep, on each side."""
    reads_table: bool = True
    """Whether chains start from features read off the table, not drawn from the prior."""
    beta: float = 1.0
    """beta of the prior of features, on both sides."""


def draw_prior(model: Model, rng: np.random.Generator) -> State:
    """A state drawn from its prior."""
    priors, draw = model.priors, lambda prior: rng.standard_gamma(prior[0]) / prior[1]
    return draw_given(
        model,
        draw(priors.row_concentration),
        draw(priors.column_concentration),
        draw(priors.weight),
        draw(priors.noise),
        rng,
    )


def draw_given(
    model: Model,
    row_concentration: float,
    column_concentration: float,
    weight_scale: float,
    precision: float,
    rng: np.random.Generator,
) -> State:
    """Features and weights from their prior, given the hyperparameters."""
    rows = draw_features(model.fixed_rows, model.n_row_features, row_concentration, rng, model.beta)
    columns = draw_features(
        model.fixed_columns, model.n_column_features, column_concentration, rng, model.beta
    )
    shape = rows.on.shape[1], columns.on.shape[1]
    weights = model.likelihood.prior_weights(shape, weight_scale, rng)
    return State(rows, columns, weights, weight_scale, precision)


def sweep(state: State, cells: Cells, model: Model, rng: np.random.Generator) -> State:
    """Every move once: features of both sides, weights, hyperparameters."""
    state = _on_both_sides([single_entries, entry_blocks], state, cells, model, rng)
    state = _on_both_sides([births_and_deaths], state, cells, model, rng)
    whole = model.likelihood.completed(state, cells, rng)
    state = _on_both_sides([split_merge] * model.n_split_merge, state, whole, model, rng)
    state = state._replace(weights=model.likelihood.draw_weights(state, whole, rng))
    return with_log_joint(draw_hyperparameters(state, cells, model, rng), cells, model)


def settling_sweep(state: State, cells: Cells, model: Model, rng: np.random.Generator) -> State:
    """A sweep that keeps the number of features."""
    state = _on_both_sides([single_entries], state, cells, model, rng)
    state = state._replace(weights=model.likelihood.draw_weights(state, cells, rng))
    return with_log_joint(draw_hyperparameters(state, cells, model, rng), cells, model)


def _on_both_sides(
    moves: list[Move], state: State, cells: Cells, model: Model, rng: np.random.Generator
) -> State:
    for move in moves:
        for table in (cells, cells.flipped):
            if move is not births_and_deaths or not state.rows.finite:
                state = move(state, table, model.likelihood, rng)
            state = state.flipped()
    return state


def draw_hyperparameters(
    state: State, cells: Cells, model: Model, rng: np.random.Generator
) -> State:
    """Concentrations, weight scale and noise precision from their conditionals (section 3.1)."""
    priors, likelihood = model.priors, model.likelihood
    state = state._replace(
        rows=_with_concentration(state.rows, priors.row_concentration, rng),
        columns=_with_concentration(state.columns, priors.column_concentration, rng),
        weight_scale=likelihood.draw_scale(state.weights, priors.weight, rng),
    )
    return state._replace(precision=likelihood.draw_precision(state, cells, priors.noise, rng))


def _with_concentration(features: Features, prior: Gamma, rng: np.random.Generator) -> Features:
    """A new concentration: a gamma where the number of features is not fixed, a slice otherwise.

    Only with beta = 1 would alpha of the finite model be a gamma, given the biases pi_k; on the
    log scale and with the biases integrated out, its density is smooth for every beta.
    """
    shape, rate = prior
    if not features.finite:
        shape, rate = shape + features.learnt.shape[1], rate + features.buffet_rate
        alpha = float(rng.standard_gamma(shape) / rate)
        return features._replace(concentration=max(alpha, _LEAST_CONCENTRATION))

    def log_density(log_alpha: float) -> float:
        if log_alpha < np.log(_LEAST_CONCENTRATION):
            return -np.inf
        alpha = float(np.exp(log_alpha))
        trial = features._replace(concentration=alpha)
        return trial.log_prior() + gamma_log_density(alpha, prior) + log_alpha

    drawn = _slice_draw(log_density, float(np.log(features.concentration)), rng)
    return features._replace(concentration=float(np.exp(drawn)))


def _slice_draw(
    log_density: Callable[[float], float], start: float, rng: np.random.Generator
) -> float:
    """One step of slice sampling: step out, then shrink towards the start (Neal, 2003)."""
    level = log_density(start) - rng.standard_exponential()
    low = start - _SLICE * rng.random()
    high = low + _SLICE
    while log_density(low) > level:
        low -= _SLICE
    while log_density(high) > level:
        high += _SLICE
    while True:
        trial = low + (high - low) * rng.random()
        if log_density(trial) >= level:
            return trial
        low, high = (trial, high) if trial < start else (low, trial)


def with_log_joint(state: State, cells: Cells, model: Model) -> State:
    """Fill in the log likelihood and the log joint density."""
    likelihood, priors = model.likelihood, model.priors
    log_likelihood = likelihood.total(state, cells)
    log_prior = state.rows.log_prior() + state.columns.log_prior()
    log_prior += likelihood.weight_log_prior(state.weights, state.weight_scale)
    log_prior += gamma_log_density(state.rows.concentration, priors.row_concentration)
    log_prior += gamma_log_density(state.columns.concentration, priors.column_concentration)
    log_prior += gamma_log_density(state.weight_scale, priors.weight)
    if likelihood.table_kind == "real":
        log_prior += gamma_log_density(state.precision, priors.noise)
    return state._replace(log_likelihood=log_likelihood, log_joint=log_likelihood + log_prior)


class NoRowQuantities(NamedTuple):
    """Row quantities: none, because a sweep needs rows and columns at once."""


class Joint(NamedTuple):
    """The log joint density of a state."""

    log_joint: float


class SamplerSteps:
    """The sampler for the engine: the whole table is one block, a sweep is one global step."""

    state_params: dict[str, int | None] = {}
    local_params: dict[str, int | None] = {}

    def __init__(self, model: Model, cells: Cells):
        self.model = model
        self.cells = cells

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[State, list[NoRowQuantities]]:
        """Few features from the prior (section 4.1) or from the table, and weights for them."""
        model, cells = self.model, self.cells
        few = _FEW * min(model.beta, 1.0)  # a row has alpha / beta features
        state = draw_given(model, few, few, 1.0, 1.0, rng)
        if model.reads_table:
            state = self._read_off(state, rng)
        for _ in range(_FITTED):
            state = state._replace(weights=model.likelihood.draw_weights(state, cells, rng))
        if model.reads_table:
            state = self._tidied(state, rng)
        return with_log_joint(state, cells, model), [NoRowQuantities()]

    def _tidied(self, state: State, rng: np.random.Generator) -> State:
        """The state after some sweeps, without redundant features."""

        def settle(state: State) -> State:
            return settling_sweep(state, self.cells, self.model, rng)

        for _ in range(_TIDYINGS):
            for _ in range(_SETTLING):
                state = sweep(state, self.cells, self.model, rng)
            state = without_redundant(state, settle)
        return state

    def _read_off(self, state: State, rng: np.random.Generator) -> State:
        """The state with features found in the table, if there are any."""
        model, cells = self.model, self.cells
        rows, columns = found_features(cells, rng)
        if rows.shape[1]:
            sizes = (cells.values.sum(axis=i) for i in (1, 0))
            tall, wide = sizes if model.likelihood.table_kind == "count" else (None, None)
            state = state._replace(
                rows=begun_with(state.rows, rows, tall),
                columns=begun_with(state.columns, columns, wide),
            )
            shape = state.rows.on.shape[1], state.columns.on.shape[1]
            state = state._replace(weights=model.likelihood.prior_weights(shape, 1.0, rng))
        return state

    def local_step(
        self, block: Block, local: NoRowQuantities, state: State, rng: Any
    ) -> tuple[NoRowQuantities, Joint]:
        """Report the log joint; there is nothing to do per block."""
        return local, Joint(state.log_joint)

    def global_step(self, stats: Joint, state: State, rng: np.random.Generator) -> State:
        """One sweep."""
        return sweep(state, self.cells, self.model, rng)

    def objective(self, stats: Joint, state: State) -> float:
        """Log joint density."""
        return stats.log_joint

    def project(self, trial: Point, reference: Point) -> Point:
        """A sampler is never extrapolated."""
        return trial
