"""Chains leave the empty state, and say so when they disagree."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from falsezero import BinaryMatrixFactorization
from falsezero.models.bmf.start import begun_with, found_features
from falsezero.models.bmf.state import Cells, Features


def balanced(seed=0, n=300, m=40, k=4, hidden=0.1):
    """Four features that half of the rows have, each of ten columns; some cells held out."""
    rng = np.random.default_rng(seed)
    on = rng.random((n, k)) < 0.5
    odds = 3.4 * (on @ np.kron(np.eye(k), np.ones((1, m // k)))) - 1.7
    table = (rng.random((n, m)) < 1 / (1 + np.exp(-odds))).astype(float)
    hide = rng.random(table.shape) < hidden
    return on, np.where(hide, np.nan, table), np.where(hide, table, np.nan)


def test_features_are_read_off_the_table():
    on, shown, _ = balanced()
    rows, columns = found_features(Cells.of(shown), np.random.default_rng(0))
    assert rows.shape == (300, 4)
    assert columns.shape == (40, 4)
    same = np.array([[np.mean(rows[:, a] == on[:, b]) for a in range(4)] for b in range(4)])
    assert (np.maximum(same, 1 - same).max(axis=1) > 0.9).all()


def test_a_table_without_structure_has_no_features_to_begin_with():
    noise = (np.random.default_rng(0).random((200, 30)) < 0.3).astype(float)
    rows, columns = found_features(Cells.of(noise), np.random.default_rng(0))
    assert rows.shape == (200, 0)
    assert columns.shape == (30, 0)


def test_features_that_are_known_or_numbered_stay_so():
    found = np.array([[1, 0], [0, 1], [0, 0], [0, 0]], np.uint8)
    known = np.ones((4, 1), np.uint8)
    finite = begun_with(Features(np.hstack([known, known]), 1, 3, 1.0), found.copy(), None)
    assert finite.on.tolist() == [[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    fewer = begun_with(Features(np.hstack([known, known]), 1, 1, 1.0), found.copy(), None)
    assert fewer.on.shape == (4, 2)
    sizes = np.array([0.0, 5.0, 5.0, 5.0])
    counts = begun_with(Features(known, 1, 0, 1.0), found.copy(), sizes)
    assert counts.on[:, 1].tolist() == [0, 1, 1, 1]
    assert counts.on[:, 2].tolist() == [0, 1, 0, 0]


def test_no_chain_stays_empty_on_balanced_features():
    _, shown, held = balanced()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = BinaryMatrixFactorization(n_chains=4, warmup=60, n_draws=60, random_state=1)
        model.fit(shown)
    assert min(chain["n_row_features"].min() for chain in model.chains_) >= 4
    assert np.nanmean(model.log_predictive(held)) > -0.43


def test_chains_that_disagree_say_so():
    _, shown, _ = balanced(n=60, m=20, hidden=0)
    options = {"n_chains": 3, "warmup": 0, "n_draws": 20, "start": "prior", "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="chains disagree .*raise warmup"):
        model = BinaryMatrixFactorization(**options).fit(shown)
    assert not model.converged_
    assert model.r_hat_ > 1.1
    assert 0 < model.ess_ < 60


def test_chains_that_agree_are_not_warned_about():
    constant = np.ones((6, 4))
    options = {"n_row_features": 1, "n_column_features": 1, "likelihood": "gaussian"}
    noise = constant + np.random.default_rng(0).normal(size=(6, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = BinaryMatrixFactorization(**options, n_draws=1000, random_state=0).fit(noise)
    assert model.converged_
    assert model.r_hat_ < 1.1
    few = BinaryMatrixFactorization(**options, n_draws=3, random_state=0).fit(noise)
    assert np.isnan(few.r_hat_)
    assert few.converged_
