"""Thresholds and constants that a small slip would change without anybody noticing."""

import numpy as np
import pytest
from scipy import sparse

import falsezero as fz
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Fit, Point
from falsezero.models.convex import binary_ica
from falsezero.models.convex.family import clip_to_reference, is_worth_sparse
from falsezero.models.convex.variational import VariationalBayes

X = (np.random.default_rng(0).random((6, 4)) < 0.5).astype(float)


def sources_explaining(steps, cells):
    """Posteriors of components that explain so many cells each, in expectation."""
    ones = np.array(cells)[:, None] / 4 * np.ones(4)
    return steps.sources(ones / 2, ones / 2)


@pytest.mark.parametrize(
    ("cells", "in_use"),
    [((9.0, 1.0, 5.0), [1, 2, 0]), ((9.0, 0.999, 5.0), [2, 0]), ((0.0, 1.001, 0.5), [1])],
)
def test_a_component_is_in_use_from_one_cell_on(cells, in_use):
    steps = VariationalBayes(3, Blocks.cut(X), (0.5, 0.5), 0.2)
    state = sources_explaining(steps, cells)
    np.testing.assert_allclose(steps.cells(state), cells, atol=1e-12)
    assert steps.in_use(Point(state, [])) == in_use


def test_extinct_components_explain_less_than_one_cell():
    made = fz.datasets.make_aspect_bernoulli(
        150, 30, 3, concentration=0.05, shape=(0.5, 0.5), random_state=1
    )
    model = fz.BinaryICA(6, gamma0=0.2, prune=True, n_init=3, random_state=0).fit(made.table)
    cells = (model.alpha_ + model.beta_ - 1.0).sum(axis=1)
    np.testing.assert_array_equal(model.extinct_, np.flatnonzero(cells < 1.0))
    assert len(model.extinct_) == 3


def test_a_component_of_one_cell_is_not_extinct():
    model = fz.BinaryICA(3, solver="exact")
    blocks = model._blocks(X, reset=True)
    model._choose_solver(blocks)
    steps = model._steps(blocks)
    rows = steps.rows(np.tile([0.5, 0.3, 0.2], (6, 1)), blocks)
    state = sources_explaining(steps, (9.0, 1.0, 0.5))
    model._adopt(Fit(state, rows, 0.0, [], True, 1), blocks)
    assert model.extinct_.tolist() == [2]
    np.testing.assert_allclose(model.components_, model.alpha_ / (model.alpha_ + model.beta_))


def test_a_component_left_out_shares_its_cells_evenly():
    steps = VariationalBayes(3, Blocks.cut(X), (0.5, 0.5), 0.2)
    rows = steps.rows(np.tile([0.5, 0.3, 0.2], (6, 1)), Blocks.cut(X))
    state = sources_explaining(steps, (12.0, 7.2, 4.8))
    without = steps.without(Point(state, rows), 0)
    np.testing.assert_allclose(
        without.local[0].counts, np.tile([0.2, 0.2 + 2.2, 0.2 + 1.8], (6, 1))
    )
    np.testing.assert_array_equal(without.state.alpha[0], np.full(4, 0.5))
    np.testing.assert_array_equal(without.state.alpha[1:], state.alpha[1:])


def test_the_sparse_solver_is_for_large_tables_with_few_ones():
    assert is_worth_sparse((2001, 2000), 159_000)
    assert not is_worth_sparse((2000, 2000), 10)
    assert not is_worth_sparse((2001, 2000), 2001 * 80)
    assert is_worth_sparse((2001, 2000), 2001 * 80 - 1)


def test_a_stride_goes_three_tenths_of_the_way_to_the_edge():
    np.testing.assert_allclose(
        clip_to_reference(np.array([-1.0, 0.5, 2.0]), np.array([0.2, 0.5, 0.8])), [0.06, 0.5, 0.94]
    )


def test_prior_pseudo_observations_are_counted_exactly():
    table = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    model = fz.AspectBernoulli(1, prior=2, random_state=0, tol=1e-12).fit(table)
    mean = np.array([3.5, 1.5]) / 5
    np.testing.assert_allclose(
        model.components_[0], (np.array([3.0, 1.0]) + 2 * mean) / 6, rtol=1e-6
    )
    a = model.components_[0]
    log_prior = 2 * (mean * np.log(a) + (1 - mean) * np.log1p(-a)).sum()
    assert model.objective_ == pytest.approx(model.log_likelihood_ + log_prior, rel=1e-9)


@pytest.mark.parametrize(
    ("model", "free", "n"),
    [
        (fz.AspectBernoulli(3, prior=0), 3 * 4 + 2 * 6, 24),
        (fz.BernoulliMixture(3), 3 * 4 + 2, 6),
        (fz.LogisticPCA(2), (6 + 4) * 2 - 4 + 4 - 2, 24),
        (fz.LogisticPCA(2, bias=False), (6 + 4) * 2 - 4, 24),
        (fz.BernoulliNMF(2), (6 + 4 - 1) * 2, 24),
        (fz.PLSA(2), 2 * 3 + 6, 24),
        (fz.UnigramMixture(3), 3 * 3 + 2, 6),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_information_criteria_are_their_formulas(model, free, n):
    model.set_params(random_state=0, max_iter=10).fit(X)
    assert model.n_parameters_ == free
    assert model.aic() == pytest.approx(-2 * model.log_likelihood_ + 2 * free)
    assert model.bic() == pytest.approx(-2 * model.log_likelihood_ + free * np.log(n))


def test_only_variational_bayes_has_evidence():
    assert fz.BinaryICA(2, inference="vb").capabilities.has_evidence
    assert not fz.BinaryICA(2, inference="em").capabilities.has_evidence


def test_blocks_of_binary_ica_are_few():
    model = fz.BinaryICA(2)
    assert model._block_rows(np.zeros((3, 10))) == binary_ica._BLOCK_CELLS // 10
    assert model._block_rows(np.zeros((3, binary_ica._BLOCK_CELLS // 63))) == 64
    assert model._block_rows(sparse.csr_array(np.eye(3))) is None


@pytest.mark.parametrize("inference", ["em", "vb"])
def test_rows_never_seen_begin_with_even_weights(inference):
    model = fz.BinaryICA(4, inference=inference, gamma0=0.5)
    blocks = model._blocks(X, reset=True)
    [rows] = model._fresh_rows(blocks)
    expected = np.full((6, 4), 1 / 4) if inference == "em" else np.full((6, 4), 0.5 + 4 / 4)
    np.testing.assert_allclose(rows[0], expected)
    looks = fz.RepeatedLooks(4, gamma0=0.5, random_state=0, tol=1e-2).fit(X[:, None])
    [rows] = looks._start_rows(looks._blocks(X[:, None], reset=False)).local
    np.testing.assert_allclose(rows.content, np.full((6, 4), 0.5 + 4 / 4))
