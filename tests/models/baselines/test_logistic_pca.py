import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from tests.models.baselines.common import (
    assert_monotone,
    quietly,
    some_table,
)

from falsezero.analysis.metrics import empirical_bayes
from falsezero.data.blocks import Blocks
from falsezero.kernels.logistic import logistic_cells, solve_many
from falsezero.models.baselines.logistic_pca import LogisticPCA


def penalised(model, X, weights):
    """What the fit maximises, cell by cell."""
    theta = weights @ model.components_ + model.bias_
    seen = ~np.isnan(X)
    signed = np.where(X == 1, theta, -theta)[seen]
    odds = model._steps(Blocks.cut(X)).log_odds
    squares = [np.square(a).sum() for a in (weights, model.components_, model.bias_ - odds)]
    return -np.logaddexp(0, -signed).sum() - 0.5 * model.ridge * sum(squares)


def test_cells_and_their_bound():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (5, 40)).astype(np.uint8)
    theta = rng.normal(0, 4, codes.shape)
    theta[0, :3] = 0.0
    curvature, target = theta.copy(), np.empty_like(theta)
    found = logistic_cells(codes, curvature, np.exp(-np.abs(theta)), target)
    seen = codes != 2
    signed = np.where(codes == 1, theta, -theta)
    assert found == pytest.approx(-np.logaddexp(0, -signed)[seen].sum())
    assert (curvature[~seen] == 0).all()
    assert (target[~seen] == 0).all()
    for other in rng.normal(0, 6, (20, *theta.shape)):
        gain = target * (other - theta) - 0.5 * curvature * (other**2 - theta**2)
        true = np.where(codes == 1, other, -other)
        bound = -np.logaddexp(0, -signed) + gain
        assert (bound[seen] <= -np.logaddexp(0, -true)[seen] + 1e-9).all()


def test_small_systems_are_solved():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(6, 4, 4))
    systems = factors @ factors.transpose(0, 2, 1)
    right = rng.normal(size=(6, 4))
    first, second = np.triu_indices(4)
    solution = right.copy()
    solve_many(systems[:, first, second].copy(), solution, 0.1)
    expected = np.linalg.solve(systems + 0.1 * np.eye(4), right[:, :, None])[:, :, 0]
    np.testing.assert_allclose(solution, expected)


@pytest.mark.parametrize("acceleration", ["squarem", None])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_objective_never_falls(acceleration, bias, missing):
    X = some_table(missing=missing)
    model = LogisticPCA(2, random_state=0, acceleration=acceleration, bias=bias, ridge=0.1)
    assert_monotone(quietly(model, X))
    assert model.objective_ == pytest.approx(penalised(model, X, model.row_weights_))
    assert (model.bias_ == 0).all() != bias


def test_the_fit_is_as_good_as_a_general_optimiser_finds():
    X = some_table(n_rows=25, n_columns=8, missing=0.1)
    model = LogisticPCA(2, random_state=0, ridge=0.5, tol=1e-12, max_iter=5000).fit(X)
    n, t, k = 25, 8, 2
    odds = model._steps(Blocks.cut(X)).log_odds

    def loss(flat):
        u, v = flat[: n * k].reshape(n, k), flat[n * k : n * k + k * t].reshape(k, t)
        b = flat[n * k + k * t :]
        theta = u @ v + b
        seen = ~np.isnan(X)
        error = np.where(seen, expit(theta) - np.nan_to_num(X), 0)
        value = (np.logaddexp(0, theta) - np.nan_to_num(X) * theta)[seen].sum()
        value += 0.25 * (np.square(u).sum() + np.square(v).sum() + np.square(b - odds).sum())
        parts = [error @ v.T + 0.5 * u, u.T @ error + 0.5 * v, error.sum(0) + 0.5 * (b - odds)]
        return value, np.concatenate([p.ravel() for p in parts])

    rng = np.random.default_rng(0)
    best = min(
        minimize(loss, rng.normal(size=n * k + k * t + t), jac=True, method="L-BFGS-B").fun
        for _ in range(5)
    )
    assert -model.objective_ <= best + 1e-3


def test_transform_finds_the_best_weights_of_a_row():
    X = some_table(n_rows=60)
    model = LogisticPCA(2, random_state=0, ridge=0.3, tol=1e-12, max_iter=3000).fit(X)
    np.testing.assert_allclose(model.transform(X), model.row_weights_, atol=1e-3)
    seen = X[:1].copy()
    seen[0, :4] = np.nan
    weights = model.transform(seen)
    for step in np.random.default_rng(0).normal(0, 1e-2, (20, 1, 2)):
        assert penalised(model, seen, weights) >= penalised(model, seen, weights + step)


def test_scores_are_empirical_bayes():
    X = some_table()
    model = LogisticPCA(2, random_state=0, ridge=0.3).fit(X)
    atoms = expit(model.row_weights_ @ model.components_ + model.bias_)
    np.testing.assert_allclose(model.score_samples(X), empirical_bayes(atoms, X))


@pytest.mark.parametrize("bias", [True, False])
def test_free_parameters_are_directions_in_which_log_odds_can_move(bias):
    X = some_table(n_rows=9, n_columns=8)
    model = quietly(LogisticPCA(2, bias=bias, random_state=0, max_iter=20), X)
    u, v = model.row_weights_, model.components_
    moves = [np.outer(e, line) for e in np.eye(9) for line in v]
    moves += [np.outer(line, e) for e in np.eye(8) for line in u.T]
    moves += [np.outer(np.ones(9), e) for e in np.eye(8) if bias]
    rank = np.linalg.matrix_rank(np.array(moves).reshape(-1, 72))
    assert model.n_parameters_ == rank


def test_loadings_are_orthogonal_and_ordered():
    model = LogisticPCA(3, random_state=0, ridge=0.1).fit(some_table())
    gram = model.components_ @ model.components_.T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9)
    assert (np.diff(np.diag(gram)) <= 0).all()


def test_keep_removes_a_component_without_renormalising():
    X = some_table()
    model = LogisticPCA(2, random_state=0, ridge=0.1).fit(X)
    weights = model.transform(X)
    expected = expit(weights[:, 1:] @ model.components_[1:] + model.bias_)
    np.testing.assert_allclose(model.reconstruct(X, keep=[0, 1]), expected)
