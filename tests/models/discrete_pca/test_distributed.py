"""Collapsed Gibbs sampling over files: counts merged after every sweep."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

import falsezero as fz
from falsezero.models.discrete_pca.collapsed import CollapsedSteps
from falsezero.models.discrete_pca.distributed import DistributedSteps
from falsezero.models.discrete_pca.family import Hyper, read_family

SETTINGS = {"inference": "collapsed_gibbs", "random_state": 0, "warmup": 20, "n_draws": 10}


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.full(40, 0.1), 3)
    return rng.poisson(30 * rng.dirichlet(np.full(3, 0.3), 240) @ theta).astype(float)


def in_files(folder, counts, number=3, **options):
    files = []
    for i, rows in enumerate(np.array_split(np.arange(len(counts)), number)):
        files.append(folder / f"{i}.npz")
        sparse.save_npz(files[-1], sparse.csr_array(counts[rows]))
    return fz.Shards(files, **options)


def two_samplers(counts, folder, family):
    """The steps over one file and those over a table in memory, and their blocks."""
    read = read_family(family, None, counts.shape[1])
    hyper = Hyper(np.array([0.4, 0.5, 0.6]), np.array([0.1, 0.2, 0.3]))
    model = fz.DiscretePCA(3, family=family, inference="collapsed_gibbs")
    whole = model._blocks(counts, reset=True)
    parts = model._blocks(in_files(folder, counts, 1), reset=True)
    here = CollapsedSteps(read, whole, hyper, 0.05)
    there = DistributedSteps(read, parts, hyper, 0.05, 5, 1, (False, False))
    return here, whole, there, parts


@pytest.mark.parametrize("family", ["dirichlet-multinomial", "gamma-poisson"])
def test_one_file_is_swept_as_the_exact_sampler_sweeps(counts, tmp_path, family):
    here, whole, there, parts = two_samplers(counts, tmp_path, family)
    block = parts[0]
    state = there.init_state(parts, np.random.default_rng(1))
    local, sums = there.local_step(block, there.init_rows(block, None), state, _rng(2))
    state = there.global_step(sums, state, None)
    own, rows = here.arrange([local.z.astype(np.int32)])
    np.testing.assert_array_equal(own.words, state.words)
    np.testing.assert_allclose(own.totals, state.totals)

    local, sums = there.local_step(block, local, state, _rng(3))
    rows, trace = here.local_step(whole[0], rows[0], own, _rng(3))
    np.testing.assert_array_equal(rows[0].z, local.z)
    assert there.objective(sums, state) == pytest.approx(here.objective(trace, own), rel=1e-9)
    state = there.global_step(sums, state, None)
    lists = there.tokens_of(block).start(local.z.astype(np.int32))
    weights = here.row_weights([rows], own)
    np.testing.assert_allclose(there.row_weights(block, lists, there.hyper), weights)
    share = weights / weights.sum(axis=1, keepdims=True)
    assert state.concentration == pytest.approx((share**2).sum(axis=1).mean())
    np.testing.assert_allclose(state.share, share.mean(axis=0))


def _rng(seed):
    return np.random.default_rng(seed)


def test_counts_add_up_over_files(counts, tmp_path):
    _, _, there, _ = two_samplers(counts, tmp_path, "dirichlet-multinomial")
    model = fz.DiscretePCA(3, inference="collapsed_gibbs")
    blocks = model._blocks(in_files(tmp_path, counts, 4), reset=True)
    state, local = there.init(blocks, _rng(1))
    for _ in range(3):
        pairs = [
            there.local_step(block, part, state, _rng(i))
            for i, (block, part) in enumerate(zip(blocks, local, strict=True))
        ]
        local = [part for part, _ in pairs]
        total = sum(sums.words for _, sums in pairs)
        np.testing.assert_array_equal(total.sum(axis=1), counts.sum(axis=0))
        sums = pairs[0][1]
        for _, more in pairs[1:]:
            sums = type(sums)(*(a + b for a, b in zip(sums, more, strict=True)))
        state = there.global_step(sums, state, None)
    assert state.totals.sum() == counts.sum()
    words = gammaln(counts + 1).sum()
    expected = gammaln(counts.sum(axis=1) + 1).sum() - words
    assert state.constant == pytest.approx(expected)


@pytest.mark.parametrize("family", ["dirichlet-multinomial", "gamma-poisson"])
def test_files_and_memory_agree_on_what_they_find(counts, tmp_path, family):
    whole = fz.DiscretePCA(3, family=family, **SETTINGS).fit(counts)
    parts = fz.DiscretePCA(3, family=family, **SETTINGS).fit(in_files(tmp_path, counts))
    likeness = np.corrcoef(whole.components_, parts.components_)[:3, 3:]
    assert (likeness.max(axis=1) > 0.99).all()
    assert parts.row_weights_.shape == whole.row_weights_.shape
    np.testing.assert_allclose(parts.row_weights_.sum(), whole.row_weights_.sum(), rtol=0.05)
    assert parts.score(counts) == pytest.approx(whole.score(counts), abs=0.2)
    assert parts.chains_[0]["share"].shape == (10, 3)


def test_threads_and_where_rows_are_kept_decide_nothing(counts, tmp_path):
    shards = in_files(tmp_path, counts)
    one, two = (fz.DiscretePCA(3, n_jobs=n, **SETTINGS).fit(shards) for n in (1, 2))
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.row_weights_, two.row_weights_)
    kept = in_files(tmp_path, counts, weights=tmp_path / "rows")
    files = [fz.DiscretePCA(3, n_jobs=n, **SETTINGS).fit(kept) for n in (1, 2)]
    np.testing.assert_array_equal(files[0].components_, files[1].components_)
    np.testing.assert_array_equal(files[0].row_weights_, files[1].row_weights_)
    assert not list((tmp_path / "rows").iterdir()), "what only the fit needs is gone"


def test_a_chain_stopped_in_its_warm_up_speaks_by_where_it_ended(counts, tmp_path):
    shards = in_files(tmp_path, counts)
    model = fz.DiscretePCA(3, callback=lambda row: row["iteration"] == 4, **SETTINGS).fit(shards)
    assert model.n_iter_ == 4
    np.testing.assert_allclose(model.row_weights_.sum(axis=1), 1)


def test_what_needs_the_whole_table_says_so(counts, tmp_path):
    shards = in_files(tmp_path, counts)
    with pytest.raises(ValueError, match="learn_alpha=True needs the whole table"):
        fz.DiscretePCA(3, learn_alpha=True, **SETTINGS).fit(shards)
    with pytest.raises(TypeError, match="needs the whole table"):
        fz.DiscretePCA(3, collapse="weights", **SETTINGS).fit(shards)
    halves = in_files(tmp_path, counts / 2)
    with pytest.raises(ValueError, match="whole counts"):
        fz.DiscretePCA(3, **SETTINGS).fit(halves)


@pytest.mark.parametrize(("thin", "kept"), [(1, [4, 5, 6, 7, 8, 9]), (3, [6, 9])])
def test_sweeps_after_the_warm_up_are_kept_in_turn(thin, kept, counts, tmp_path):
    model = fz.DiscretePCA(3, inference="collapsed_gibbs")
    parts = model._blocks(in_files(tmp_path, counts, 1), reset=True)
    family = read_family("dirichlet-multinomial", None, counts.shape[1])
    hyper = Hyper(np.full(3, 0.5), np.ones(3))
    steps = DistributedSteps(family, parts, hyper, 0.05, 4, thin, (False, False))
    assert [sweep for sweep in range(10) if steps._keeps(sweep)] == kept
