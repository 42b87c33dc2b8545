import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning
from tests.reference import noisy_or as slow

import falsezero as fz
from falsezero.backends import map_blocks
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer
from falsezero.models.noisy_or.likelihood import (
    exact_log_likelihood,
    importance_log_likelihood,
)
from falsezero.models.noisy_or.start import is_needed
from falsezero.models.noisy_or.steps import FactorisedSteps, NoisyOrState, TruncatedSteps

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def drawn(n_rows=40, n_columns=7, n_sources=3, missing=0.0, seed=0):
    """A table from the model, NaN in it, and the model."""
    rng = np.random.default_rng(seed)
    theta = rng.gamma(0.6, 1.2, (n_sources, n_columns)).clip(1e-3, 3)
    state = NoisyOrState(
        theta, rng.uniform(0.03, 0.3, n_columns), rng.normal(-0.5, 0.5, n_sources), 0
    )
    on = (rng.random((n_rows, n_sources)) < 1 / (1 + np.exp(-state.odds))).astype(float)
    X = (rng.random((n_rows, n_columns)) > np.exp(-state.leak - on @ theta)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, state


def images(n_rows, seed):
    return fz.datasets.make_noisy_or_images(n_rows, random_state=seed)


def cosines(found, truth):
    """Cosine of each true pattern with the source matched to it."""
    unit = [m / np.maximum(np.linalg.norm(m, axis=1, keepdims=True), 1e-12) for m in (found, truth)]
    similar = unit[1] @ unit[0].T
    return similar[linear_sum_assignment(-similar)]


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_likelihood_is_the_sum_over_all_codes(missing):
    X, state = drawn(missing=missing)
    (block,) = Blocks.cut(X)
    expected = slow.log_likelihood(X, *state[:3])
    np.testing.assert_allclose(exact_log_likelihood(block, state), expected, rtol=1e-10)
    posterior = slow.em_step(X, *state[:3])[3]
    rng = np.random.default_rng(0)
    sampled = importance_log_likelihood(block, state, posterior, 4000, rng)
    np.testing.assert_allclose(sampled, expected, atol=0.08)
    assert abs((sampled - expected).mean()) < 0.01


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_with_room_for_all_codes_a_truncated_step_is_exact_em(missing):
    X, state = drawn(missing=missing)
    blocks = Blocks.cut(X, block_rows=17)
    steps = TruncatedSteps(3, blocks, n_states=8)
    advance = advancer(steps, blocks, map_blocks)
    point = Point(state, steps.start_rows(blocks, state))
    for _ in range(4):
        theta, leak, share, on = slow.em_step(X, *point.state[:3])
        before = slow.log_likelihood(X, *point.state[:3])
        point, objective, _ = advance(point)
        assert objective == pytest.approx(before.sum(), rel=1e-10)
        np.testing.assert_allclose(point.state.theta, theta, rtol=1e-8)
        np.testing.assert_allclose(point.state.leak, leak, rtol=1e-8)
        np.testing.assert_allclose(1 / (1 + np.exp(-point.state.odds)), share, rtol=1e-8)
        np.testing.assert_allclose(np.vstack([p.posterior for p in point.local]), on, atol=1e-10)
        np.testing.assert_allclose(np.concatenate([p.bound for p in point.local]), before)


def test_few_codes_are_the_most_probable_ones():
    X, state = drawn(n_sources=4)
    blocks = Blocks.cut(X)
    steps = TruncatedSteps(4, blocks, n_states=5)
    (local,) = steps.start_rows(blocks, state)
    for _ in range(8):
        local, stats = steps.local_step(blocks[0], local, state, None)
    joint = slow.log_joint(X, slow.all_codes(4), *state[:3])
    best = np.log(np.exp(np.sort(joint, axis=1)[:, -5:]).sum(axis=1))
    # Neighbours of kept codes lead to the best five in nearly every row, never beyond them.
    assert (local.bound <= best + 1e-10).all()
    assert np.isclose(local.bound, best).mean() > 0.9
    assert stats.bound == pytest.approx(local.bound.sum())


def settled_shares(X, state, n_steps=1):
    blocks = Blocks.cut(X)
    steps = FactorisedSteps(len(state.theta), blocks)
    point = Point(state, steps.start_rows(blocks, state))
    advance = advancer(steps, blocks, map_blocks)
    for _ in range(n_steps):
        before, (point, objective, _) = point, advance(point)
    shares = np.full((*X.shape, len(state.theta)), np.nan)
    shares[X == 1] = point.local[0].shares
    return before.state, point, objective, shares


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_factorised_bound_is_the_papers(missing):
    X, state = drawn(missing=missing)
    _, point, objective, shares = settled_shares(X, state)
    posterior = point.local[0].posterior
    bound = slow.factorised_bound(X, *state[:3], posterior, shares)
    np.testing.assert_allclose(point.local[0].bound, bound, rtol=1e-9)
    assert objective == pytest.approx(bound.sum())
    np.testing.assert_allclose(np.nansum(shares, axis=2)[X == 1], 1)


def test_a_settled_fit_is_a_root_of_figure_2():
    X, state = drawn(n_rows=60, missing=0.1)
    state, point, _, shares = settled_shares(X, state, n_steps=3000)
    at_theta, at_leak = slow.figure_2_derivatives(X, *state[:2], point.local[0].posterior, shares)
    steps = FactorisedSteps(3, Blocks.cut(X))
    inside = (state.theta > 1e-3) & (state.theta < steps.most)
    assert inside.sum() > 5
    assert np.abs(at_theta[inside]).max() < 1e-3
    assert (at_theta[state.theta < 1e-6] < 1e-3).all()
    assert (at_leak[state.leak <= steps.least] < 0).all()
    assert np.abs(at_leak[state.leak > steps.least]).max() < 1e-3


def test_at_the_truth_the_gradient_of_a_truncated_fit_is_zero():
    X, state = drawn(n_rows=60)
    blocks = Blocks.cut(X)
    steps = TruncatedSteps(3, blocks, n_states=8)
    point, advance = (
        Point(state, steps.start_rows(blocks, state)),
        advancer(steps, blocks, map_blocks),
    )
    for _ in range(3000):
        point, _, _ = advance(point)
    theta, leak, odds = point.state[:3]
    k, j = np.argwhere((theta > 0.1) & (theta < 3))[0]
    step = np.zeros_like(theta)
    step[k, j] = 1e-4
    up, down = (slow.log_likelihood(X, theta + s * step, leak, odds).sum() for s in (1, -1))
    assert abs(up - down) / 2e-4 < 1e-3


@pytest.mark.parametrize("inference", ["truncated", "factorised"])
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_lies_below_the_likelihood_and_never_falls(inference, seed):
    X, _ = drawn(n_rows=50, n_columns=9, missing=0.1 * (seed % 2), seed=seed)
    model = fz.NoisyOr(3, inference=inference, n_states=3, random_state=seed).fit(X)
    objectives = np.array([row["objective"] for row in model.history_])
    assert np.diff(objectives).min() >= -1e-9 * abs(objectives[-1])
    assert (model.score_samples(X) <= model.log_likelihood(X, "exact") + 1e-9).all()
    assert model.bound_ <= model.log_likelihood(X).sum() + 1e-9


@pytest.mark.parametrize("inference", ["truncated", "factorised"])
def test_one_odd_row_does_not_bend_what_was_learnt(inference):
    model = fz.NoisyOr(8, inference=inference, random_state=0).fit(images(300, 0).table)
    for row in (np.ones((1, 64)), (np.arange(64) % 3 == 0).astype(float)[None]):
        assert model.score_samples(row) <= model.log_likelihood(row) + 1e-9
        weights = model.transform(np.vstack([row, images(50, 1).table.to_numpy()]))[:1]
        np.testing.assert_allclose(model.transform(row), weights, atol=1e-3)


def test_the_patterns_of_the_images_are_found():
    train, test = images(1000, 0), images(2000, 50)
    model = fz.NoisyOr(8, random_state=0).fit(train.table)
    assert (cosines(model.loadings_, train.loadings) >= 0.9).sum() >= 7
    assert model.active_.all()
    (block,) = Blocks.cut(test.table.values, block_rows=2000)
    odds = np.log(train.priors / (1 - train.priors))
    truth = NoisyOrState(-np.log1p(-train.loadings), -np.log1p(-train.leak), odds, 0)
    best = exact_log_likelihood(block, truth).mean()
    assert best >= model.log_likelihood(test.table).mean() >= 1.02 * best
    assert (model.codes(train.table).to_numpy().sum(axis=1) - train.sources.sum(axis=1)).std() < 1


def test_sources_too_many_are_shut_off():
    table = images(600, 1).table
    enough, many = (fz.NoisyOr(k, random_state=0).fit(table) for k in (8, 12))
    assert (~many.active_).sum() >= 3
    assert enough.bic() < many.bic()
    assert many.bound_ == pytest.approx(enough.bound_, rel=5e-3)
    assert (many.loadings_[~many.active_].max(axis=1) < 1e-6).sum() >= 2
    assert set(many.communities()["source"]) == set(np.flatnonzero(many.active_))


def test_a_source_must_be_worth_its_links():
    posterior = np.zeros((1000, 3))
    posterior[:300, 0] = 1 - 1e-12
    posterior[0, 1] = 1 - 1e-6
    posterior[:, 2] = 0.9
    loadings = np.array([[0.8] * 10, [0.8] * 10, [0.01] * 10])
    for precision in (float, np.float32):
        found = is_needed(posterior.astype(precision), loadings, 1000)
        assert found.tolist() == [True, False, False]


def test_sparse_and_dense_tables_give_the_same_fit():
    X = images(300, 2).table.to_numpy()
    dense, thin = (fz.NoisyOr(5, random_state=0).fit(t) for t in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense.loadings_, thin.loadings_, atol=1e-8)
    threads = fz.NoisyOr(5, random_state=0, n_jobs=2).fit(X)
    np.testing.assert_array_equal(dense.loadings_, threads.loadings_)


@pytest.mark.parametrize("kind", [TruncatedSteps, FactorisedSteps])
def test_how_the_rows_are_cut_changes_nothing(kind):
    X, state = drawn(n_rows=33, missing=0.1)
    totals = []
    for block_rows in (5, 33):
        blocks = Blocks.cut(X, block_rows=block_rows)
        steps = kind(3, blocks)
        point = Point(state, steps.start_rows(blocks, state))
        advance = advancer(steps, blocks, map_blocks)
        for _ in range(3):
            point, objective, _ = advance(point)
        totals.append((objective, point.state.theta))
    assert totals[0][0] == pytest.approx(totals[1][0])
    np.testing.assert_allclose(totals[0][1], totals[1][1])


def test_removing_a_source_leaves_what_the_others_and_the_leak_make():
    table = images(200, 3).table
    model = fz.NoisyOr(8, random_state=0).fit(table)
    alone = model.reconstruct(table, keep=np.zeros(8)).to_numpy()
    np.testing.assert_allclose(alone, np.tile(model.leak_, (200, 1)), rtol=1e-10)
    keep = np.ones(8)
    keep[0] = 0
    weights = model.transform(table).to_numpy()
    without = model.reconstruct(table, keep=keep).to_numpy()
    silent = 1 - model.reconstruct(table).to_numpy()
    expected = 1 - silent / (1 - np.outer(weights[:, 0], model.loadings_[0]))
    np.testing.assert_allclose(without, expected, atol=1e-9)
    with pytest.raises(ValueError, match=r"keep= needs one number per component \(8\)"):
        model.reconstruct(table, keep=[1, 0])


def test_codes_compress_the_images():
    data = images(400, 4)
    model = fz.NoisyOr(8, random_state=0).fit(data.table)
    codes = model.codes(data.table).to_numpy()
    numbers = model.predict(data.table)
    np.testing.assert_array_equal((numbers[:, None] >> np.arange(8)) & 1, codes)
    rng, ones = np.random.default_rng(0), data.table.to_numpy()
    p = model._expected(codes)
    drawn_again = [(rng.random(p.shape) < p) != ones for _ in range(20)]
    assert model.coding_error(data.table) == pytest.approx(np.mean(drawn_again), abs=2e-3)
    assert model.coding_error(data.table) < 0.6 * ones.mean()


def test_samples_follow_the_model():
    model = fz.NoisyOr(4, random_state=0).fit(images(200, 5).table)
    rows = model.sample(20000, random_state=1)
    expected = 1 - (1 - model.leak_) * np.prod(1 - model.priors_[:, None] * model.loadings_, axis=0)
    error = np.sqrt(expected * (1 - expected) / 20000)
    assert (np.abs(rows.mean(axis=0) - expected) < 5 * error).all()


def test_a_saved_start_goes_on_where_it_was(tmp_path):
    X = images(200, 6).table.to_numpy()
    whole = fz.NoisyOr(4, random_state=0).fit(X)
    path = tmp_path / "fit.npz"

    def interrupt(row):
        if row["iteration"] == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fz.NoisyOr(4, random_state=0, checkpoint=path, callback=interrupt).fit(X)
    resumed = fz.NoisyOr(4, random_state=0, checkpoint=path).fit(X)
    np.testing.assert_allclose(resumed.loadings_, whole.loadings_, atol=1e-6)


def test_questions_that_cannot_be_answered_say_so():
    X = images(60, 7).table.to_numpy()
    with pytest.warns(ConvergenceWarning):
        model = fz.NoisyOr(21, max_iter=2, tol=0, random_state=0).fit(X)
    with pytest.raises(ValueError, match="use method='importance'"):
        model.log_likelihood(X, "exact")
    with pytest.raises(ValueError, match="method= needs"):
        model.log_likelihood(X, "guess")
    assert np.isfinite(model.log_likelihood(X, n_draws=50)).all()


def test_the_images_are_drawn_from_the_model_they_name():
    data = images(20000, 8)
    assert data.loadings.shape == (8, 64)
    assert (data.loadings.sum(axis=1) > 0).all()
    # Patterns overlap: that is what makes the problem hard.
    assert ((data.loadings > 0).sum(axis=0) > 1).sum() > 20
    expected = 1 - (1 - data.leak) * np.prod(1 - data.priors[:, None] * data.loadings, axis=0)
    error = np.sqrt(expected * (1 - expected) / 20000)
    assert (np.abs(data.table.to_numpy().mean(axis=0) - expected) < 5 * error).all()


def test_the_factorised_bound_is_tight_on_the_images():
    table = images(300, 9).table
    model = fz.NoisyOr(8, inference="factorised", random_state=0).fit(table)
    gap = model.log_likelihood(table, "exact") - model.score_samples(table)
    assert 0 <= gap.mean() < 0.3
    assert model.bound_ / 300 > model.log_likelihood(table, "exact").mean() - 0.3
    np.testing.assert_allclose(model.transform(table).to_numpy(), model.row_weights_, atol=1e-12)


def test_restarted_rows_never_end_below_where_they_were():
    table = images(200, 10).table
    model = fz.NoisyOr(8, inference="factorised", random_state=0).fit(table)
    blocks, state = model._blocks(table, reset=False), model._state()
    bounds = {}
    for restarts in (False, True):
        steps = FactorisedSteps(8, blocks, restarts=restarts)
        local = steps.start_rows(blocks, state)[0]
        each = []
        for _ in range(12):
            local, _ = steps.local_step(blocks[0], local, state, None)
            each.append(local.bound)
        bounds[restarts] = np.array(each)
    assert np.diff(bounds[True], axis=0).min() > -1e-9
    assert (bounds[True][0] >= bounds[False][0] - 1e-9).all()
    assert (bounds[True][-1] - bounds[False][-1]).mean() > 2


@pytest.mark.parametrize("n_sources", [1, 4, 6])
def test_as_many_states_as_codes_make_the_score_exact(n_sources):
    X = images(80, 11).table.to_numpy()
    model = fz.NoisyOr(n_sources, n_states=2**n_sources, random_state=0).fit(X)
    np.testing.assert_allclose(model.score_samples(X), model.log_likelihood(X, "exact"), rtol=1e-9)
    assert model.bound_ == pytest.approx(model.log_likelihood(X, "exact").sum(), rel=1e-9)


def test_the_papers_own_algorithm_runs_without_any_search(monkeypatch):
    def refuse(*args):
        raise AssertionError("a search was run")

    monkeypatch.setattr("falsezero.models.noisy_or.steps.truncated_pass", refuse)
    X = images(150, 12).table.to_numpy()
    options = {"inference": "factorised", "start": "random", "acceleration": None, "max_iter": 40}
    one, other = (fz.NoisyOr(4, **options, random_state=seed).fit(X) for seed in (0, 1))
    for model in (one, other):
        objectives = [row["objective"] for row in model.history_]
        assert (np.diff(objectives) >= -1e-9 * abs(objectives[-1])).all()
        assert objectives[-1] > objectives[0]
        assert (model.score_samples(X) <= model.log_likelihood(X, "exact") + 1e-9).all()
    assert not np.allclose(one.loadings_, other.loadings_, atol=1e-3)
    with pytest.raises(AssertionError, match="a search was run"):
        fz.NoisyOr(4, inference="factorised", random_state=0).fit(X)


def test_information_criteria_charge_every_parameter():
    X = images(60, 13).table.to_numpy()
    model = fz.NoisyOr(3, max_iter=20, random_state=0).fit(X)
    n_parameters = 3 * 64 + 3 + 64
    assert model.n_parameters_ == n_parameters
    assert model.aic() == pytest.approx(-2 * model.bound_ + 2 * n_parameters, rel=1e-12)
    assert model.bic() == pytest.approx(-2 * model.bound_ + np.log(60) * n_parameters, rel=1e-12)
