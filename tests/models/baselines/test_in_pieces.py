"""Steps over blocks and tiles are those of the whole table; where fits begin and what they keep."""

import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning

import falsezero as fz
from falsezero.data import blocks
from falsezero.data.blocks import Blocks
from falsezero.models.baselines import implicit_als, logistic_pca
from falsezero.models.baselines.bernoulli_mixture import BernoulliSteps
from falsezero.models.baselines.bernoulli_nmf import Parts, TanhSteps
from falsezero.models.baselines.logistic_pca import Loadings, LogisticSteps
from falsezero.models.baselines.margins import _group_counts, _grouped, _log_sum
from falsezero.models.baselines.mixture import Mixture
from falsezero.models.baselines.plsa import Aspects, TokenSteps
from falsezero.models.baselines.unigram_mixture import UnigramSteps
from falsezero.models.convex.family import RowWeights


def some_cells(seed=0, shape=(13, 5), high=1, missing=0.15):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, high + 1, shape).astype(float)
    table[rng.random(shape) < missing] = np.nan
    return table


def steps_and_state(name, cut):
    """Steps of a model, a state, and row quantities of all rows."""
    rng = np.random.default_rng(1)
    weights, h = rng.uniform(0.2, 1, (13, 2)), rng.uniform(0.2, 1, (2, 5))
    shares = h / h.sum(axis=1, keepdims=True)
    if name == "parts":
        return TanhSteps(2, cut, 0.05), Parts(h), weights
    if name == "loadings":
        return LogisticSteps(2, cut, 0.3, True), Loadings(h - 0.6, h[0]), weights - 0.6
    if name == "tokens":
        return TokenSteps(2, cut), Aspects(np.ascontiguousarray(shares.T)), weights
    if name == "unigrams":
        return UnigramSteps(2, cut, 0.5), Mixture(np.array([0.3, 0.7]), shares), weights
    return BernoulliSteps(2, cut, 0.5), Mixture(np.array([0.3, 0.7]), h), weights


NAMES = ["parts", "loadings", "tokens", "unigrams", "bernoulli"]


def one_step(name, block_rows, is_sparse=False):
    """New rows, the objective, the next state and settled rows, block by block."""
    table = some_cells(high=4 if name in ("tokens", "unigrams") else 1)
    if is_sparse:
        rows, columns = np.nonzero(table != 0)
        table = sparse.csr_array((table[rows, columns], (rows, columns)), shape=table.shape)
    cut = Blocks.cut(table, block_rows=block_rows)
    steps, state, weights = steps_and_state(name, cut)
    found = [steps.local_step(block, RowWeights(weights[block.rows]), state, None) for block in cut]
    stats = [part for _, part in found]
    total = type(stats[0])(*(sum(field) for field in zip(*stats, strict=True)))
    settled = [
        steps.settle(block, RowWeights(weights[block.rows]), state).weights
        for block in cut
        if hasattr(steps, "settle")
    ]
    new = np.concatenate([rows.weights for rows, _ in found])
    return new, steps.objective(total, state), steps.global_step(total, state, None), settled


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_step_is_that_of_the_whole_table(name, is_sparse, monkeypatch):
    rows, objective, state, settled = one_step(name, 13)
    monkeypatch.setattr(blocks, "_tile_rows", lambda n_columns: 2)
    pieces = one_step(name, 5, is_sparse)
    np.testing.assert_allclose(pieces[0], rows)
    assert pieces[1] == pytest.approx(objective)
    for ours, theirs in zip(pieces[2], state, strict=True):
        np.testing.assert_allclose(ours, theirs)
    if settled:
        np.testing.assert_allclose(np.concatenate(pieces[3]), settled[0], atol=1e-6)


# -- log odds -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [2, 5, 7])
def test_loadings_begin_at_the_principal_components(n_components, monkeypatch):
    """Subspace iteration from the same random numbers, over the whole table at once."""
    table = some_cells(3)
    monkeypatch.setattr(blocks, "_tile_rows", lambda n_columns: 2)
    cut = Blocks.cut(table, block_rows=5)
    steps = LogisticSteps(n_components, cut, 0.1, True)
    state, rows = steps.init(cut, np.random.default_rng(5))
    seen = ~np.isnan(table)
    mean = (np.nansum(table, axis=0) + 0.5) / (seen.sum(axis=0) + 1)
    centred = np.where(seen, table - mean, 0)
    rng = np.random.default_rng(5)
    basis = rng.normal(size=(5, n_components))

    def orthonormal(basis):
        q = np.linalg.qr(basis)[0]
        extra = 0.01 * rng.normal(size=(5, max(n_components - 5, 0)))
        return np.hstack([q, extra])[:, :n_components]

    for _ in range(3):
        basis = centred.T @ centred @ orthonormal(basis)
    basis = orthonormal(basis)
    weights = 4 * centred @ basis
    scale = np.sqrt(np.linalg.norm(weights, axis=0))
    np.testing.assert_allclose(state.bias, logit(mean))
    np.testing.assert_allclose(state.components, (basis * scale).T)
    found = np.concatenate([part.weights for part in rows])
    np.testing.assert_allclose(found, weights / scale)
    plain = LogisticSteps(2, cut, 0.1, False)
    assert (plain.init(cut, np.random.default_rng(5))[0].bias == 0).all()


def test_a_table_without_variation_begins_with_small_loadings():
    cut = Blocks.cut(np.full((4, 3), np.nan))
    state, [rows] = LogisticSteps(2, cut, 0.1, True).init(cut, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(state.components, axis=1), np.sqrt(1e-3))
    assert (rows.weights == 0).all()
    assert logistic_pca._SUBSPACE_STEPS == 3


@pytest.mark.parametrize("bias", [True, False])
def test_loadings_are_turned_until_they_are_orthogonal(bias):
    table = some_cells(4, (20, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fz.LogisticPCA(3, bias=bias, ridge=0.2, max_iter=8, random_state=0).fit(table)
    gram = model.components_ @ model.components_.T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10)
    assert (np.diff(np.diag(gram)) <= 0).all()
    theta = model.row_weights_ @ model.components_ + model.bias_
    p, seen = expit(theta), ~np.isnan(table)
    total = np.log(np.where(table == 1, p, 1 - p))[seen].sum()
    assert model.log_likelihood_ == pytest.approx(total)
    squares = sum((part**2).sum() for part in (model.row_weights_, model.components_))
    odds = logit((np.nansum(table, axis=0) + 0.5) / (seen.sum(axis=0) + 1)) if bias else 0
    squares += ((model.bias_ - odds) ** 2).sum()
    assert model.objective_ == pytest.approx(total - 0.1 * squares)
    assert model.n_observed_ == seen.sum()


# -- parts ----------------------------------------------------------------------------------------


def test_parts_are_ordered_by_their_weight_and_settle_at_a_maximum():
    table = some_cells(5, (20, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fz.BernoulliNMF(3, shrinkage=0.3, max_iter=8, random_state=0).fit(table)
    w, h, seen = model.row_weights_, model.components_, ~np.isnan(table)
    assert (np.diff(w.sum(axis=0)) <= 0).all()
    p = np.tanh(w @ h / 2)
    total = np.log(np.where(table == 1, p, 1 - p))[seen].sum()
    assert model.log_likelihood_ == pytest.approx(total)
    assert model.objective_ == pytest.approx(total - 0.3 * (w.sum() + h.sum()))
    assert model.n_parameters_ == (20 + 6 - 1) * 3
    settled = model.transform(table)
    u = settled @ h
    slope = np.where(table == 1, 1 / np.sinh(np.maximum(u, 1e-12)), -expit(u))
    gradient = np.where(seen, slope, 0) @ h.T - 0.3
    assert (np.abs(gradient[settled > 1e-6]) < 1e-3).all()
    assert (gradient[settled <= 1e-6] < 1e-3).all()


# -- margins and least squares --------------------------------------------------------------------


def test_rows_with_equal_totals_share_an_effect():
    table = np.array([[1.0, 1, 0], [0, 1, 1], [0, 0, 0], [1, 0, 0], [0, 0, 1]])
    totals, seen, members, back = _grouped(Blocks.cut(table, block_rows=2))
    assert totals.tolist() == [0, 1, 2]
    assert seen is None
    assert members.tolist() == [1, 2, 2]
    assert totals[back].tolist() == table.sum(axis=1).tolist()
    assert _group_counts(None, members).tolist() == [[1, 2, 2]]
    a, b = np.array([0.3, -0.2, 0.1]), np.array([0.5, -1.0, 0.2])
    each = np.log1p(np.exp(a[back][:, None] + b))
    assert _log_sum(a, b, None, members) == pytest.approx(each.sum())
    table[1, 2] = table[4, 0] = np.nan
    totals, seen, members, back = _grouped(Blocks.cut(table, block_rows=2))
    np.testing.assert_array_equal(totals, np.nansum(table, axis=1))
    np.testing.assert_array_equal(seen, ~np.isnan(table))
    assert members.tolist() == [1] * 5
    assert back.tolist() == list(range(5))
    np.testing.assert_array_equal(_group_counts(seen, members), (~np.isnan(table)).T)
    a = np.arange(5) / 7
    each = np.log1p(np.exp(a[:, None] + b))
    assert _log_sum(a, b, seen, members) == pytest.approx(each[~np.isnan(table)].sum())


def test_least_squares_begin_with_small_random_factors(monkeypatch):
    table = np.nan_to_num(some_cells(6, (40, 30)))
    starts = []
    monkeypatch.setattr(
        implicit_als.ImplicitALS,
        "_row_factors",
        lambda self, block, factors: starts.append(factors) or np.zeros((block.shape[0], 4)),
    )
    monkeypatch.setattr(
        implicit_als.ImplicitALS, "_column_factors", lambda self, blocks, rows: 7 + starts[0]
    )
    model = fz.ImplicitALS(4, max_iter=3, random_state=0)
    model._learn(Blocks.cut(table))
    assert len(starts) == 3, "once a turn"
    assert stats.kstest(starts[0].ravel(), stats.norm(0, 0.1).cdf).pvalue > 0.01
    assert (starts[2] == 7 + starts[0]).all()
    np.testing.assert_array_equal(model.components_, (7 + starts[0]).T)
