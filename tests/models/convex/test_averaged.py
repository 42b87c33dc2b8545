"""Row weights averaged over: exact on tiny tables, and no worse than the mixture at predicting."""

from itertools import pairwise, product

import numpy as np
import pytest

import falsezero as fz
from falsezero.analysis.heldout import cell_log_probability
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Point
from falsezero.models.convex.averaged import (
    AveragedSteps,
    is_worth_averaging,
    lattice_parts,
    reordered_shares,
    simplex_lattice,
)


def drawn(shape=(60, 5), seed=0, missing=0.1):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(3, 0.4), shape[0]) @ rng.beta(0.6, 0.6, (3, shape[1]))
    X = (rng.random(shape) < p).astype(float)
    X[rng.random(shape) < missing] = np.nan
    return X


@pytest.fixture(scope="module")
def model():
    return fz.AspectBernoulli(3, random_state=0).fit(drawn())


def by_point(model, x):
    """pi_m prod_t p(x_t | point m) over the observed cells, written out."""
    p = model.points_ @ model.components_
    cells = np.where(x == 1, p, 1 - p)
    return model.point_shares_ * np.where(np.isnan(x), 1.0, cells).prod(axis=1)


def test_the_likelihood_is_a_sum_over_points(model):
    X = drawn()
    rows = np.array([by_point(model, x).sum() for x in X])
    np.testing.assert_allclose(model.score_samples(X), np.log(rows), rtol=1e-10)
    assert model.log_likelihood_ == pytest.approx(np.log(rows).sum(), rel=1e-10)


def test_scores_of_all_rows_add_up_to_one(model):
    every = np.array(list(product([0.0, 1.0], repeat=5)))
    assert np.exp(model.score_samples(every)).sum() == pytest.approx(1.0, rel=1e-9)


def test_row_weights_are_posterior_means(model):
    X = drawn(seed=1)
    joint = np.array([by_point(model, x) for x in X])
    means = joint / joint.sum(axis=1, keepdims=True) @ model.points_
    np.testing.assert_allclose(model.transform(X), means, atol=1e-10)
    unknown = model.transform(np.full((1, 5), np.nan))[0]
    np.testing.assert_allclose(unknown, model.point_shares_ @ model.points_, atol=1e-10)


def test_the_objective_never_falls_and_ends_at_a_stationary_point():
    blocks = Blocks.cut(drawn((80, 8)))
    steps = AveragedSteps(3, blocks, 1.0)
    point = Point(*steps.init(blocks, np.random.default_rng(0)))
    objectives = []
    for _ in range(400):
        local, stats = steps.local_step(blocks[0], point.local[0], point.state, None)
        objectives.append(steps.objective(stats, point.state))
        point = Point(steps.global_step(stats, point.state, None), [local])
    assert all(b >= a - 1e-10 * abs(a) for a, b in pairwise(objectives))

    def value(components):
        state = point.state._replace(components=components)
        return steps.objective(steps.local_step(blocks[0], None, state, None)[1], state)

    a = point.state.components
    inside = np.argwhere((a > 0.05) & (a < 0.95))[:6]
    for k, t in inside:
        shift = np.zeros_like(a)
        shift[k, t] = 1e-4
        slope = (value(a + shift) - value(a - shift)) / 2e-4
        assert abs(slope) < 0.05


def test_with_corners_alone_it_is_the_mixture(monkeypatch):
    monkeypatch.setattr("falsezero.models.convex.averaged.lattice_parts", lambda k: 1)
    X = drawn((80, 8))
    averaged = fz.AspectBernoulli(3, random_state=0, tol=1e-9).fit(X)
    mixture = fz.BernoulliMixture(3, prior=1, random_state=0, tol=1e-9).fit(X)
    assert averaged.log_likelihood_ == pytest.approx(mixture.log_likelihood_, rel=1e-4)
    np.testing.assert_allclose(averaged.components_, mixture.components_, atol=0.02)


def test_lattices():
    points = simplex_lattice(3, 4)
    assert len(points) == 15
    np.testing.assert_array_equal(points[:3], np.eye(3))
    np.testing.assert_allclose(points.sum(axis=1), 1)
    assert len(np.unique(points, axis=0)) == 15
    assert [len(simplex_lattice(k, lattice_parts(k))) for k in (2, 4, 5, 8, 16)] == [
        9, 35, 35, 36, 136,
    ]  # fmt: skip


def test_shares_follow_their_points_to_a_new_order():
    points = simplex_lattice(3, 3)
    shares = np.arange(10.0)
    order = np.array([2, 0, 1])
    new = reordered_shares(points, shares, order)
    for point, share in zip(points, shares, strict=True):
        at = np.flatnonzero((points == point[order]).all(axis=1))
        assert new[at] == share


def test_auto_is_a_weak_prior_where_averaging_costs_too_much():
    assert is_worth_averaging((1000, 1000), 5)
    assert not is_worth_averaging((1000, 1001), 5)
    assert not is_worth_averaging((10, 10), 1)
    assert is_worth_averaging((10, 10), 16)
    assert not is_worth_averaging((10, 10), 17)
    X = drawn((40, 12))
    auto = fz.AspectBernoulli(3, solver="exact", random_state=0).fit(X)
    weak = fz.AspectBernoulli(3, prior=1, solver="exact", random_state=0).fit(X)
    np.testing.assert_array_equal(auto.components_, weak.components_)
    assert not auto.is_averaged_
    assert not hasattr(auto, "points_")


def test_a_refit_without_averaging_forgets_the_points():
    X = drawn()
    model = fz.AspectBernoulli(3, random_state=0).fit(X)
    assert model.is_averaged_
    model.set_params(prior=0).fit(X)
    assert not hasattr(model, "point_shares_")
    assert len(model.score_samples(X)) == len(X)


def test_parameters_count_the_points_in_use(model):
    in_use = (model.point_shares_ * 60 > 0.5).sum()
    assert model.n_parameters_ == 3 * 5 + in_use - 1


def test_a_saved_model_averages_too(model, tmp_path):
    fz.save(model, tmp_path / "model.fz")
    back = fz.load(tmp_path / "model.fz")
    np.testing.assert_array_equal(back.transform(drawn()), model.transform(drawn()))
    np.testing.assert_array_equal(back.sample(9), model.sample(9))


def scores_of_hidden_cells(make, X, n_parts=3, hidden=0.1, seed=0):
    """Log probabilities of cells that were hidden, a tenth at a time."""
    rng = np.random.default_rng(seed)
    cells = rng.permutation(np.argwhere(~np.isnan(X)))
    size, found = int(hidden * len(cells)), []
    for part in range(n_parts):
        rows, columns = cells[part * size : (part + 1) * size].T
        shown = X.copy()
        shown[rows, columns] = np.nan
        expected = make().fit(shown).reconstruct(shown)[rows, columns]
        found.append(cell_log_probability(expected, X[rows, columns]))
    return np.concatenate(found)


@pytest.mark.parametrize("name", ["carcinoma", "cheating", "values", "election", "gss82", "senate"])
def test_hidden_cells_are_predicted_no_worse_than_by_a_mixture(name):
    try:
        data = fz.datasets.load_senate() if name == "senate" else fz.datasets.load_polca(name)
    except fz.datasets.DatasetNotFoundError:
        pytest.skip("the data sets are not here")
    X = data.table.to_numpy()[:, :120]
    ours = scores_of_hidden_cells(lambda: fz.AspectBernoulli(random_state=0), X)
    for prior in (0, 1):
        mixture = fz.BernoulliMixture(prior=prior, random_state=0)
        gain = ours - scores_of_hidden_cells(lambda mixture=mixture: mixture, X)
        assert gain.mean() > -max(gain.std(ddof=1) / np.sqrt(len(gain)), 1e-3)
