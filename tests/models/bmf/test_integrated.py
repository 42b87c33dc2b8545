"""Predictions of Gaussian tables with the weights integrated out (section 3.4)."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from falsezero import BinaryMatrixFactorization
from falsezero.models.bmf.integrated import NormalWeights
from falsezero.models.bmf.state import Cells, Features, State

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def case(missing, seed=0):
    """A state with two row and three column features, and a table that need not fit it."""
    rng = np.random.default_rng(seed)
    rows, columns = ((rng.random((n, k)) < 0.6).astype(np.uint8) for n, k in ((5, 2), (4, 3)))
    table = rng.normal(size=(5, 4))
    if missing:
        table[rng.random(table.shape) < 0.3] = np.nan
    sides = Features(rows, 0, 0, 1.0), Features(columns, 0, 0, 1.0)
    return State(*sides, rng.normal(size=(2, 3)), 0.7, 2.5), Cells.of(table)


def brute_force(state, cells):
    """Posterior mean of W and of every cell, and the cells' variance, by the whole design matrix.

    The cells that were observed and a new look at every cell are jointly normal.
    """
    u, v = state.rows.on.astype(float), state.columns.on.astype(float)
    design, seen = np.kron(u, v), cells.observed.ravel() > 0
    signal = design @ design.T / state.weight_scale
    inside = np.linalg.inv((signal + np.eye(len(design)) / state.precision)[np.ix_(seen, seen)])
    gain = signal[:, seen] @ inside
    mean = gain @ cells.values.ravel()[seen]
    variance = np.diag(signal - gain @ signal[seen]) + 1 / state.precision
    weights = design[seen].T @ inside @ cells.values.ravel()[seen] / state.weight_scale
    shape = cells.values.shape
    return weights.reshape(state.weights.shape), mean.reshape(shape), variance.reshape(shape)


@pytest.mark.parametrize("missing", [False, True])
def test_weights_integrate_out_as_in_the_joint_normal_of_all_cells(missing):
    state, cells = case(missing)
    assert cells.complete is not missing
    weights, mean, variance = brute_force(state, cells)
    normal = NormalWeights.of(state, cells)
    found = normal.mean(cells.values)
    np.testing.assert_allclose(found, weights, atol=1e-10)
    np.testing.assert_allclose(state.rows.on @ found @ state.columns.on.T, mean, atol=1e-10)
    np.testing.assert_allclose(1 / 2.5 + normal.predictor_variance(), variance, atol=1e-10)
    np.testing.assert_allclose(
        normal.predictor_variance(slice(1, 3)), normal.predictor_variance()[1:3]
    )


def test_many_weights_of_a_table_with_gaps_are_left_as_drawn():
    rng = np.random.default_rng(0)
    sides = [Features((rng.random((30, k)) < 0.5).astype(np.uint8), 0, 0, 1.0) for k in (20, 21)]
    table = rng.normal(size=(30, 30))
    complete, gaps = Cells.of(table), Cells.of(np.where(np.eye(30) > 0, np.nan, table))
    state = State(*sides, rng.normal(size=(20, 21)), 1.0, 1.0)
    assert NormalWeights.of(state, complete) is not None
    assert NormalWeights.of(state, gaps) is None
    fewer = state._replace(
        columns=sides[1]._replace(on=sides[1].on[:, :20]), weights=state.weights[:, :20]
    )
    assert NormalWeights.of(fewer, gaps) is not None


@pytest.mark.parametrize("missing", [False, True])
def test_predictions_average_the_integrated_draws(missing):
    rng = np.random.default_rng(1)
    table = 3 + 2 * rng.normal(size=(12, 8))
    if missing:
        table[rng.random(table.shape) < 0.2] = np.nan
    model = BinaryMatrixFactorization(
        2, 2, likelihood="gaussian", n_chains=1, warmup=5, n_draws=4, random_state=0
    ).fit(table)
    assert (model.observed_ is None) is not missing
    cells = Cells.of((table - model.offset_) / model.scale_)
    means, logs = [], []
    asked = np.full(table.shape, 2.0)
    for draw in model.draws_:
        sides = Features(draw.row_features, 0, 0, 1.0), Features(draw.column_features, 0, 0, 1.0)
        state = State(*sides, draw.weights, draw.weight_scale, draw.precision)
        _, mean, variance = brute_force(state, cells)
        means.append(mean * model.scale_ + model.offset_)
        logs.append(norm.logpdf(asked, means[-1], np.sqrt(variance) * model.scale_))
    np.testing.assert_allclose(model.posterior_predict(), np.mean(means, axis=0), rtol=1e-8)
    expected = logsumexp(logs, axis=0) - np.log(4)
    np.testing.assert_allclose(model.log_predictive(asked), expected, rtol=1e-8)


def test_intervals_hold_the_uncertainty_of_weights():
    """One row feature that one row has: its weight is known from that row's cells alone."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20, 3))
    model = BinaryMatrixFactorization(
        1, 1, likelihood="gaussian", n_chains=1, warmup=50, n_draws=400, random_state=0
    ).fit(table)
    low, high = model.posterior_predict(interval=0.8, random_state=1)[1:]
    spread = np.mean([1 / np.sqrt(draw.cell_precision(None)) for draw in model.draws_], axis=0)
    width = (high - low) / model.scale_
    between = np.std([draw.expected_predictor() for draw in model.draws_], axis=0)
    expected = 2 * norm.ppf(0.9) * np.sqrt(spread**2 + between**2)
    np.testing.assert_allclose(width, expected, rtol=0.25)
    assert np.abs(width / expected - 1).mean() < 0.08


@pytest.mark.parametrize("likelihood", ["logistic", "poisson"])
def test_other_likelihoods_keep_the_drawn_weights(likelihood):
    table = (np.random.default_rng(0).random((10, 6)) < 0.5).astype(float)
    model = BinaryMatrixFactorization(
        2, 2, likelihood=likelihood, n_chains=1, warmup=5, n_draws=4, random_state=0
    ).fit(table)
    expected = np.mean([model._observation.mean(d.predictor()) for d in model.draws_], axis=0)
    np.testing.assert_allclose(model.posterior_predict(), expected, rtol=1e-12)
