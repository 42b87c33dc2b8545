import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.reference import binary_ica as reference

import falsezero as fz
from falsezero.backends import map_blocks
from falsezero.data.blocks import Blocks
from falsezero.data.table import Table
from falsezero.datasets import make_aspect_bernoulli
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer
from falsezero.models.convex.aspect_bernoulli import AspectBernoulli
from falsezero.models.convex.binary_ica import BinaryICA
from falsezero.models.convex.variational import VariationalBayes, VariationalEM

SHAPES = (0.5, 0.7)
GAMMA0 = 0.8
INFERENCES = ["em", "vb"]


@pytest.fixture(scope="module")
def holed():
    """A table of 40 x 13 with a few cells not observed."""
    table = make_aspect_bernoulli(40, 13, 3, random_state=1).table.to_numpy()
    table[np.random.default_rng(0).random(table.shape) < 0.1] = np.nan
    return table


def steps_for(inference, blocks, n_components=3, inner_iter=1):
    if inference == "em":
        return VariationalEM(n_components, blocks, SHAPES, inner_iter)
    return VariationalBayes(n_components, blocks, SHAPES, GAMMA0, inner_iter)


def log_weights(steps, local):
    if isinstance(steps, VariationalBayes):
        gamma = np.concatenate([part.counts for part in local])
        return reference.expected_log_weights(gamma), gamma
    return np.log(np.concatenate([part.weights for part in local])), None


def written_out(x, steps, point):
    """The bound with Q in full, at its best Q."""
    log_a, gamma = log_weights(steps, point.local)
    alpha, beta = point.state.alpha, point.state.beta
    q = reference.responsibilities(x, log_a, alpha, beta)
    return reference.bound(x, q, log_a, alpha, beta, (*SHAPES, GAMMA0), gamma), q


def objective_at(steps, blocks, point):
    return advancer(steps, blocks, map_blocks)(point)[1]


def halves(steps, blocks, point):
    """The point after the rows alone, and after the sources alone, were renewed."""
    pairs = [
        steps.local_step(b, local, point.state, None)
        for b, local in zip(blocks, point.local, strict=True)
    ]
    stats = pairs[0][1]
    for _, more in pairs[1:]:
        stats = type(stats)(*(a + b for a, b in zip(stats, more, strict=True)))
    rows = point._replace(local=[local for local, _ in pairs])
    return rows, point._replace(state=steps.global_step(stats, point.state, None))


@pytest.mark.parametrize("inference", INFERENCES)
def test_one_step_is_the_papers_formulas(inference, holed):
    blocks = Blocks.cut(holed, block_rows=16)
    steps = steps_for(inference, blocks)
    point = Point(*steps.init(blocks, np.random.default_rng(0)))
    evidence, q = written_out(holed, steps, point)
    after, objective, _ = advancer(steps, blocks, map_blocks)(point)
    assert objective == pytest.approx(evidence, rel=1e-12)
    alpha, beta = reference.source_counts(holed, q, *SHAPES)
    np.testing.assert_allclose(after.state.alpha, alpha, rtol=2e-6)
    np.testing.assert_allclose(after.state.beta, beta, rtol=2e-6)
    shares = q.sum(axis=1)
    if inference == "vb":
        counts = np.concatenate([part.counts for part in after.local])
        np.testing.assert_allclose(counts, GAMMA0 + shares, rtol=2e-6)
    else:
        weights = np.concatenate([part.weights for part in after.local])
        np.testing.assert_allclose(weights, shares / shares.sum(axis=1, keepdims=True), rtol=2e-6)


@pytest.mark.parametrize("inner_iter", [1, 3])
@pytest.mark.parametrize("inference", INFERENCES)
def test_the_bound_rises_at_every_half_step(inference, inner_iter, holed):
    """E (rows) and M (sources) alone, one after the other, and both from one pass."""
    blocks = Blocks.cut(holed, block_rows=16)
    steps = steps_for(inference, blocks, 4, inner_iter)
    point = Point(*steps.init(blocks, np.random.default_rng(3)))
    evidence = objective_at(steps, blocks, point)
    slack = 1e-11 * abs(evidence)
    for _ in range(150):
        together = advancer(steps, blocks, map_blocks)(point)[0]
        assert objective_at(steps, blocks, together) >= evidence - slack
        for half in (0, 1):
            point = halves(steps, blocks, point)[half]
            before, evidence = evidence, objective_at(steps, blocks, point)
            assert evidence >= before - slack


@pytest.mark.parametrize("inference", INFERENCES)
@pytest.mark.parametrize("acceleration", [None, "squarem"])
def test_the_history_never_falls_and_ends_at_the_evidence(inference, acceleration, holed):
    model = BinaryICA(
        4, inference=inference, acceleration=acceleration, random_state=0, tol=1e-9, max_iter=5000
    )
    model.fit(holed)
    objectives = [row["objective"] for row in model.history_]
    assert np.diff(objectives).min() >= -1e-11 * abs(model.evidence_)
    assert model.evidence_ == objectives[-1] == model.objective_
    assert model.converged_


@pytest.mark.parametrize("n_components", [1, 2])
def test_the_bound_is_below_the_exact_evidence(n_components):
    x = np.array([[1, 0, 1], [1, 1, 0], [0, np.nan, 0]], dtype=float)
    model = BinaryICA(n_components, alpha0=0.5, beta0=0.7, gamma0=0.8, n_init=5, random_state=0)
    exact = reference.exact_log_evidence(x, n_components, 0.5, 0.7, 0.8)
    assert model.fit(x).evidence_ <= exact + 1e-9
    # With one component nothing is approximated.
    if n_components == 1:
        assert model.evidence_ == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("inference", INFERENCES)
def test_replicated_data_lead_to_maximum_likelihood(inference):
    """As the priors lose their influence the means become Aspect Bernoulli's, at rate 1/copies."""
    x = make_aspect_bernoulli(30, 12, 2, random_state=6).table.to_numpy()
    best = AspectBernoulli(2, prior=0, n_init=20, tol=1e-12, max_iter=20000, random_state=0).fit(x)
    likeliest = best.reconstruct(x)
    errors, gaps = [], []
    for copies in (2, 8, 32):
        model = BinaryICA(2, inference=inference, tol=1e-12, max_iter=5000, random_state=0)
        model.fit(np.tile(x, (copies, copies)))
        p = (model.row_weights_ @ model.components_)[:30, :12]
        errors.append(np.abs(p - likeliest).mean())
        gaps.append(best.log_likelihood_ - np.where(x == 1, np.log(p), np.log1p(-p)).sum())
    # Four times the copies on both sides, a quarter of what is left.
    for left in (errors, gaps):
        assert 3.5 < left[0] / left[1] < 4.5
        assert 3.5 < left[1] / left[2] < 4.5
    assert errors[2] < 0.003


def test_superfluous_components_go_extinct():
    made = make_aspect_bernoulli(150, 30, 3, concentration=0.05, shape=(0.5, 0.5), random_state=1)
    model = BinaryICA(6, gamma0=0.2, prune=True, n_init=3, random_state=0).fit(made.table)
    np.testing.assert_array_equal(model.extinct_, [3, 4, 5])
    # Back at the prior: half of nothing in every column.
    np.testing.assert_allclose(model.components_[3:], 0.5, atol=0.02)
    np.testing.assert_allclose(model.alpha_[3:] + model.beta_[3:], 1.0, atol=0.05)
    assert [row["what"] for row in model.history_].count("component left out") == 3
    assert np.diff([row["objective"] for row in model.history_]).min() >= -1e-9
    kept = BinaryICA(3, gamma0=0.2, prune=True, n_init=3, random_state=0).fit(made.table)
    assert kept.extinct_.size == 0
    assert kept.evidence_ > model.evidence_


@pytest.mark.parametrize("inference", INFERENCES)
def test_pruning_never_lowers_the_evidence(inference, holed):
    model = BinaryICA(4, inference=inference, random_state=2)
    plain = model.fit(holed).evidence_
    assert model.set_params(prune=True).fit(holed).evidence_ >= plain


def test_the_evidence_peaks_at_the_truth():
    made = make_aspect_bernoulli(150, 30, 3, concentration=0.05, shape=(0.5, 0.5), random_state=0)
    evidence = [
        BinaryICA(k, n_init=5, random_state=0).fit(made.table).evidence_ for k in range(1, 6)
    ]
    assert int(np.argmax(evidence)) + 1 == 3


@pytest.mark.parametrize("inference", INFERENCES)
def test_sparse_blocks_and_threads_change_nothing(inference, holed):
    model = BinaryICA(3, inference=inference, random_state=0, max_iter=30, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense = model.fit(holed).components_
        np.testing.assert_allclose(model.fit(sparse.csr_array(holed)).components_, dense)
        np.testing.assert_allclose(model.set_params(n_jobs=2).fit(holed).components_, dense)


def test_transform_of_training_rows_is_their_posterior(holed):
    model = BinaryICA(3, random_state=0, tol=1e-12, max_iter=5000).fit(holed)
    weights = model.gamma_ / model.gamma_.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.row_weights_, weights)
    np.testing.assert_allclose(model.transform(holed), weights, atol=2e-3)


def test_a_row_never_looked_at_is_at_the_prior(holed):
    model = BinaryICA(3, random_state=0).fit(holed)
    np.testing.assert_allclose(model.transform(np.full((2, 13), np.nan)), 1 / 3)


def test_keep_is_equation_13(holed):
    model = BinaryICA(3, random_state=0).fit(holed)
    weights = model.transform(holed) * [1.0, 0.5, 0.0]
    expected = weights / weights.sum(axis=1, keepdims=True) @ model.components_
    np.testing.assert_allclose(model.reconstruct(holed, keep=[1.0, 0.5, 0.0]), expected)


def test_a_white_phantom_is_found_and_every_question_can_be_asked():
    clean = fz.datasets.make_digits_demo().table
    spoilt = fz.corrupt(clean, omit=0.4, random_state=0)
    model = BinaryICA(10, n_init=3, random_state=2, tol=1e-6).fit(spoilt)
    phantoms = fz.find_phantoms(model)
    assert len(phantoms.white) == 1
    truth, zeros = clean.to_numpy(), spoilt.to_numpy() == 0
    repaired = fz.denoise(model, spoilt).probability.to_numpy()
    fooled = model.reconstruct(spoilt).to_numpy()
    lost = zeros & (truth == 1)
    assert repaired[lost].mean() > 1.1 * fooled[lost].mean()
    doubtful = fz.false_absences(model, spoilt, n=200)
    found = truth[doubtful["row"], doubtful["column"]]
    assert found.mean() > 3 * lost.sum() / zeros.sum()
    assert len(fz.expand(model, spoilt, rows=[0], n=5)) == 5
    explained = fz.explain(model, spoilt, rows=[0], columns=[20], n=10, min_posterior=0)
    assert explained["posterior"].sum() == pytest.approx(1)


def test_labels_come_back():
    table = Table(np.eye(6), rows=list("abcdef"), columns=list("uvwxyz"))
    weights = BinaryICA(2, random_state=0).fit(table).transform(table)
    assert list(weights.rows) == list("abcdef")


@pytest.mark.parametrize("inference", INFERENCES)
@pytest.mark.parametrize(
    "x",
    [
        np.zeros((5, 4)),
        np.ones((5, 4)),
        np.array([[1.0, 0.0, 1.0]]),
        np.array([[1.0], [0.0], [1.0]]),
        np.array([[1.0]]),
        np.array([[1.0, 0.0], [np.nan, np.nan], [0.0, 1.0]]),
        np.array([[1.0, np.nan], [0.0, np.nan], [1.0, np.nan]]),
    ],
)
def test_odd_tables_do_no_harm(inference, x):
    for shape in (0.5, 1e-3):
        model = BinaryICA(
            4, inference=inference, alpha0=shape, beta0=shape, gamma0=shape, prune=True,
            random_state=0,
        )  # fmt: skip
        model.fit(x)
        found = [model.components_, model.row_weights_, model.reconstruct(x), model.evidence_]
        assert all(np.isfinite(part).all() for part in found)
        assert np.isfinite(model.score_samples(x)).all()
        np.testing.assert_allclose(model.row_weights_.sum(axis=1), 1)


def test_single_precision_agrees(holed):
    single = BinaryICA(3, random_state=0).fit(holed.astype(np.float32))
    double = BinaryICA(3, random_state=0).fit(holed)
    assert single.evidence_ == pytest.approx(double.evidence_, rel=1e-4)


@parametrize_with_checks([BinaryICA(2, inference="em", binarize=0.0, max_iter=50, tol=1e-3)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_a_fit_leaves_nothing_of_the_last_one():
    X = np.eye(6)
    model = BinaryICA(2, random_state=0).fit(X)
    assert not hasattr(model.set_params(inference="em").fit(X), "gamma_")
