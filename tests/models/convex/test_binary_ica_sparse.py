import numpy as np
import pytest
from scipy import sparse

from falsezero.backends import map_blocks
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer
from falsezero.models.convex.binary_ica import BinaryICA
from falsezero.models.convex.variational import VariationalBayes, VariationalEM
from falsezero.models.convex.variational_sparse import SparseBayes, SparseEM, exact_bound

SHAPES = (0.5, 0.5)
PAIRS = {
    "em": (lambda b: VariationalEM(4, b, SHAPES), lambda b: SparseEM(4, b, SHAPES)),
    "vb": (lambda b: VariationalBayes(4, b, SHAPES, 1.0), lambda b: SparseBayes(4, b, SHAPES, 1.0)),
}


@pytest.fixture(scope="module", params=["complete", "holed"])
def scattered(request):
    """300 x 200 cells with 2 % ones, and likewise with cells not observed."""
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(5, 0.2), 300)
    components = rng.beta(0.05, 2.5, size=(5, 200))
    x = (rng.random((300, 200)) < weights @ components).astype(float)
    if request.param == "holed":
        x[rng.random(x.shape) < 0.05] = np.nan
    return sparse.csr_array(x)


@pytest.mark.parametrize("inference", ["em", "vb"])
def test_the_bound_never_falls_between_looks_for_doubtful_zeros(inference, scattered):
    blocks = Blocks.cut(scattered, block_rows=128)
    steps = PAIRS[inference][1](blocks)
    point = Point(*steps.init(blocks, np.random.default_rng(0)))
    advance = advancer(steps, blocks, map_blocks)
    before, looked = -np.inf, 0
    for _ in range(120):
        point, objective, rebased = advance(point)
        assert rebased or objective >= before - 1e-10 * abs(objective)
        before, looked = objective, looked + rebased
    assert looked == 7


@pytest.mark.parametrize("inference", ["em", "vb"])
def test_a_step_is_nearly_the_exact_step(inference, scattered):
    """Off by the third order of probabilities below 0.15, and by nothing where all is visited."""
    blocks = Blocks.cut(scattered, block_rows=128)
    exact, steps = (make(blocks) for make in PAIRS[inference])
    point = Point(*steps.init(blocks, np.random.default_rng(0)))
    for _ in range(40):
        point, objective, _ = advancer(steps, blocks, map_blocks)(point)
    objective = advancer(steps, blocks, map_blocks)(point)[1]
    assert objective == pytest.approx(exact_bound(exact, blocks, point), rel=1e-3)
    near = advancer(steps, blocks, map_blocks)(point)[0]
    there = advancer(exact, blocks, map_blocks)(point)[0]
    for name in ("alpha", "beta"):
        ours, theirs = getattr(near.state, name), getattr(there.state, name)
        assert np.abs(ours - theirs).sum() < 2e-3 * theirs.sum()
    for ours, theirs in zip(near.local, there.local, strict=True):
        assert np.abs(ours[0] - theirs[0]).sum() < 5e-3 * theirs[0].sum()


def test_visiting_every_zero_is_exact(scattered, monkeypatch):
    monkeypatch.setattr("falsezero.models.convex.hot.HOT", 0.0)
    blocks = Blocks.cut(scattered, block_rows=128)
    for exact, steps in ((make(blocks) for make in pair) for pair in PAIRS.values()):
        point = Point(*steps.init(blocks, np.random.default_rng(0)))
        near, objective, _ = advancer(steps, blocks, map_blocks)(point)
        assert objective == pytest.approx(exact_bound(exact, blocks, point), rel=1e-10)
        there = advancer(exact, blocks, map_blocks)(point)[0]
        np.testing.assert_allclose(near.state.alpha, there.state.alpha, rtol=1e-5)
        np.testing.assert_allclose(near.state.beta, there.state.beta, rtol=1e-5)
        for ours, theirs in zip(near.local, there.local, strict=True):
            np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)


def test_exact_steps_have_nothing_to_add_to_the_fit(scattered):
    model = BinaryICA(4, solver="sparse", random_state=0, tol=1e-9)
    blocks = Blocks.cut(scattered)
    fit = model._optimise(blocks)
    advance = advancer(VariationalBayes(4, blocks, SHAPES, 1.0), blocks, map_blocks)
    point, first, _ = advance(Point(fit.state, fit.local))
    for _ in range(200):
        point, last, _ = advance(point)
    assert fit.converged
    assert last - first < 2e-5 * abs(first)
    assert abs(fit.objective - first) < 1e-3 * abs(first)


def test_the_evidence_is_exact_and_transform_agrees(scattered):
    model = BinaryICA(4, solver="sparse", random_state=0, tol=1e-9).fit(scattered)
    exact = model._variational(Blocks.cut(scattered), is_sparse=False)
    start = model._start_rows(Blocks.cut(scattered))
    rows = [part._replace(counts=model.gamma_[:]) for part in start.local]
    assert model.evidence_ == pytest.approx(
        exact_bound(exact, Blocks.cut(scattered), start._replace(local=rows)),
        abs=model.evidence_error_,
    )
    assert model.evidence_error_ < 1e-6 * abs(model.evidence_)
    assert model.evidence_ != model.objective_
    np.testing.assert_allclose(model.transform(scattered), model.row_weights_, atol=0.01)


@pytest.mark.parametrize("inference", ["em", "vb"])
def test_single_precision_costs_no_evidence(inference, scattered):
    model = BinaryICA(4, inference=inference, solver="sparse", random_state=0, tol=1e-5)
    double = model.fit(scattered).evidence_
    single = scattered.astype(np.float32)
    assert model.fit(single).evidence_ == pytest.approx(double, rel=5e-3)
    assert model.transform(single).dtype == np.float32


@pytest.mark.parametrize("inference", ["em", "vb"])
def test_odd_tables_do_no_harm(inference):
    for x in ([[0.0, 0.0]], [[1.0, 1.0]], [[1.0, np.nan], [np.nan, np.nan]], [[1.0], [0.0]]):
        table = sparse.csr_array(np.array(x))
        model = BinaryICA(3, inference=inference, solver="sparse", prune=True, random_state=0)
        model.fit(table)
        assert np.isfinite(model.reconstruct(table)).all()
        assert np.isfinite(model.evidence_)
