"""DiscretePCA as its users meet it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator
from tests.models.discrete_pca.common import (
    COUNTS,
    FAST,
    INFERENCES,
    corpus,
    quiet,
)

from falsezero.analysis.topics import best_rows, distinctive_words, page_rank, top_words
from falsezero.data.table import Table
from falsezero.io.models import load, save
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA


@pytest.mark.parametrize("model", ["dirichlet-multinomial", "gamma-poisson", "gamma-multinomial"])
@pytest.mark.parametrize("inference", INFERENCES)
@quiet
def test_every_way_of_fitting_finds_the_components(model, inference):
    counts, theta = corpus()
    options = FAST | {"warmup": 60, "n_draws": 10, "max_iter": 100}
    fit = DiscretePCA(3, family=model, inference=inference, alpha=0.2, random_state=1, **options)
    fit.fit(counts)
    np.testing.assert_allclose(fit.components_.sum(axis=1), 1.0, rtol=1e-5)
    overlap = fit.components_ @ (theta > 0).T
    assert sorted(overlap.argmax(axis=1)) == [0, 1, 2]
    assert overlap.max(axis=1).min() > 0.9
    assert fit.row_weights_.shape == (80, 3)
    assert fit.completion_score(corpus(30, seed=1)[0]) > np.log(1 / 15) + 0.5


@quiet
def test_a_tiny_group_example_is_normalised_group_by_group():
    counts, _ = corpus()
    groups = np.repeat(["noun", "verb", "poisson"], 5)
    fit = DiscretePCA(3, family="gamma-multinomial", groups=groups, random_state=0, **FAST).fit(
        counts
    )
    for name in np.unique(groups):
        np.testing.assert_allclose(fit.components_[:, groups == name].sum(axis=1), 1.0)
    drawn = fit.sample(4, length=[7, 3, 0], random_state=0)
    assert drawn[:, groups == "noun"].sum(axis=1).tolist() == [7] * 4


EDGES = {
    "zeros": np.zeros((4, 3)),
    "one row": np.array([[3.0, 0, 1]]),
    "one column": np.array([[3.0], [0.0], [2.0]]),
    "an empty row": np.array([[0.0, 0, 0], [1, 2, 0]]),
    "one token": np.array([[0.0, 1.0], [0.0, 0.0]]),
    "large counts": np.array([[1e5, 0.0], [3.0, 2e4]]),
}


@pytest.mark.parametrize("table", EDGES.values(), ids=EDGES)
@pytest.mark.parametrize("model", ["dirichlet-multinomial", "gamma-poisson", "gamma-multinomial"])
@pytest.mark.parametrize("inference", INFERENCES)
@quiet
def test_edges_give_finite_numbers(table, model, inference):
    fit = DiscretePCA(3, family=model, inference=inference, random_state=0, **FAST).fit(table)
    for array in (fit.components_, fit.transform(table), fit.reconstruct(table), fit.alpha_):
        assert np.isfinite(array).all()
    assert np.isfinite(fit.score(table))


@quiet
def test_without_a_component_a_row_expects_as_many_tokens():
    counts, _ = corpus(40)
    fit = DiscretePCA(3, family="gamma-poisson", random_state=0).fit(counts)
    with_all, without = fit.reconstruct(counts), fit.reconstruct(counts, keep=[0, 1, 1])
    np.testing.assert_allclose(without.sum(axis=1), with_all.sum(axis=1), rtol=1e-6)
    assert np.abs(without - with_all).max() > 1


@quiet
def test_threads_and_blocks_change_nothing():
    counts, _ = corpus(200)
    fits = [
        DiscretePCA(
            3, inference="collapsed_gibbs", n_shards=3, n_jobs=n_jobs, random_state=0, **FAST
        ).fit(counts)
        for n_jobs in (1, 3)
    ]
    np.testing.assert_array_equal(fits[0].components_, fits[1].components_)


@quiet
@pytest.mark.parametrize("inference", INFERENCES)
def test_sparse_and_dense_tables_give_the_same_fit(inference):
    counts, _ = corpus(40)
    dense, thin = (
        DiscretePCA(2, inference=inference, random_state=0, **FAST).fit(table).components_
        for table in (counts, sparse.csr_matrix(counts))
    )
    np.testing.assert_array_equal(dense, thin)


@pytest.mark.parametrize(
    ("options", "table", "words"),
    [
        ({}, [[1.0, np.nan]], "NaN"),
        ({}, [[1.0, -2.0]], "Negative"),
        ({"inference": "gibbs"}, [[1.5, 2.0]], "whole counts"),
        ({"groups": ["a"]}, [[1.0, 2.0]], "one group per column"),
        ({"groups": ["a", "poisson"]}, [[1.0, 2.0]], "gamma-multinomial"),
        ({"family": "gamma-poisson", "groups": ["a", "b"]}, [[1.0, 2.0]], "no groups="),
        ({"alpha": [1.0, 2.0]}, [[1.0, 2.0]], "alpha="),
        ({"inference": "em", "learn_alpha": True}, [[1.0, 2.0]], "cannot learn"),
    ],
)
def test_errors_say_what_mends_them(options, table, words):
    with pytest.raises(ValueError, match=words):
        DiscretePCA(3, **options).fit(np.asarray(table))


@quiet
def test_scikit_learn_accepts_it():
    check_estimator(DiscretePCA(2, max_iter=30))


@quiet
def test_reading_aids_name_the_words_and_rows_of_a_component():
    counts, theta = corpus(60)
    table = Table(counts, columns=[f"w{j}" for j in range(15)])
    model = DiscretePCA(3, alpha=0.2, random_state=1, max_iter=80).fit(table)
    own = [{f"w{j}" for j in np.flatnonzero(row)} for row in theta]
    for tidy, words in ((top_words(model, 5), 5), (distinctive_words(model, table, 4), 4)):
        for k in range(3):
            found = set(tidy["word"][tidy["component"] == k])
            assert len(found) == words
            assert any(found <= words_of for words_of in own)
    best = best_rows(model, table, 1)
    assert best["share"].min() > 0.9
    ring = sparse.csr_array(np.roll(np.eye(60), 1, axis=1))
    rank = page_rank(model, table, ring)
    np.testing.assert_allclose(rank.sum(axis=0), 1.0)
    favourite = rank.argmax(axis=0)
    assert (np.asarray(model.transform(table).to_numpy())[favourite, range(3)] > 0.5).all()


@quiet
def test_a_saved_model_goes_on_where_it_was(tmp_path):
    counts, _ = corpus(40)
    model = DiscretePCA(2, groups=["a"] * 9 + ["b"] * 6, random_state=0, **FAST).fit(counts)
    save(model, tmp_path / "model.fz")
    again = load(tmp_path / "model.fz")
    np.testing.assert_array_equal(again.transform(counts), model.transform(counts))
    one, other = (m.partial_fit(counts).components_ for m in (model, again))
    np.testing.assert_array_equal(one, other)


def test_components_can_be_removed_where_no_rows_were_kept():
    known = DiscretePCA.from_components([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], alpha=[0.1, 0.4])
    np.testing.assert_allclose(known.reconstruct([[3, 2, 0]], keep=[0, 1]), [[0, 0, 1]], atol=1e-9)
    batch = DiscretePCA(2, random_state=0).partial_fit(COUNTS)
    assert np.isfinite(batch.reconstruct(COUNTS, keep=[1, 0])).all()


def test_weights_of_a_dirichlet_have_no_rate():
    theta = [[1.0, 0.0], [0.0, 1.0]]
    model = DiscretePCA.from_components(theta, alpha=[2.0, 6.0], beta=[1.0, 100.0])
    drawn = model.sample(2000, random_state=0)
    # E[m] = alpha / sum alpha, with a standard error of 0.145 / sqrt(2000).
    assert drawn[:, 0].mean() / 100 == pytest.approx(0.25, abs=0.013)


def test_a_fit_leaves_nothing_of_the_last_one():
    model = DiscretePCA(2, random_state=0, warmup=2, n_draws=2, thin=1).fit(COUNTS)
    model.set_params(inference="gibbs").fit(COUNTS)
    assert not hasattr(model, "word_shape_")
    model.set_params(inference="em").fit(COUNTS)
    assert not hasattr(model, "chains_")
