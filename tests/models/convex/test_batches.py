"""Learning from batches of rows."""

import numpy as np
import pytest
from scipy import sparse
from tests.reference import convex as reference

import falsezero as fz
from falsezero.backends import map_blocks
from falsezero.data.blocks import Blocks
from falsezero.models.convex import batches
from falsezero.models.convex.aspect_bernoulli import ExactSteps
from falsezero.models.convex.family import Components, RowWeights
from falsezero.models.convex.sparse import SparseSteps

MODELS = {
    "aspect": fz.AspectBernoulli(3, random_state=0, prior=0.5),
    "em": fz.BinaryICA(3, inference="em", random_state=0),
    "vb": fz.BinaryICA(3, inference="vb", random_state=0),
}


def drawn(n_rows=3000, n_columns=60, shape=(0.2, 0.6), seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(3, 0.2), n_rows)
    components = rng.beta(*shape, (3, n_columns))
    return (rng.random((n_rows, n_columns)) < weights @ components).astype(float)


def cut(x, size):
    return [x[i : i + size] for i in range(0, x.shape[0], size)]


def likelihood(model, x):
    p = np.clip(np.asarray(model.transform(x)) @ model.components_, 1e-9, 1 - 1e-9)
    return np.where(x == 1, np.log(p), np.log1p(-p)).sum()


@pytest.mark.parametrize("name", MODELS)
def test_a_few_passes_come_within_half_a_percent_of_the_whole_table(name):
    x, model = drawn(), MODELS[name]
    whole = likelihood(model.set_params(n_init=3, max_iter=200).fit(x), x)
    by_batch = likelihood(model.fit_batches(cut(x, 300), n_passes=4), x)
    assert by_batch > whole - 0.005 * abs(whole)
    one_component = likelihood(fz.AspectBernoulli(1, random_state=0).fit(x), x)
    assert whole > one_component + 0.05 * abs(one_component)


def test_a_sparse_batch_counts_as_a_dense_one_does():
    """At settled rows, up to the third order of probabilities that are not visited."""
    x = drawn(400, 80, (0.05, 2.0))
    rng = np.random.default_rng(1)
    weights, f = rng.dirichlet(np.ones(3), 400), rng.beta(0.1, 2.0, (3, 80)).clip(1e-6, 0.9)
    blocks = Blocks.cut(sparse.csr_array(x))
    exact = ExactSteps(3, blocks)
    found = []
    for steps in (exact, SparseSteps(exact)):
        rows = [RowWeights(weights[block.rows]) for block in blocks]
        local = rows if steps is exact else SparseSteps.cold(rows)
        local = map_blocks(lambda b, part, s=steps: s.settle(b, part, Components(f)), blocks, local)
        pairs = zip(blocks, local, strict=True)
        found.append(sum(steps.batch_counts(*pair, Components(f)) for pair in pairs))
    for ours, theirs in zip(*found, strict=True):
        assert np.abs(ours - theirs).sum() < 0.01 * theirs.sum()
    ones, zeros = found[0]
    np.testing.assert_allclose((ones + zeros).sum(axis=0), 400, rtol=1e-6)
    np.testing.assert_allclose(ones.sum(axis=0), x.sum(axis=0), rtol=1e-6)


def test_sparse_batches_learn_too():
    x = sparse.csr_array(drawn(2000, 100, (0.05, 1.0)))
    model = fz.AspectBernoulli(3, solver="sparse", random_state=0)
    whole = likelihood(model.fit(x), x.toarray())
    by_batch = likelihood(model.fit_batches(cut(x, 250), n_passes=4), x.toarray())
    assert by_batch > whole - 0.02 * abs(whole)


def test_shards_and_generators_are_batches(tmp_path):
    x = drawn(600)
    files = []
    for i, part in enumerate(cut(x, 200)):
        files.append(tmp_path / f"{i}.npy")
        np.save(files[-1], part)
    here = fz.AspectBernoulli(3, random_state=0).fit_batches(cut(x, 200)).components_
    shards = fz.AspectBernoulli(3, random_state=0).fit_batches(fz.Shards(files)).components_
    once = fz.AspectBernoulli(3, random_state=0).fit_batches(part for part in cut(x, 200))
    np.testing.assert_allclose(shards, here, rtol=1e-10)
    np.testing.assert_array_equal(once.components_, here)


def test_what_cannot_be_gone_through_again_is_refused():
    model = fz.AspectBernoulli(3)
    with pytest.raises(ValueError, match="n_passes=2 needs batches"):
        model.fit_batches((x for x in [drawn(50)]), n_passes=2)
    with pytest.raises(ValueError, match="holds no batch"):
        model.fit_batches([])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(drawn(50)).partial_fit(drawn(50, 20))


@pytest.mark.parametrize("total_rows", [None, 1000])
def test_a_batch_moves_the_average_counts_by_its_stride(total_rows):
    """Counts by loops at the settled rows; the first batch replaces what it began with."""
    x = drawn(90, 6)
    first, second = x[:50], x[50:]
    model = fz.AspectBernoulli(2, prior=0.5, random_state=0)
    stride, before, seen = 1.0, 0.0, 0
    for number, batch in enumerate((first, second, first)):
        seen += len(batch)
        total = seen if total_rows is None else total_rows
        if number:
            steps = model._steps(model._blocks(batch, reset=False))
            a = steps.state_of(*(total * model.batch_counts_)).components
            stride, before = (1 + number) ** -batches.DECAY, model.batch_counts_
        model.partial_fit(batch, total_rows=total_rows)
        steps = model._steps(model._blocks(batch, reset=False))
        if number:
            ones, zeros, _ = reference.statistics(batch, model.row_weights_, a)
            counts = np.stack([a * ones, (1 - a) * zeros]) / len(batch)
            expected = (1 - stride) * before + stride * counts
            np.testing.assert_allclose(model.batch_counts_, expected, rtol=1e-5, atol=1e-9)
        found = steps.state_of(*(total * model.batch_counts_)).components
        np.testing.assert_allclose(model.components_, found, rtol=1e-6)
        # Every cell of a row is some component's.
        np.testing.assert_allclose(model.batch_counts_.sum(axis=(0, 1)), 1, rtol=1e-4)
        assert (model.n_batches_, model.n_rows_seen_) == (number + 1, seen)
        assert model.row_weights_.shape == (len(batch), 2)


def test_passes_after_the_first_know_the_number_of_rows(monkeypatch):
    totals = []
    fit = fz.AspectBernoulli.partial_fit

    def noted(self, X, y=None, *, total_rows=None):
        totals.append(total_rows)
        return fit(self, X, total_rows=total_rows)

    monkeypatch.setattr(fz.AspectBernoulli, "partial_fit", noted)
    model = fz.AspectBernoulli(2, random_state=0).fit_batches(cut(drawn(90, 6), 30), n_passes=3)
    assert totals == [None] * 3 + [90] * 6
    assert (model.n_batches_, model.n_rows_seen_) == (9, 270)
    with pytest.raises(ValueError, match="holds no batch"):
        model.fit_batches([])
    once = (part for part in cut(drawn(90, 6), 30))
    assert model.fit_batches(once).n_batches_ == 3
    with pytest.raises(ValueError, match="iterated again"):
        model.fit_batches(iter([]), n_passes=2)
