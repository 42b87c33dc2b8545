"""A sampler over files gives the same bits on any number of workers, also when one is killed."""

import os
import signal

import numpy as np
import pytest
from scipy import sparse

import falsezero as fz

distributed = pytest.importorskip("distributed")


@pytest.fixture
def shards(tmp_path):
    rng = np.random.default_rng(0)
    files = []
    for i in range(5):
        files.append(tmp_path / f"{i}.npz")
        sparse.save_npz(files[-1], sparse.csr_array(rng.poisson(0.3, (40, 30)).astype(float)))
    return files


def model(**options):
    lengths = {"warmup": 4, "n_draws": 4, "random_state": 0}
    return fz.DiscretePCA(3, inference="collapsed_gibbs", **lengths, **options)


def assert_same_bits(here, there):
    for name in ("components_", "row_weights_", "objective_"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name), err_msg=name)


@pytest.mark.parametrize("n_workers", [1, 3])
def test_any_number_of_workers_gives_the_same_bits(n_workers, shards):
    here = model().fit(fz.Shards(shards))
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(n_workers=n_workers, **options) as cluster,
        distributed.Client(cluster) as client,
        fz.on_dask(client),
    ):
        assert_same_bits(here, model().fit(fz.Shards(shards)))


@pytest.mark.parametrize("kept", [None, "rows"])
def test_a_killed_worker_changes_no_draw(client, nannies, shards, tmp_path, kept):
    folder = None if kept is None else tmp_path / kept
    here = model().fit(fz.Shards(shards, weights=folder))
    killed = []

    def kill(row):
        if row["iteration"] == 3:
            killed.append(nannies[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    with fz.on_dask(client):
        there = model(callback=kill).fit(fz.Shards(shards, weights=folder))
    assert killed
    assert_same_bits(here, there)
