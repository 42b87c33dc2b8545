"""A sweep of binary matrix factorization as one would write it in NumPy, without our kernels.

Eqs. 2-3 with whole-row predictions for every entry, blocks of entries, weights given exact
augmentation, hyperparameters, likelihood. It shares the state and the priors with the real one.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import ndtr

from falsezero.models.bmf.sampler import Model, draw_hyperparameters
from falsezero.models.bmf.state import Cells, State

CUT = 0.64


def plain_sweep(state: State, cells: Cells, model: Model, rng: np.random.Generator) -> State:
    """Entries and blocks of both sides, then weights, then the rest."""
    name = model.likelihood.table_kind
    for move in (_entries, _blocks):
        for table in (cells, cells.flipped):
            state = move(state, table, name, rng).flipped()
    weights = {"real": _real_weights, "binary": _binary_weights, "count": _count_weights}
    state = state._replace(weights=weights[name](state, cells, rng))
    state = draw_hyperparameters(state, cells, model, rng)
    terms = model.likelihood.log_likelihood(cells, state.predictor(), state.precision)
    return state._replace(log_likelihood=float(terms.sum()))


def _log_likelihood(name, values, observed, predictor, precision):
    """Log likelihood of a row, up to a constant."""
    if name == "real":
        return -0.5 * precision * (observed * (values - predictor) ** 2).sum()
    if name == "binary":
        return (observed * (values * predictor - np.logaddexp(0, predictor))).sum()
    return (observed * (values * np.log(predictor) - predictor)).sum()


def _entries(state: State, cells: Cells, name: str, rng: np.random.Generator) -> State:
    on, basis = state.rows.on.astype(float), state.basis
    n, mass = len(on), state.rows.mass
    for i in range(n):
        for k in range(state.rows.n_fixed, on.shape[1]):
            others = on[:, k].sum() - on[i, k]
            terms = []
            for bit in (0.0, 1.0):
                on[i, k] = bit
                line = cells.values[i], cells.observed[i], on[i] @ basis
                terms.append(_log_likelihood(name, *line, state.precision))
            log_odds = terms[1] - terms[0] + np.log((others + mass) / (n - others))
            on[i, k] = np.log(1 / max(rng.random(), 1e-12) - 1) > -log_odds
    return state._replace(rows=state.rows._replace(on=on.astype(np.uint8)))


def _blocks(state: State, cells: Cells, name: str, rng: np.random.Generator) -> State:
    on, basis = state.rows.on.astype(float), state.basis
    n, mass = len(on), state.rows.mass
    free = np.arange(state.rows.n_fixed, on.shape[1])
    for i in range(n):
        picked = rng.choice(free, 3, replace=False)
        others = on[:, picked].sum(axis=0) - on[i, picked]
        trial = on[i].copy()
        trial[picked] = rng.random(3) * (n + mass) < others + mass
        if (trial == on[i]).all():
            continue
        now, then = (
            _log_likelihood(name, cells.values[i], cells.observed[i], u @ basis, state.precision)
            for u in (on[i], trial)
        )
        if np.log(rng.random()) < then - now:
            on[i] = trial
    return state._replace(rows=state.rows._replace(on=on.astype(np.uint8)))


def _normal(matrix, linear, rng):
    lower = cholesky(matrix, lower=True)
    mean = cho_solve((lower, True), linear.ravel())
    noise = solve_triangular(lower, rng.standard_normal(len(mean)), lower=True, trans="T")
    return (mean + noise).reshape(linear.shape)


def _real_weights(state: State, cells: Cells, rng: np.random.Generator) -> np.ndarray:
    u, v = state.rows.on.astype(float), state.columns.on.astype(float)
    drawn = state.predictor() + rng.standard_normal(cells.values.shape) / np.sqrt(state.precision)
    values = np.where(cells.observed > 0, cells.values, drawn)
    matrix = state.precision * np.kron(u.T @ u, v.T @ v)
    matrix += state.weight_scale * np.eye(len(matrix))
    return _normal(matrix, state.precision * (u.T @ values @ v), rng)


def _binary_weights(state: State, cells: Cells, rng: np.random.Generator) -> np.ndarray:
    u, v = state.rows.on.astype(float), state.columns.on.astype(float)
    weight = polya_gammas(state.predictor(), rng) * cells.observed
    (n, k), (m, width) = u.shape, v.shape
    row_pairs = (u[:, :, None] * u[:, None]).reshape(n, -1)
    column_pairs = (v[:, :, None] * v[:, None]).reshape(m, -1)
    matrix = (row_pairs.T @ weight @ column_pairs).reshape(k, k, width, width)
    matrix = matrix.transpose(0, 2, 1, 3).reshape(k * width, k * width)
    matrix += state.weight_scale * np.eye(len(matrix))
    return _normal(matrix, u.T @ ((cells.values - 0.5) * cells.observed) @ v, rng)


def _count_weights(state: State, cells: Cells, rng: np.random.Generator) -> np.ndarray:
    u, v, dealt = state.rows.on, state.columns.on.astype(float), np.zeros(state.weights.shape)
    for i, line in enumerate(cells.values.astype(int)):
        active = np.flatnonzero(u[i])
        chances = v[:, None, :] * state.weights[active]
        chances = chances.reshape(len(v), -1)
        chances /= chances.sum(axis=1, keepdims=True)
        dealt[active] += rng.multinomial(line, chances).sum(axis=0).reshape(len(active), -1)
    exposure = u.T.astype(float) @ cells.observed @ v
    return rng.standard_gamma(1.0 + dealt) / (state.weight_scale + exposure)


def polya_gammas(tilt: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """PG(1, tilt) by Polson, Scott and Windle's algorithm 1, on all cells that are left at once."""
    z = 0.5 * np.abs(tilt.ravel())
    rate = 0.125 * np.pi**2 + 0.5 * z**2
    first = 0.5 * np.pi / rate * np.exp(-rate * CUT)
    root = np.sqrt(1 / CUT)
    below = np.exp(-z) * ndtr(root * (CUT * z - 1)) + np.exp(z) * ndtr(-root * (CUT * z + 1))
    share = first / (first + 2 * below)
    out, left = np.empty(z.shape), np.arange(len(z))
    while len(left):
        beyond = rng.random(len(left)) < share[left]
        x = CUT + rng.standard_exponential(len(left)) / rate[left]
        x[~beyond] = _inverse_gaussians(z[left[~beyond]], rng)
        accepted = _below_the_series(x, rng.random(len(left)))
        out[left[accepted]] = 0.25 * x[accepted]
        left = left[~accepted]
    return out.reshape(tilt.shape)


def _below_the_series(x: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Whether uniforms lie below the density, over the first term; five terms are ample."""
    exponent = np.where(x > CUT, 0.5 * np.pi**2 * x, 2 / x)
    total = np.ones(len(x))
    for n in range(1, 6):
        total += (-1) ** n * (2 * n + 1) * np.exp(-exponent * n * (n + 1))
    return uniform <= total


def _inverse_gaussians(z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Inverse Gaussians with mean 1 / z below the cut."""
    out, left = np.empty(len(z)), np.arange(len(z))
    while len(left):
        tilt = z[left]
        small = tilt < 1 / CUT
        one, two = rng.standard_exponential((2, len(left)))
        x = CUT / (1 + CUT * one) ** 2
        fits = (one**2 <= 2 * two / CUT) & (rng.random(len(left)) < np.exp(-0.5 * tilt**2 * x))
        mean, y = 1 / np.maximum(tilt, 1e-3), rng.standard_normal(len(left)) ** 2
        other = mean + 0.5 * mean**2 * y - 0.5 * mean * np.sqrt(4 * mean * y + (mean * y) ** 2)
        flip = rng.random(len(left)) > mean / (mean + other)
        other = np.where(flip, mean**2 / other, other)
        x, fits = np.where(small, x, other), np.where(small, fits, other < CUT)
        out[left[fits]] = x[fits]
        left = left[~fits]
    return out
