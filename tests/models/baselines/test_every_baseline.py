"""What every baseline with components is asked, whatever its mathematics."""

import pytest
from sklearn.utils.estimator_checks import check_estimator
from tests.models.baselines.common import (
    DEGENERATE,
    assert_sparse_is_dense,
    assert_survives,
    some_table,
)

import falsezero as fz

SETTLED = {
    "BernoulliMixture": {"n_components": 3},
    "BernoulliNMF": {"n_components": 2, "shrinkage": 0.1, "tol": 1e-10, "max_iter": 3000},
    "LogisticPCA": {"n_components": 2, "ridge": 0.1},
    "PLSA": {"n_components": 2, "tol": 1e-11, "max_iter": 5000},
    "UnigramMixture": {"n_components": 3, "prior": 0.1},
}
"""Settings that lead dense and sparse passes to one optimum."""

COUNTS = {"PLSA", "UnigramMixture"}


def build(name, **settings):
    return getattr(fz, name)(random_state=0, **settings)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("name", SETTLED)
def test_sparse_gives_the_same(name, missing, monkeypatch):
    X = some_table(missing=missing, high=3 if name in COUNTS else 1)
    assert_sparse_is_dense(build(name, **SETTLED[name]), X, monkeypatch)


@pytest.mark.parametrize("table", DEGENERATE)
@pytest.mark.parametrize("n_components", [1, 6])
@pytest.mark.parametrize("name", SETTLED)
def test_degenerate_tables(name, n_components, table):
    assert_survives(build(name, n_components=n_components), DEGENERATE[table])


@pytest.mark.parametrize("name", SETTLED)
def test_sklearn_contract(name):
    # scikit-learn expects four columns of whatever has `predict_proba`.
    n_components = 4 if name.endswith("Mixture") else 2
    values = {} if name in COUNTS else {"binarize": 0.0}
    check_estimator(build(name, n_components=n_components, **values))
