"""Formulas of the baselines, worked out by loops on small tables."""

import numpy as np
import pytest
from scipy.special import gammaln

import falsezero as fz
from falsezero.data.blocks import Blocks
from falsezero.models.baselines.mixture import Mixture, MixtureStatistics, MixtureSteps, by_bayes
from falsezero.models.baselines.pairs import count_pairs, divided
from falsezero.models.baselines.row_neighbours import _nearest_dense
from falsezero.models.convex.averaged import is_worth_averaging, lattice_parts, simplex_lattice

TABLE = np.array([[1.0, 1, 0, np.nan], [1, 0, np.nan, 1], [0, 1, 1, 1], [np.nan, np.nan, 0, 1]])


def test_pairs_are_counted_over_rows_that_saw_both():
    pairs = count_pairs(Blocks.cut(TABLE, block_rows=2))
    for s in range(4):
        for t in range(4):
            both = ~np.isnan(TABLE[:, s]) & ~np.isnan(TABLE[:, t])
            assert pairs.together[s, t] == np.nansum((TABLE[:, s] == 1) & (TABLE[:, t] == 1))
            assert pairs[1][s, t] == (TABLE[both, s] == 1).sum()
            assert pairs[2][s, t] == both.sum()


def test_nothing_divided_by_nothing_is_nothing():
    np.testing.assert_allclose(divided(np.array([3.0, 1.0]), [2.0, 0.0]), [1.5, 0.0])


def test_the_cause_of_a_cell_of_plsa_is_bayes_rule():
    counts = np.array([[3.0, 1, 0], [0, 2, 4]])
    model = fz.PLSA(2, random_state=0).fit(counts)
    weights = np.array([[0.3, 0.7], [0.9, 0.1]])
    model.components_ = np.array([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])
    (block,) = Blocks.cut(counts, block_rows=2)
    causes = model.cell_causes(block, weights)
    for n in range(2):
        for t in range(2):
            joint = weights[n] * model.components_[:, t]
            np.testing.assert_allclose(causes[:, n, t], joint / joint.sum())
    assert (causes[:, :, 2] == 0).all(), "no component makes the third column"


def test_responsibilities_and_their_shares():
    log_joint = np.log([[0.1, 0.3], [0.02, 0.02]])
    weights, evidence = by_bayes(log_joint.copy())
    np.testing.assert_allclose(weights, [[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(evidence.ravel(), np.log([0.4, 0.04]))
    stats = MixtureStatistics(np.zeros(2), 0.0, np.array([1.0, 3.0]), 0.0)
    np.testing.assert_allclose(MixtureSteps.shares(stats), [0.25, 0.75])
    dead = Mixture(np.array([0.0, 1.0]), np.zeros((2, 1)))
    assert MixtureSteps.log_proportions(dead)[0] == np.log(np.finfo(float).tiny)
    trial, near = (Mixture(np.array(p), np.zeros((2, 1))) for p in ([-0.5, 1.5], [0.4, 0.6]))
    moved = MixtureSteps.project_shares(trial, near)
    assert moved.sum() == pytest.approx(1)
    assert (moved > 0).all()


def test_a_mixture_is_charged_by_the_row():
    X = (np.random.default_rng(0).random((30, 4)) < 0.5).astype(float)
    model = fz.BernoulliMixture(2, random_state=0).fit(X)
    assert model.n_parameters_ == 2 * 4 + 1
    assert model.bic() == pytest.approx(-2 * model.log_likelihood_ + 9 * np.log(30))
    assert model.aic() == pytest.approx(-2 * model.log_likelihood_ + 2 * 9)
    assert model.log_likelihood_ == pytest.approx(model.score_samples(X).sum())
    rate, share = model.components_, model.proportions_
    by_hand = [np.log((share * np.prod(np.where(x == 1, rate, 1 - rate), axis=1)).sum()) for x in X]
    np.testing.assert_allclose(model.score_samples(X), by_hand, rtol=1e-6)
    assert model.predict(X).tolist() == model.predict_proba(X).argmax(axis=1).tolist()
    assert (np.diff(share) <= 0).all()


def test_a_mixture_of_unigrams_scores_bags():
    counts = np.array([[3.0, 1, 0], [0, 2, 4], [1, 1, 1], [5, 0, 0]])
    model = fz.UnigramMixture(2, random_state=0).fit(counts)
    coefficient = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
    by_hand = [
        np.log((model.proportions_ * np.prod(model.components_**row, axis=1)).sum())
        for row in counts
    ]
    np.testing.assert_allclose(model.score_samples(counts), by_hand + coefficient, rtol=1e-6)


def neighbours_by_hand(X, count, shrinkage):
    """Every row judged by its most similar others, cell by cell."""
    seen, ones = ~np.isnan(X), np.nan_to_num(X)
    rates = ones.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    scores = np.zeros(X.shape)
    for n in range(len(X)):
        cosine = np.zeros(len(X))
        for m in range(len(X)):
            both = seen[n] & seen[m]
            a, b = ones[n, both], ones[m, both]
            if m != n and a.any() and b.any():
                cosine[m] = a @ b / np.sqrt(a.sum() * b.sum())
        least = np.sort(cosine)[-count]
        weight = np.where(cosine >= least * (1 - 1e-12), cosine, 0)
        total = (weight[:, None] * seen).sum(axis=0)
        scores[n] = (weight @ ones + shrinkage * rates) / (total + shrinkage)
    return scores


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("density", [0.5, 0.04])
def test_row_neighbours_by_hand(missing, density):
    rng = np.random.default_rng(0)
    X = (rng.random((40, 30)) < density).astype(float)
    X[np.arange(30), np.arange(30)] = 1
    X[np.arange(10), np.arange(10) + 15] = 1
    X = np.unique(X, axis=0)
    if missing:
        X[rng.random(X.shape) < missing] = np.nan
    model = fz.RowNeighbours(3, shrinkage=0.7).fit(X)
    scores = np.concatenate([model._scoring()(block) for block in Blocks.cut(X)])
    np.testing.assert_allclose(scores, neighbours_by_hand(X, 3, 0.7), rtol=1e-6, atol=1e-9)


def test_the_nearest_and_their_equals():
    cosines = np.array([[0.1, 0.5, 0.5, 0.9], [0.3, 0.2, 0.1, 0.0]])
    found = _nearest_dense(cosines, 2).toarray()
    np.testing.assert_allclose(found, [[0, 0.5, 0.5, 0.9], [0.3, 0.2, 0, 0]])


def test_where_row_weights_are_averaged_over():
    assert is_worth_averaging((1000, 1000), 16)
    assert not is_worth_averaging((1001, 1000), 16)
    assert not is_worth_averaging((10, 10), 17)
    assert not is_worth_averaging((10, 10), 1)
    assert is_worth_averaging((10, 10), 2)
    assert [lattice_parts(k) for k in (2, 3, 4, 5, 6, 7, 16)] == [8, 7, 4, 3, 2, 2, 2]
    for k in (2, 3, 4):
        points = simplex_lattice(k, lattice_parts(k))
        np.testing.assert_allclose(points.sum(axis=1), 1)
        np.testing.assert_array_equal(points[:k], np.eye(k))
        assert len(points) <= 40
