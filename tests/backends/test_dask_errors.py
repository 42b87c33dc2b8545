"""What a user is told when a cluster is not what it should be, or goes away."""

import sys

import pytest
from tests.backends.common import SETTINGS, dense

import falsezero as fz
from falsezero.backends.dask import _require_versions

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_a_closed_client_is_refused(cluster):
    client = distributed.Client(cluster)
    client.close()
    with pytest.raises(RuntimeError, match="Dask client is closed"), fz.on_dask(client):
        pass


def test_a_client_that_closes_within_is_noticed(cluster):
    with distributed.Client(cluster) as client, fz.on_dask(client):
        client.close()
        with pytest.raises(RuntimeError, match="Dask client is closed"):
            fz.AspectBernoulli(**SETTINGS).fit(dense())


def test_something_else_than_a_client_is_refused():
    with pytest.raises(TypeError, match="'tcp://nowhere'"), fz.on_dask("tcp://nowhere"):
        pass


def test_a_cluster_without_workers_is_not_waited_for():
    empty = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**empty) as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(RuntimeError, match=r"no worker for 0\.2 seconds"),
        fz.on_dask(client, timeout=0.2),
    ):
        pass


def test_a_fit_that_lost_all_its_workers_ends():
    one = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**one) as cluster, distributed.Client(cluster) as client:

        def close(row):
            if row["iteration"] == 2:
                cluster.sync(cluster.workers[0].close)

        model = fz.AspectBernoulli(callback=close, **SETTINGS)
        with (
            fz.on_dask(client, timeout=1.5),
            pytest.raises(RuntimeError, match=r"no worker for 1\.5 seconds"),
        ):
            model.fit(dense())


def test_another_version_is_refused(client, monkeypatch):
    monkeypatch.setattr(fz, "__version__", "9.9")
    with pytest.raises(RuntimeError, match=r"falsezero .*, this process has 9\.9"):
        fz.on_dask(client).__enter__()


def test_a_missing_dask_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"falsezero\[dask\]"), fz.on_dask(None):
        pass


def test_a_part_that_kills_its_workers_is_explained(client, monkeypatch):
    def give_up(self, tasks):
        raise distributed.KilledWorker("pass-1", None, 3)

    monkeypatch.setattr(distributed.Client, "gather", give_up)
    model = fz.AspectBernoulli(**SETTINGS)
    with (
        fz.on_dask(client),
        pytest.raises(RuntimeError, match=r"after 4 workers died.*memory_limit=.*checkpoint="),
    ):
        model.fit(dense())


def test_a_worker_that_dies_while_its_version_is_asked_is_no_error():
    class Dying:
        """A client one of whose workers closes the connection."""

        def run(self, function, on_error="raise"):
            if on_error == "raise":
                raise distributed.comm.CommClosedError("Stream is closed")
            return {"tcp://other": function()}

    _require_versions(Dying())
