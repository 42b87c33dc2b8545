"""The answer does not depend on where blocks were worked on, nor on who died meanwhile."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from tests.backends.common import SETTINGS, dense, few_ones

import falsezero as fz
from falsezero.backends import dask as backend
from falsezero.backends import workers
from falsezero.data import shards
from falsezero.data.blocks import Block, Blocks

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


CASES = {
    "aspect": (fz.AspectBernoulli(**SETTINGS), dense()),
    "aspect, missing": (fz.AspectBernoulli(prior=0.5, **SETTINGS), dense(0.1)),
    "aspect, sparse": (fz.AspectBernoulli(solver="sparse", **SETTINGS), few_ones(0.1)),
    "ica": (fz.BinaryICA(**SETTINGS), dense(0.1)),
    "ica, sparse": (fz.BinaryICA(inference="vb", solver="sparse", **SETTINGS), few_ones()),
    "noisy-or": (fz.NoisyOr(**SETTINGS), few_ones()),
    "mixture": (fz.BernoulliMixture(**SETTINGS), dense(0.1)),
    "logistic": (fz.LogisticPCA(**SETTINGS), dense(0.1)),
    "plsa": (fz.PLSA(**SETTINGS), few_ones()),
    "mean field": (fz.DiscretePCA(inference="mean_field", **SETTINGS), few_ones()),
}


def learnt(model):
    return {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and isinstance(value, (np.ndarray, float, int))
    }


def assert_same_bits(here, there):
    assert here.keys() == there.keys()
    for name, value in here.items():
        # Where memory begins may round the sum of a log likelihood otherwise; it steers nothing.
        rtol = 1e-14 if isinstance(value, float) else 0.0
        np.testing.assert_allclose(value, there[name], rtol, err_msg=name, strict=True)


def fitted(model, table):
    return learnt(model.fit(table))


def without_time(history):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in history]


@pytest.mark.parametrize("name", CASES)
def test_a_fit_has_the_same_bits(name, client):
    model, table = CASES[name]
    here, rows_here = fitted(model, table), without_time(model.history_)
    with fz.on_dask(client):
        there = fitted(model, table)
    assert_same_bits(here, there)
    for row, expected in zip(without_time(model.history_), rows_here, strict=True):
        assert row == expected | {"objective": pytest.approx(expected["objective"], rel=1e-14)}


@pytest.mark.parametrize("name", ["ica", "noisy-or", "mean field"])
def test_new_rows_get_the_same_bits(name, client):
    model, table = CASES[name]
    model.fit(table)
    some = table[:900]
    with fz.on_dask(client):
        there = model.transform(some)
    np.testing.assert_array_equal(model.transform(some), there, strict=True)


def test_the_work_is_done_by_the_workers(client, nannies):
    """Blocks are worked on in two other processes, and in this one where nothing was chosen."""
    blocks = Blocks.cut(np.eye(600), block_rows=100)
    with fz.on_dask(client), workers(None, len(blocks)) as run:
        away = run(lambda block: os.getpid(), blocks)
    with workers(None, len(blocks)) as run:
        here = run(lambda block: os.getpid(), blocks)
    assert set(here) == {os.getpid()}
    assert len(set(away)) == 2
    assert os.getpid() not in away


def test_work_in_place_stays_here(client):
    """A collapsed sampler changes its shards in place: sent elsewhere, it would change copies."""
    model = fz.DiscretePCA(
        n_components=3,
        inference="collapsed_gibbs",
        n_shards=2,
        warmup=3,
        n_draws=3,
        random_state=0,
    )
    table = few_ones()
    here = fitted(model, table)
    with fz.on_dask(client):
        assert_same_bits(here, fitted(model, table))


def test_batches_have_the_same_bits(client):
    model = fz.DiscretePCA(n_components=3, inference="mean_field", random_state=0)
    table = few_ones()
    here = learnt(model.partial_fit(table))
    with fz.on_dask(client):
        again = fz.DiscretePCA(n_components=3, inference="mean_field", random_state=0)
        assert_same_bits(here, learnt(again.partial_fit(table)))


def test_rows_travel_once(client, monkeypatch):
    """Every block is pickled once a fit, and what goes out later is far smaller than the table."""
    table, counted = dense(), []
    plain = Block.__reduce_ex__
    monkeypatch.setattr(
        Block, "__reduce_ex__", lambda self, v: (counted.append(self.start), plain(self, v))[1]
    )
    sent = []
    submit = client.submit
    monkeypatch.setattr(
        client, "submit", lambda f, data, **k: (sent.append(len(data)), submit(f, data, **k))[1]
    )
    model = fz.AspectBernoulli(n_init=2, **SETTINGS)
    with fz.on_dask(client):
        model.fit(table)
    n_blocks = len(model._blocks(table, reset=False))
    assert n_blocks > 2
    assert sorted(counted) == sorted(set(counted))
    assert len(counted) == n_blocks
    assert table.size < sum(size for size in sent if size > 50_000) < 1.2 * table.size
    assert sum(size <= 50_000 for size in sent) >= 2 * SETTINGS["max_iter"]


def test_a_task_carries_its_rows_and_nothing_of_the_table(client, monkeypatch):
    payloads = []
    plain = client.map
    monkeypatch.setattr(
        client, "map", lambda f, data, *a, **k: (payloads.extend(data), plain(f, data, *a, **k))[1]
    )
    with fz.on_dask(client):
        fz.AspectBernoulli(**SETTINGS).fit(dense())
    weights = 1500 * SETTINGS["n_components"] * 8
    n_calls = SETTINGS["max_iter"] + 3  # the last pass, rows settling, and a pass over those
    assert sum(map(len, payloads)) < n_calls * (weights + 5000)


def test_arrays_keep_their_place_between_workers():
    """A thing that moves on from worker to worker is aligned and writable where it arrives."""
    thing = backend.SharedPayload(np.arange(7.0))
    buffers = []
    data = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    assert not buffers
    moved = pickle.loads(data)
    assert moved.value.flags.aligned
    assert moved.value.flags.writeable


@pytest.mark.parametrize("table", [dense(0.1), few_ones(0.1)])
def test_dask_knows_how_much_it_keeps(table):
    shards = [list(Blocks.cut(table, block_rows=500))]
    stored = table.size if isinstance(table, np.ndarray) else table.nnz
    assert 9 * stored < sys.getsizeof(backend.SharedPayload(shards)) < 20 * stored


@pytest.mark.parametrize("name", ["aspect, missing", "aspect, sparse"])
def test_a_killed_worker_changes_nothing(name, client, nannies):
    model, table = CASES[name]
    here = fitted(model, table)
    killed = []

    def kill(row):
        if row["iteration"] == 3 and not killed:
            killed.append(nannies[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    with fz.on_dask(client):
        there = fitted(type(model)(**{**model.get_params(), "callback": kill}), table)
    assert killed
    assert killed[0] not in client.run(os.getpid).values()
    assert_same_bits(here, there)


def test_a_worker_killed_at_work_changes_nothing(client, nannies, tmp_path):
    mark = tmp_path / "killed"

    def total(block):
        if block.start == 200 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block.start, block.values.sum()

    blocks = Blocks.cut(np.eye(600), block_rows=100)
    with fz.on_dask(client), workers(None, len(blocks)) as run:
        found = run(total, blocks)
    assert mark.exists()
    assert found == [(start, 100.0) for start in range(0, 600, 100)]


def test_files_are_read_by_the_workers(client, nannies, tmp_path, monkeypatch):
    """Each worker reads its own files; a killed one's are read by another."""
    table, files, killed = dense(0.1), [], []
    for start in range(0, 1500, 150):
        files.append(tmp_path / f"{start}.npy")
        np.save(files[-1], table[start : start + 150])
    here = fitted(fz.AspectBernoulli(**SETTINGS), fz.Shards(files))
    reads, sent = [], []
    read, submit = shards._read, client.submit
    monkeypatch.setattr(shards, "_read", lambda *a, **k: (reads.append(a[1]), read(*a, **k))[1])
    monkeypatch.setattr(
        client, "submit", lambda f, data, **k: (sent.append(len(data)), submit(f, data, **k))[1]
    )

    def kill(row):
        reads.append("iteration")
        if row["iteration"] == 4:
            killed.append(nannies[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    with fz.on_dask(client):
        there = fitted(fz.AspectBernoulli(callback=kill, **SETTINGS), fz.Shards(files))
    assert_same_bits(here, there)
    assert killed
    assert max(sent) < 10_000
    iterations = [i for i, what in enumerate(reads) if what == "iteration"]
    assert np.diff(iterations).tolist() == [1] * (len(iterations) - 1), "none read here meanwhile"
    assert len(iterations) > SETTINGS["max_iter"]


def rows_in_files(folder, table, number=6):
    files = []
    for i, rows in enumerate(np.array_split(np.arange(table.shape[0]), number)):
        files.append(folder / f"{i}.npz")
        sparse.save_npz(files[-1], table[rows])
    return fz.Shards(files, weights=folder / "rows")


def test_rows_stay_in_files_when_a_worker_is_killed(client, nannies, tmp_path, monkeypatch):
    """One process, two workers and one worker less give the same bits; what travels are sums."""
    table, killed, travelled = few_ones(), [], []
    model = fz.AspectBernoulli(solver="sparse", **SETTINGS)
    here, rows = fitted(model, rows_in_files(tmp_path, table)), model.row_weights_.copy()
    plain = client.map
    monkeypatch.setattr(
        client, "map", lambda f, data, *a, **k: (travelled.append(data), plain(f, data, *a, **k))[1]
    )

    def kill(row):
        if row["iteration"] == 4:
            killed.append(nannies[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    with fz.on_dask(client):
        there = fitted(model.set_params(callback=kill), rows_in_files(tmp_path, table))
    assert killed
    assert_same_bits(here, there)
    np.testing.assert_array_equal(model.row_weights_, rows)
    assert max(sum(map(len, data)) for data in travelled) < 6 * 1000 < rows.nbytes


DRIVER = """
    import os, signal, sys
    import distributed, numpy as np
    import falsezero as fz
    from falsezero.inference.checkpoint import Checkpoint

    Checkpoint.__init__.__defaults__ = (0.0,)
    address, table, checkpoint = sys.argv[1:]

    def die(row):
        if row["iteration"] == 5:
            os.kill(os.getpid(), signal.SIGKILL)

    model = fz.AspectBernoulli(
        n_components=3, random_state=0, max_iter=8, tol=0.0, checkpoint=checkpoint, callback=die
    )
    with distributed.Client(address) as client, fz.on_dask(client):
        model.fit(np.load(table))
"""


def test_a_killed_driver_goes_on_to_the_same_answer(client, cluster, tmp_path):
    table, checkpoint = dense(), tmp_path / "fit.checkpoint"
    np.save(tmp_path / "table.npy", table)
    arguments = [cluster.scheduler_address, tmp_path / "table.npy", checkpoint]
    driver = [sys.executable, "-c", textwrap.dedent(DRIVER), *map(str, arguments)]
    assert subprocess.run(driver, check=False).returncode == -signal.SIGKILL
    assert checkpoint.exists()
    here = fitted(fz.AspectBernoulli(**SETTINGS), table)
    seen = []
    resumed = fz.AspectBernoulli(checkpoint=checkpoint, callback=seen.append, **SETTINGS)
    with fz.on_dask(client):
        assert_same_bits(here, fitted(resumed, table))
    assert 1 < seen[0]["iteration"] < SETTINGS["max_iter"]


@pytest.mark.parametrize("error", [ZeroDivisionError, TimeoutError])
def test_an_error_in_a_task_is_told_as_it_is(error, client):
    def fail(shared, block):
        raise shared("no")

    blocks = Blocks.cut(np.eye(4))
    with fz.on_dask(client), workers(None, 1) as run, pytest.raises(error, match="no"):
        run(partial(fail, error), blocks)


def test_what_is_shared_twice_arrives_twice(client):
    def three(left, right, block):
        return left + right + block.shape[0]

    thing = np.ones(2)
    with fz.on_dask(client), workers(None, 1) as run:
        (found,) = run(partial(three, thing, thing), Blocks.cut(np.eye(4)))
    np.testing.assert_array_equal(found, [6.0, 6.0])
