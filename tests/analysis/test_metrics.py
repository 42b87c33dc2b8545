from itertools import product

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import falsezero as fz
from falsezero.analysis.align import match_components
from falsezero.analysis.metrics import (
    clustering_agreement,
    cross_entropy,
    denoising_auc,
    empirical_bayes,
    entropies,
    gap_counts,
    noise_removal,
    perplexity,
    posterior_histogram,
    reconstruction_error,
)

rng = np.random.default_rng(0)


def test_empirical_bayes_is_a_distribution_and_leaves_nan_out():
    atoms = rng.random((7, 4))
    rows = np.array(list(product([0.0, 1.0], repeat=4)))
    assert np.exp(empirical_bayes(atoms, rows)).sum() == pytest.approx(1.0)
    partial = np.array([[1.0, np.nan, 0, np.nan]])
    filled = rows[(rows[:, 0] == 1) & (rows[:, 2] == 0)]
    expected = np.exp(empirical_bayes(atoms, filled)).sum()
    assert np.exp(empirical_bayes(atoms, partial))[0] == pytest.approx(expected)


def test_empirical_bayes_is_what_aspect_bernoulli_scores():
    table = fz.datasets.make_aspect_bernoulli(60, 8, 2, random_state=0).table
    model = fz.AspectBernoulli(2, prior=1.0, random_state=0).fit(table)
    atoms = model.row_weights_ @ model.components_
    np.testing.assert_allclose(model.score_samples(table), empirical_bayes(atoms, table))


def test_cross_entropy_of_a_fair_coin_is_its_number_of_columns():
    X = np.array(list(product([0.0, 1.0], repeat=3)))
    model = fz.BernoulliMixture(1).fit(X)
    assert cross_entropy(model, X) == pytest.approx(3.0)
    assert cross_entropy(model, X, per="cell") == pytest.approx(1.0)
    assert perplexity(model, X) == pytest.approx(8.0)
    assert cross_entropy(model, X, base=np.e) == pytest.approx(3 * np.log(2))


def test_noise_removal_counts_what_the_paper_counts():
    clean = rng.random((20, 30)) < 0.4
    spoilt = clean & (rng.random(clean.shape) < 0.7)
    restored = rng.random(clean.shape)
    result = noise_removal(clean, spoilt, restored)
    fp = np.mean([restored[i] >= 0.5 for i in zip(*np.where(~clean), strict=True)])
    fn = np.mean([restored[i] < 0.5 for i in zip(*np.where(clean & ~spoilt), strict=True)])
    assert result.false_positive == pytest.approx(fp)
    assert result.false_negative == pytest.approx(fn)
    assert result.rate == pytest.approx(1 - (fp + fn) / 2)
    assert noise_removal(clean, spoilt, clean).rate == 1.0
    assert noise_removal(clean, spoilt, spoilt).rate == 0.5


def test_additions_are_omissions_of_zeros():
    clean = rng.random((20, 30)) < 0.4
    spoilt = clean | (rng.random(clean.shape) < 0.2)
    restored = rng.integers(0, 2, clean.shape)
    a = noise_removal(clean, spoilt, restored, noise="additions")
    assert a == noise_removal(~clean, ~spoilt, 1 - restored)


def test_denoising_auc_looks_at_spoilt_zeros_only():
    clean = rng.random((20, 30)) < 0.5
    spoilt = clean & (rng.random(clean.shape) < 0.7)
    p = rng.random(clean.shape)
    assert denoising_auc(clean, spoilt, p) == roc_auc_score(clean[~spoilt], p[~spoilt])
    p[spoilt] = rng.random(spoilt.sum())
    assert denoising_auc(clean, spoilt, p) == roc_auc_score(clean[~spoilt], p[~spoilt])
    binary = p >= 0.5
    rate = noise_removal(clean, spoilt, binary).rate
    assert denoising_auc(clean, spoilt, binary) == pytest.approx(rate)
    with pytest.raises(ValueError, match="of one kind"):
        denoising_auc(clean, clean, p)


def test_reconstruction_error_leaves_unknown_cells_out():
    assert reconstruction_error([[1.0, 0, np.nan, 1]], [[0.2, 0.2, 0.9, 0.5]]) == pytest.approx(
        1 / 3
    )


def test_posterior_histogram_of_each_family():
    table = fz.datasets.make_aspect_bernoulli(50, 10, 2, random_state=0).table
    spoilt = fz.corrupt(table, add=0.4, random_state=1)
    model = fz.AspectBernoulli(3, random_state=0, tol=1e-5).fit(spoilt)
    found = posterior_histogram(model, table, spoilt)
    w, a = model.transform(spoilt).to_numpy(), model.components_
    x, clean = spoilt.to_numpy(), table.to_numpy()
    sums = np.zeros((3, 3))
    for n, t in np.ndindex(x.shape):
        joint = w[n] * (a[:, t] if x[n, t] else 1 - a[:, t])
        kind = 2 if not x[n, t] else (0 if clean[n, t] else 1)
        sums[kind] += joint / joint.sum()
    sums /= sums.sum(axis=1, keepdims=True)
    for i, name in enumerate(("true_ones", "added_ones", "zeros")):
        np.testing.assert_allclose(found[name], sums[i], atol=1e-6)
    mixture = fz.BernoulliMixture(3, random_state=0).fit(spoilt)
    groups = posterior_histogram(mixture, table, spoilt)
    responsibility = mixture.predict_proba(spoilt)
    zeros = (responsibility * (x == 0).sum(axis=1, keepdims=True)).sum(axis=0)
    np.testing.assert_allclose(groups["zeros"], zeros / zeros.sum())


def test_clustering_agreement():
    labels = np.array([0, 0, 0, 1, 1, 2])
    assert clustering_agreement(labels, labels[::-1] * 0 + [5, 5, 5, 3, 3, 9]) == 1.0
    assert clustering_agreement(labels, [0, 0, 1, 1, 1, 1]) == pytest.approx(4 / 6)
    assert clustering_agreement(labels, np.arange(6), "majority") == 1.0
    assert clustering_agreement(labels, np.arange(6)) == pytest.approx(0.5)


def test_gaps_follow_the_given_order():
    finds = np.array([[1, 0], [1, 1], [0, 0]])
    assert gap_counts(finds, [1, 3, 2]).before == 1
    assert gap_counts(finds, [1, 2, 3]).before == 0
    assert gap_counts(finds, [1, 3, 2], np.zeros((3, 2))).decrease == 0


def test_ones_outside_a_range_make_new_gaps():
    finds = np.array([[1], [0], [0], [0], [0]])
    restored = np.array([[1], [0], [0], [0], [1]])
    gaps = gap_counts(finds, np.arange(5), restored)
    assert gaps == (0, 0, 1, 3)
    assert gaps.decrease == -3


def test_match_is_the_best_of_all_permutations():
    from itertools import permutations

    x, y, u = rng.random((4, 9)), rng.random((4, 9)), rng.random(4)
    match = match_components(x, y, u)
    u = u / u.sum()
    cosine = (x / np.linalg.norm(x, axis=1, keepdims=True)) @ (
        y / np.linalg.norm(y, axis=1, keepdims=True)
    ).T
    best = max(sum(u[i] * cosine[i, p[i]] for i in range(4)) for p in permutations(range(4)))
    assert match.score == pytest.approx(best)
    assert match_components(x, x[[2, 0, 3, 1]]).found.tolist() == [1, 3, 0, 2]
    few = match_components(x, x[:2])
    assert few.reference.tolist() == [0, 1]
    assert few.score == pytest.approx(0.5)


def test_match_refuses_other_columns():
    with pytest.raises(ValueError, match="same columns"):
        match_components(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(ValueError, match="one number per reference"):
        match_components(np.ones((2, 3)), np.ones((2, 3)), [1.0])


def test_cells_not_observed_are_not_judged():
    clean = (rng.random((20, 30)) < 0.4).astype(float)
    spoilt = clean * (rng.random(clean.shape) < 0.7)
    restored = rng.random(clean.shape)
    unseen = rng.random(clean.shape) < 0.2
    seen = ~unseen
    for blind in (np.where(unseen, np.nan, spoilt), np.where(unseen, np.nan, clean)):
        pair = (clean, blind) if np.array_equal(blind[seen], spoilt[seen]) else (blind, spoilt)
        for judge in (noise_removal, denoising_auc):
            whole = judge(clean[seen][None], spoilt[seen][None], restored[seen][None])
            assert judge(*pair, restored) == pytest.approx(whole)


def test_a_cell_not_observed_is_no_gap():
    finds = np.array([[1, 1], [np.nan, 0], [1, 1], [np.nan, 0]])
    assert gap_counts(finds, range(4)).before == 1
    assert gap_counts(finds, range(4), np.ones((4, 2))) == (1, 1, 1, 0)


def test_the_histogram_is_the_same_in_tiles(monkeypatch):
    from falsezero.data import blocks

    clean = fz.datasets.make_aspect_bernoulli(60, 10, 2, random_state=0).table
    spoilt = fz.corrupt(clean, add=0.3, random_state=0)
    model = fz.AspectBernoulli(3, random_state=0).fit(spoilt)
    whole = posterior_histogram(model, clean, spoilt)
    monkeypatch.setattr(blocks, "_tile_rows", lambda n_columns: 7)
    cut = posterior_histogram(model, clean, spoilt)
    for name in whole.columns:
        np.testing.assert_allclose(cut[name], whole[name])
    with pytest.raises(TypeError, match="NoisyOr cannot tell which component made a cell"):
        posterior_histogram(fz.NoisyOr(2, tol=0.1, random_state=0).fit(spoilt), clean, spoilt)


def test_a_row_too_improbable_for_a_double_is_infinitely_perplexing():
    class Hopeless:
        def score_samples(self, X):
            return np.full(len(X), -1e6)

    assert perplexity(Hopeless(), np.eye(2)) == np.inf


def test_tables_that_cannot_be_compared_are_refused(monkeypatch):
    from falsezero.analysis import metrics

    with pytest.raises(ValueError, match="need the same rows and columns"):
        noise_removal(np.eye(3), np.eye(3), np.ones(3))
    monkeypatch.setattr(metrics, "_MOST_CELLS", 8)
    with pytest.raises(ValueError, match="A 3 x 3 table is too large for this measure"):
        reconstruction_error(fz.Table(np.eye(3)), np.eye(3))


def test_weights_that_say_nothing_are_refused_and_nothing_matches_nothing():
    for weights in ([0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="weights= must not be negative"):
            match_components(np.eye(2), np.eye(2), weights)
    empty = match_components(np.ones((0, 3)), np.eye(3))
    assert len(empty.found) == 0
    assert empty.score == 0.0


@pytest.mark.filterwarnings("ignore:The fit did not settle")
def test_entropies_are_the_expected_log_likelihood_of_every_cell():
    x = (np.random.default_rng(1).random((15, 6)) < 0.4).astype(float)
    x[3, 2] = x[7, 5] = np.nan
    model = fz.AspectBernoulli(3, prior=0, random_state=0, max_iter=4, tol=1e-2).fit(x)
    s, a = model.transform(x), model.components_
    made = np.zeros((15, 6, 3))
    for n, t in zip(*np.nonzero(~np.isnan(x)), strict=True):  # eq. 4
        made[n, t] = s[n] * (a[:, t] if x[n, t] == 1 else 1 - a[:, t])
        made[n, t] /= made[n, t].sum()
    weights = made.sum(axis=1) / (~np.isnan(x)).sum(axis=1)[:, None]  # eq. 5
    ones = (made * (x == 1)[..., None]).sum(axis=0) / made.sum(axis=0)  # eq. 6
    total = 0.0
    for n, t, k in np.argwhere(made > 0):  # eq. 3
        share = ones[t, k] if x[n, t] == 1 else 1 - ones[t, k]
        total += made[n, t, k] * (np.log(weights[n, k]) + np.log(share))
    found = entropies(model, x)
    assert found.expected_log_likelihood == pytest.approx(total)
    assert found.row_weights > 0
    assert found.components > 0


def test_a_share_of_no_cells_is_zero():
    assert reconstruction_error([[np.nan, np.nan]], [[0.9, 0.1]]) == 0
    assert noise_removal([[1, 0]], [[1, 0]], [[0.9, 0.8]]) == (0.5, 1.0, 0.0), "nothing was lost"
