import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.special import gammaln
from sklearn.decomposition import NMF
from tests.models.baselines.common import (
    assert_monotone,
    quietly,
    some_table,
)
from tests.reference.mixtures import plsa_log_likelihood

from falsezero.data.blocks import Blocks
from falsezero.kernels.tokens import token_pass
from falsezero.models.baselines.plsa import PLSA, TokenSteps

COUNTS = np.array([[3.0, 0, np.nan, 1], [0, 2, 1, 0], [1, 1, 0, 4]])


@pytest.mark.parametrize("k", [1, 4, 7])
def test_the_pass_is_what_it_says(k):
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (6, 9)).astype(float)
    csr, rates, columns = sp.csr_array(X), rng.random((6, k)), rng.random((9, k))
    row_stat, column_stat = np.zeros_like(rates), np.zeros_like(columns)
    arguments = (csr.indptr, csr.indices, csr.data, rates, columns, row_stat, column_stat)
    p = rates @ columns.T
    assert token_pass(*arguments) == pytest.approx((X * np.log(p)).sum())
    np.testing.assert_allclose(row_stat, (X / p) @ columns)
    np.testing.assert_allclose(column_stat, (X / p).T @ rates)


@pytest.mark.parametrize("acceleration", ["squarem", None])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_objective_never_falls(acceleration, missing):
    X = some_table(missing=missing, high=4)
    model = quietly(PLSA(3, random_state=0, acceleration=acceleration, tol=1e-9), X)
    assert_monotone(model)
    slow = plsa_log_likelihood(X, model.row_weights_, model.components_)
    assert model.log_likelihood_ == pytest.approx(slow)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.row_weights_.sum(axis=1), 1.0)


def test_the_fit_is_a_maximum_with_missing_cells():
    X = some_table(n_rows=12, n_columns=6, missing=0.2, high=4)
    model = PLSA(2, random_state=0, tol=1e-13, max_iter=5000).fit(X)
    best = plsa_log_likelihood(X, model.row_weights_, model.components_)
    assert best == pytest.approx(model.log_likelihood_)
    rng = np.random.default_rng(0)
    for _ in range(30):
        w = model.row_weights_ * np.exp(rng.normal(0, 0.01, model.row_weights_.shape))
        a = model.components_ * np.exp(rng.normal(0, 0.01, model.components_.shape))
        w, a = w / w.sum(axis=1, keepdims=True), a / a.sum(axis=1, keepdims=True)
        assert plsa_log_likelihood(X, w, a) <= best + 1e-6


def test_it_is_kullback_leibler_factorisation():
    X = some_table(n_rows=30, high=5)
    ours = PLSA(3, n_init=10, random_state=0, tol=1e-9).fit(X).log_likelihood_
    best = -np.inf
    for seed in range(10):
        nmf = NMF(3, beta_loss="kullback-leibler", solver="mu", init="random", max_iter=3000)
        w = quietly(nmf.set_params(random_state=seed, tol=1e-9), X).transform(X)
        mass = nmf.components_.sum(axis=1)
        w = w * mass
        w = w / w.sum(axis=1, keepdims=True)
        best = max(best, plsa_log_likelihood(X, w, nmf.components_ / mass[:, None]))
    assert ours >= best - 0.05


def test_folding_in_finds_the_training_weights():
    X = some_table(high=4)
    model = PLSA(2, random_state=0, tol=1e-13, max_iter=5000).fit(X)
    again = model.transform(X)
    a = plsa_log_likelihood(X, again, model.components_)
    assert a == pytest.approx(model.log_likelihood_, abs=1e-4)


def test_reconstruction_of_counts_and_of_ones():
    counts = some_table(high=4)
    model = PLSA(2, random_state=0).fit(counts)
    p = model.transform(counts) @ model.components_
    np.testing.assert_allclose(model.reconstruct(counts), counts.sum(1, keepdims=True) * p)
    ones = some_table()
    model = PLSA(2, random_state=0).fit(ones)
    p = model.transform(ones) @ model.components_
    expected = 1 - (1 - p) ** ones.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.reconstruct(ones), expected, atol=1e-12)


def test_scores_are_empirical_bayes():
    X = some_table(high=3, missing=0.2)
    model = PLSA(2, random_state=0).fit(X)
    row = X[3:4]
    values = [
        np.exp(plsa_log_likelihood(row, w[None], model.components_)) for w in model.row_weights_
    ]
    counts = np.nan_to_num(row)
    orders = gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()
    assert model.score_samples(row)[0] == pytest.approx(np.log(np.mean(values)) + orders)


def test_sample_has_the_totals_of_the_training_rows():
    X = some_table(high=4)
    model = PLSA(2, random_state=0).fit(X)
    drawn = model.sample(5000, random_state=1)
    assert set(drawn.sum(axis=1)) <= set(X.sum(axis=1))
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.15)


def test_a_row_of_one_word_in_single_precision():
    X = np.eye(3, dtype=np.float32)
    model = PLSA(3, random_state=0).fit(X)
    np.testing.assert_allclose(model.reconstruct(X), X, atol=1e-3)


def test_plsa_begins_as_its_random_numbers_say():
    blocks = Blocks.cut(COUNTS, block_rows=2)
    state, rows = TokenSteps(3, blocks).init(blocks, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    columns = (np.nansum(COUNTS, axis=0) + 0.25)[:, None] * rng.gamma(1.0, size=(4, 3))
    np.testing.assert_allclose(state.columns, columns / columns.sum(axis=0))
    for block, part in zip(blocks, rows, strict=True):
        totals = np.nansum(COUNTS[block.rows], axis=1)
        shares = rng.dirichlet(np.full(3, 5.0), size=len(totals))
        np.testing.assert_allclose(part.weights, totals[:, None] * shares)
    model = PLSA(3, random_state=0)
    [first, second] = model._fresh_rows(blocks)
    np.testing.assert_allclose(first.weights, [[4 / 3] * 3, [1] * 3])
    np.testing.assert_allclose(second.weights, [[2] * 3])


def test_scores_average_over_two_thousand_rows_at_most():
    rng = np.random.default_rng(0)
    model = quietly(PLSA(2, random_state=0, max_iter=1), rng.poisson(2.0, (2001, 3)) + 1.0)
    some = np.random.default_rng(0).choice(2001, 2000, replace=False)
    atoms = model.row_weights_[some] @ model.components_
    row = np.array([[2.0, 0, 1]])
    expected = np.log(stats.multinomial.pmf(row[0], 3, atoms).mean())
    assert model.score_samples(row)[0] == pytest.approx(expected, rel=1e-9)
