"""Learning from batches of rows."""

import numpy as np
import pytest
from scipy import sparse

import falsezero as fz
from falsezero.backends import map_blocks
from falsezero.data.blocks import Blocks
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
