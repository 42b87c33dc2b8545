from functools import partial

import numpy as np
import pytest
from scipy import sparse
from tests.reference import convex as slow

import falsezero as fz
from falsezero.backends import map_blocks
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer
from falsezero.models.convex.aspect_bernoulli import ExactSteps
from falsezero.models.convex.family import Components, cut_rows

likeliest = partial(fz.AspectBernoulli, prior=0)
"""The method of the paper: maximum likelihood unless a test says otherwise."""


def drawn(n_rows=60, n_columns=25, n_components=3, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.dirichlet(np.full(n_components, 0.5), n_rows)
    A = rng.beta(0.5, 0.8, (n_components, n_columns)).clip(0.01, 0.99)
    X = (rng.random((n_rows, n_columns)) < W @ A).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, W, A


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_step_is_the_papers_algorithm(missing):
    X, W, A = drawn(missing=missing)
    blocks = Blocks.cut(X, block_rows=17)
    advance = advancer(ExactSteps(3, blocks), blocks, map_blocks)
    point = Point(Components(A), cut_rows(W, blocks))
    for _ in range(5):
        point, objective, _ = advance(point)
        assert objective == pytest.approx(slow.log_likelihood(X, W, A), rel=1e-6)
        W, A = slow.em_step(X, W, A)
        np.testing.assert_allclose(point.state.components, A, atol=1e-6)
        got = np.concatenate([part.weights for part in point.local])
        np.testing.assert_allclose(got, W, atol=1e-6)


def test_the_likelihood_sums_over_every_assignment_of_causes():
    X, W, A = drawn(4, 5, 3)
    for n in range(4):
        expected = slow.marginal_by_enumeration(X[n], W[n], A)
        assert slow.log_likelihood(X[n : n + 1], W[n : n + 1], A) == pytest.approx(expected)


def test_a_fit_satisfies_its_own_optimality_conditions():
    X, _, _ = drawn(200, 20, 2)
    model = likeliest(2, random_state=0, tol=0, max_iter=4000).fit(X)
    W, A = slow.em_step(X, model.row_weights_, model.components_)
    np.testing.assert_allclose(A, model.components_, atol=2e-4)
    np.testing.assert_allclose(W, model.row_weights_, atol=2e-4)


def test_one_component_is_the_column_means():
    X, _, _ = drawn(missing=0.1)
    model = likeliest(1, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_[0], np.nanmean(X, axis=0), atol=1e-6)
    np.testing.assert_allclose(model.row_weights_, 1)


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_dense_sparse_frame_and_table_give_one_fit(missing):
    import pandas as pd

    X, _, _ = drawn(missing=missing)
    stored = sparse.csr_array(np.where(np.isnan(X), 7.0, X))
    stored.data[stored.data == 7.0] = np.nan
    inputs = [X, stored, sparse.csr_matrix(stored), pd.DataFrame(X).add_prefix("c"), fz.as_table(X)]
    fits = [
        likeliest(3, random_state=0, acceleration=None, tol=1e-5).fit(given) for given in inputs
    ]
    for other in fits[1:]:
        np.testing.assert_allclose(other.components_, fits[0].components_, atol=1e-8)


def test_the_sparse_solver_reaches_the_exact_likelihood():
    rng = np.random.default_rng(0)
    W = rng.dirichlet(np.full(4, 0.2), 1500)
    A = rng.beta(0.1, 3.0, (4, 300))
    X = sparse.csr_array((rng.random((1500, 300)) < W @ A).astype(float))
    exact, quick = (
        likeliest(4, solver=s, n_init=3, random_state=0, tol=1e-6).fit(X)
        for s in ("exact", "sparse")
    )
    assert quick.log_likelihood_ > exact.log_likelihood_ * (1 + 1e-3)
    P = quick.row_weights_ @ quick.components_
    dense = X.toarray()
    truth = np.log(np.where(dense == 1, P, 1 - P)).sum()
    assert abs(quick.log_likelihood_ - truth) <= quick.log_likelihood_error_ < 1e-6 * abs(truth)
    falls = [
        after["objective"] - before["objective"]
        for before, after in zip(quick.history_, quick.history_[1:], strict=False)
        if not after["rebased"]
    ]
    assert min(falls) >= -1e-9 * abs(quick.objective_)


def test_transform_finds_the_best_weights_of_unseen_rows():
    X, _, _ = drawn(400, 60, 3)
    model = likeliest(3, random_state=0).fit(X)
    new, _, _ = drawn(30, 60, 3, missing=0.2, seed=0)
    weights = model.transform(new)
    best = slow.log_likelihood(new, weights, model.components_)
    rng = np.random.default_rng(0)
    for _ in range(20):
        nearby = weights + 0.03 * rng.dirichlet(np.ones(3), 30)
        nearby /= nearby.sum(axis=1, keepdims=True)
        assert slow.log_likelihood(new, nearby, model.components_) <= best + 1e-6


def test_transform_of_both_solvers_agrees():
    rng = np.random.default_rng(0)
    A = rng.beta(0.1, 3.0, (3, 300))
    P = rng.dirichlet(np.ones(3), 200) @ A
    X = sparse.csr_array((rng.random(P.shape) < P).astype(float))
    model = likeliest(3, solver="exact", random_state=0, tol=1e-6).fit(X)
    exact = model.transform(X)
    quick = model.set_params(solver="sparse").transform(X)
    assert np.abs(quick - exact).max() < 0.02


def test_keep_removes_components_by_bayes_rule():
    X, _, _ = drawn()
    model = likeliest(3, random_state=0).fit(X)
    weights = model.transform(X)
    keep = np.array([0.0, 1.0, 0.5])
    left = (weights * keep).sum(axis=1) > 1e-3
    expected = weights * keep
    expected /= expected.sum(axis=1, keepdims=True)
    expected = (expected @ model.components_)[left]
    np.testing.assert_allclose(model.reconstruct(X, keep=keep)[left], expected, atol=1e-5)
    by_row = np.tile(keep, (len(X), 1))
    np.testing.assert_allclose(model.reconstruct(X, keep=by_row)[left], expected, atol=1e-5)


def test_a_row_of_pure_noise_gets_the_average_content():
    X, _, _ = drawn()
    model = likeliest(3, random_state=0).fit(X)
    got = model.reweigh(np.array([[1.0, 0.0, 0.0]]), keep=[0, 1, 1])
    average = model.row_weights_.mean(axis=0) * [0, 1, 1]
    np.testing.assert_allclose(got[0], average / average.sum())


@pytest.mark.parametrize("keep", [[1, 1], [0, 0, 0], [2, 0, 0], [[1, 1, 1]]])
def test_a_bad_keep_is_refused_in_words(keep):
    X, _, _ = drawn()
    model = likeliest(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="keep="):
        model.reconstruct(X, keep=keep)


def test_score_is_the_empirical_bayes_likelihood():
    X, _, _ = drawn(missing=0.1)
    model = likeliest(3, random_state=0).fit(X)
    new, _, _ = drawn(8, missing=0.2, seed=3)
    atoms = model.row_weights_ @ model.components_
    expected = []
    for row in new:
        seen = ~np.isnan(row)
        p = np.where(row[seen] == 1, atoms[:, seen], 1 - atoms[:, seen]).prod(axis=1)
        expected.append(np.log(p.mean()))
    np.testing.assert_allclose(model.score_samples(new), expected, rtol=1e-9)
    assert model.score(new) == pytest.approx(np.mean(expected))


def test_criteria_count_parameters_as_the_paper_does():
    X, _, _ = drawn()
    model = likeliest(3, random_state=0).fit(X)
    assert model.n_parameters_ == 25 * 3 + 2 * 60
    assert model.aic() == pytest.approx(-2 * model.log_likelihood_ + 2 * 195)
    assert model.bic() == pytest.approx(-2 * model.log_likelihood_ + 195 * np.log(X.size))


def test_samples_follow_the_model():
    X, _, _ = drawn(300, 20, 2)
    model = likeliest(2, random_state=0).fit(X)
    draws = model.sample(20000, random_state=1)
    expected = (model.row_weights_ @ model.components_).mean(axis=0)
    error = np.sqrt(expected * (1 - expected) / 20000)
    assert (np.abs(draws.mean(axis=0) - expected) < 5 * error + 1e-9).all()


def test_a_prior_is_a_posterior_mode():
    X, _, _ = drawn()
    model = likeliest(3, prior=1.0, random_state=0, tol=1e-9).fit(X)
    objectives = [row["objective"] for row in model.history_]
    assert (np.diff(objectives) >= -1e-8).all()
    assert model.objective_ < model.log_likelihood_
    assert (model.row_weights_ > 1e-4).all()


def test_single_precision_stays_single():
    X, _, _ = drawn()
    model = likeliest(3, random_state=0, tol=1e-4).fit(X.astype(np.float32))
    assert model.components_.dtype == np.float32
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    double = likeliest(3, random_state=0, tol=1e-4).fit(X)
    assert model.log_likelihood_ == pytest.approx(double.log_likelihood_, rel=5e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vanishing_weights_stay_normal_numbers(dtype):
    # A cluster's rows want nothing of the other cluster's component; plain EM would let its weight
    # shrink for ever, into denormal numbers that take many times as long to multiply.
    X = np.kron(np.eye(2), np.ones((20, 200))).astype(dtype)
    X[::7, ::11] = 1
    model = likeliest(2, max_iter=300, tol=0, acceleration=None, random_state=0)
    model.fit(X)
    faintest = np.sqrt(np.finfo(dtype).tiny)
    assert model.row_weights_.min() == pytest.approx(faintest, rel=1e-3)
    np.testing.assert_allclose(model.row_weights_.sum(axis=1), 1, rtol=1e-6)


def test_other_values_are_refused_unless_binarized():
    X = np.array([[0, 3.0], [1, 0]])
    with pytest.raises(ValueError, match=r"zeros and ones.*found 3.*binarize="):
        likeliest(2).fit(X)
    model = likeliest(1, binarize=2.0).fit(X)
    np.testing.assert_allclose(model.components_[0], [0, 0.5], atol=1e-9)


def test_pixels_that_are_never_on_do_no_harm():
    X, _, _ = drawn(300, 30, 4)
    X[:, :10] = 0
    X[:, 10] = 1
    model = likeliest(6, random_state=0, acceleration=None, tol=0, max_iter=400)
    with pytest.warns(match="did not settle"):
        model.fit(X)
    assert np.isfinite(model.components_).all()
    assert model.components_[:, :10].max() < 1e-6


def test_held_out_cells_are_predicted_better_with_a_prior():
    rng = np.random.default_rng(0)
    W = rng.dirichlet(np.full(5, 0.3), 600)
    A = rng.beta(0.5, 1.2, (5, 80))
    X = (rng.random((600, 80)) < W @ A).astype(float)
    hidden = rng.random(X.shape) < 0.1
    shown = np.where(hidden, np.nan, X)
    scores = {}
    for prior in (0.0, 1.0):
        model = likeliest(5, prior=prior, random_state=0, tol=1e-6).fit(shown)
        P = np.clip(model.reconstruct(shown)[hidden], 1e-6, 1 - 1e-6)
        scores[prior] = np.log(np.where(X[hidden] == 1, P, 1 - P)).mean()
    assert scores[1.0] > scores[0.0] + 0.005


def test_fossils_of_the_paper():
    table = _data(fz.datasets.load_fossils)
    model = likeliest(4, n_init=15, random_state=0).fit(table)
    assert model.log_likelihood_ >= -9010
    found = fz.find_phantoms(model)
    (phantom,) = found.white
    assert 0.65 <= found.weights[phantom] <= 0.75
    finds = np.asarray(table.values.sum(axis=1))
    assert np.corrcoef(model.row_weights_[:, phantom], finds)[0, 1] < -0.85


def _data(loader, **options):
    try:
        return loader(**options).table
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_the_sparse_solver_takes_rows_in_single_precision():
    # A third in single precision, three times, is more than one.
    model = likeliest(3, solver="sparse", random_state=0).fit(np.ones((7, 6)))
    rows = np.array([[1, 1, 0, 1, 1, 1]], dtype=np.float32)
    np.testing.assert_allclose(model.transform(rows).sum(axis=1), 1, rtol=1e-6)
