import time
from contextlib import suppress

import pytest


@pytest.fixture(scope="session")
def distributed():
    return pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster(distributed):
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    cluster = distributed.LocalCluster(**options)
    yield cluster
    # Dask 2024.8 may wait for a killed worker for ever.
    with suppress(TimeoutError):
        cluster.close(timeout=20)


@pytest.fixture(scope="module")
def client(cluster, distributed):
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def nannies(cluster, distributed):
    """Dask starts a worker again that it saw start, so those of earlier tests must have done so."""
    until = time.monotonic() + 60
    while any(nanny.status != distributed.Status.running for nanny in cluster.workers.values()):
        assert time.monotonic() < until
        time.sleep(0.02)
    return list(cluster.workers.values())
