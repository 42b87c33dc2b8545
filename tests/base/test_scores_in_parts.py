"""Row scores and single cells of large tables are worked out in parts: the answer is that of whole
arrays."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone

import falsezero as fz
from falsezero.base import empirical_bayes, factor_model


def table(missing):
    rng = np.random.default_rng(0)
    x = (rng.random((70, 30)) < rng.beta(0.5, 2.0, 30)).astype(float)
    x[rng.random(x.shape) < missing] = np.nan
    return x


@pytest.mark.parametrize(
    "model", [fz.AspectBernoulli(2, prior=0), fz.BernoulliNMF(2), fz.LogisticPCA(2)]
)
@pytest.mark.parametrize("kept", [0, 10**9])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_rows_score_what_whole_arrays_give(model, kept, missing, container, monkeypatch):
    x = table(missing)
    fitted = clone(model).set_params(random_state=0, max_iter=20, tol=1e-2).fit(x)
    p = np.clip(fitted._expected(fitted.row_weights_), 1e-12, 1 - 1e-12)
    cells = np.where(x[:, None, :] == 1, np.log(p), np.log1p(-p))
    by_atom = np.where(np.isnan(x)[:, None, :], 0.0, cells).sum(axis=2)
    monkeypatch.setattr(empirical_bayes, "_CELLS_AT_A_TIME", 70 * 7)
    monkeypatch.setattr(empirical_bayes, "_CELLS_KEPT", kept)
    monkeypatch.setattr(empirical_bayes, "_ROWS_AT_A_TIME", 32)
    expected = logsumexp(by_atom, axis=1) - np.log(len(p))
    np.testing.assert_allclose(fitted.score_samples(container(x)), expected, rtol=1e-9)


@pytest.mark.parametrize("model", [fz.AspectBernoulli, fz.NoisyOr, fz.LogisticPCA])
def test_single_cells_are_those_of_the_expected_table(model, monkeypatch):
    x = table(0.0)
    fitted = model(2, random_state=0, max_iter=20, tol=1e-2).fit(x)
    monkeypatch.setattr(factor_model, "_CELLS_AT_A_TIME", 160)
    weights = np.asarray(fitted.transform(x), dtype=float)
    rows, columns = np.nonzero(np.random.default_rng(1).random(x.shape) < 0.3)
    found = fitted._expected_cells(weights, rows, columns)
    np.testing.assert_allclose(found, fitted._expected(weights)[rows, columns], rtol=1e-12)
