"""Rows settle by themselves: what a row gets depends on the row and on what the fit taught."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import falsezero as fz

TOL = 1e-6
"""Weights of a settled row are known to this precision, as a share of the largest."""

SETTINGS = [
    (fz.AspectBernoulli, {}),
    (fz.AspectBernoulli, {"prior": 0}),
    (fz.AspectBernoulli, {"prior": 1}),
    (fz.AspectBernoulli, {"prior": 0, "solver": "sparse"}),
    (fz.BinaryICA, {}),
    (fz.BinaryICA, {"gamma0": 0.2}),
    (fz.BinaryICA, {"gamma0": 0.2, "solver": "sparse"}),
    (fz.BinaryICA, {"inference": "em"}),
    (fz.BinaryICA, {"inference": "em", "solver": "sparse"}),
    (fz.BernoulliMixture, {}),
    (fz.LogisticPCA, {}),
    (fz.BernoulliNMF, {}),
    (fz.PLSA, {}),
    (fz.UnigramMixture, {}),
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(4, 0.5), 150) @ rng.random((4, 30))
    X = (rng.random(p.shape) < p).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[3] = np.nan
    return X


@pytest.fixture(scope="module", params=SETTINGS, ids=lambda s: f"{s[0].__name__} {s[1]}")
def model(request, table):
    cls, options = request.param
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cls(5, max_iter=60, random_state=0, **options).fit(table)


def test_transform_of_the_training_table_gives_its_row_weights(model, table):
    weights = model.transform(table)
    scale = np.abs(weights).max()
    np.testing.assert_allclose(model.row_weights_, weights, atol=TOL * scale)


def test_a_row_alone_is_the_row_in_company(model, table):
    together = model.transform(table)
    alone = np.vstack([model.transform(row[None]) for row in table[:12]])
    np.testing.assert_allclose(alone, together[:12], atol=TOL * np.abs(together).max())


def test_the_order_of_rows_does_not_matter(model, table):
    turned = model.transform(table[::-1])[::-1]
    scale = np.abs(turned).max()
    np.testing.assert_allclose(turned, model.transform(table), atol=TOL * scale)


def test_settling_the_rows_does_not_lower_the_objective(model):
    history = model.history_
    for before, after in pairwise(history):
        if not after["rebased"]:
            assert after["objective"] >= before["objective"] - 1e-9 * abs(before["objective"])


@pytest.mark.parametrize("inference", ["aspect", "em", "vb"])
def test_a_large_table_has_one_answer_in_every_container(inference, monkeypatch):
    from falsezero.models.convex import family

    monkeypatch.setattr(family, "_LARGE", 4000)
    rng = np.random.default_rng(1)
    X = (rng.random((100, 60)) < 0.03 * rng.integers(0, 3, (100, 1))).astype(float)
    X[5, 7] = np.nan
    make = {
        "aspect": lambda: fz.AspectBernoulli(3, prior=0, random_state=0, max_iter=80),
        "em": lambda: fz.BinaryICA(3, inference="em", random_state=0, max_iter=80),
        "vb": lambda: fz.BinaryICA(3, random_state=0, max_iter=80),
    }[inference]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dense, thin = make().fit(X), make().fit(sparse.csr_array(X))
    assert dense.solver_ == thin.solver_ == "sparse"
    np.testing.assert_array_equal(dense.components_, thin.components_)
    np.testing.assert_array_equal(dense.row_weights_, thin.row_weights_)
    # A few rows are judged by the solver that the fit chose.
    np.testing.assert_allclose(dense.transform(X[:2]), dense.row_weights_[:2], atol=TOL)


@pytest.mark.parametrize("n_samples", [-1, 2.5])
def test_a_number_of_rows_to_draw_that_is_none_is_refused(model, n_samples):
    with pytest.raises(ValueError, match="n_samples= needs a whole number from 0 on"):
        model.sample(n_samples)


def test_a_threshold_that_is_no_number_is_refused(table):
    with pytest.raises(ValueError, match="binarize"):
        fz.AspectBernoulli(2, binarize=np.nan).fit(table)


def test_negative_numbers_of_causes_and_cells_are_refused(table):
    model = fz.AspectBernoulli(2, random_state=0, max_iter=5, tol=0.1).fit(table)
    with pytest.raises(ValueError, match="n=-1"):
        fz.explain(model, table, n=-1)
    for n in (-1, -5):
        with pytest.raises(ValueError, match="n=-"):
            fz.expand(model, table, n=n)
        with pytest.raises(ValueError, match="n=-"):
            fz.false_absences(model, table, n=n)


@pytest.mark.parametrize("name", ["AspectBernoulli", "BinaryICA", "LogisticPCA", "BernoulliNMF"])
def test_mostly_missing_rows_in_single_precision_have_no_positive_score(name):
    rng = np.random.default_rng(2)
    X = (rng.random((80, 400)) < 0.3).astype(np.float32)
    X[:, 0] = 1
    model = getattr(fz, name)(2, random_state=0, max_iter=20, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    X[:, 1:] = np.nan
    scores = model.score_samples(X)
    assert (scores <= 0).all()
    np.testing.assert_allclose(scores, model.score_samples(X.astype(float)), atol=1e-6)
