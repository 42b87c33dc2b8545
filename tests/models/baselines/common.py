"""What every baseline is asked, whatever its mathematics."""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning


def quietly(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X)


def some_table(n_rows=40, n_columns=12, seed=0, missing=0.0, high=1):
    rng = np.random.default_rng(seed)
    centres = rng.random((3, n_columns))
    X = (rng.random((n_rows, n_columns)) < centres[rng.integers(3, size=n_rows)]).astype(float)
    X *= rng.integers(1, high + 1, size=X.shape)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def assert_monotone(model):
    objective = np.array([row["objective"] for row in model.history_])
    slack = 1e-9 * np.abs(objective).max()
    assert np.isfinite(objective).all()
    assert len(objective) > 3
    assert (np.diff(objective) >= -slack).all(), np.diff(objective).min()


def assert_sparse_is_dense(model, X, monkeypatch):
    # Small tables are made dense at the door; here the passes over the ones are wanted.
    monkeypatch.setattr("falsezero.base.factor_model._SMALL", -1)
    dense = quietly(model, X)
    a, expected = dense.log_likelihood_, dense.reconstruct(X)
    stored = sp.csr_array(np.where(np.isnan(X), 0, X))
    mask = sp.csr_array(np.isnan(X).astype(float))
    mask.data[:] = np.nan
    sparse = quietly(model, stored + mask)
    np.testing.assert_allclose(sparse.log_likelihood_, a, rtol=1e-6)
    np.testing.assert_allclose(sparse.reconstruct(stored + mask), expected, atol=1e-3)


DEGENERATE = {
    "all zero": np.zeros((5, 4)),
    "all one": np.ones((5, 4)),
    "one row": np.array([[1.0, 0, 1]]),
    "one column": np.array([[1.0], [0], [1], [1]]),
    "constant column": np.array([[1.0, 0, 1], [1, 1, 0], [1, 0, 0], [1, 1, 1]]),
    "unobserved row": np.array([[1.0, 0, 1], [np.nan] * 3, [0, 1, 1]]),
    "unobserved column": np.array([[1.0, np.nan, 1], [0, np.nan, 0], [0, np.nan, 1]]),
    "nothing observed": np.full((3, 3), np.nan),
}


def assert_survives(model, X):
    fitted = quietly(model, X)
    for found in (fitted.reconstruct(X), fitted.transform(X), fitted.score_samples(X)):
        assert np.isfinite(found).all()
    assert np.isfinite([row["objective"] for row in fitted.history_]).all()
    assert_monotone_or_short(fitted)


def assert_monotone_or_short(model):
    objective = np.array([row["objective"] for row in model.history_])
    assert (np.diff(objective) >= -1e-8 * max(1.0, np.abs(objective).max())).all()
