"""An audit of files has the same bits wherever the files are read, and whoever dies meanwhile."""

import os
import signal

import numpy as np
import pytest
from tests.audit.test_audit_shards import grouped_rows
from tests.backends.test_dask import rows_in_files

import falsezero as fz
from falsezero.audit import in_files
from falsezero.audit.file_survey import survey_file
from falsezero.models.average import large
from falsezero.models.convex import family

distributed = pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def quick_and_large(monkeypatch):
    """What workers do must not depend on these."""
    monkeypatch.setattr(large, "LARGE", 1000)
    monkeypatch.setattr(large, "_FEW", (3,))
    monkeypatch.setattr(large, "_MANY", (5,))
    monkeypatch.setattr(large, "_ITERATIONS", 6)
    monkeypatch.setattr(family, "_LARGE", 1000)


def answers(folder):
    audit = fz.audit(rows_in_files(folder, grouped_rows()), loss=0.2, random_state=0)
    assert len(audit.zeros) > 20
    tables = dict(audit.zeros), dict(audit.columns), dict(audit.top_rows(100))
    return audit.sentences, audit.model.weights_, *tables


def assert_same_bits(found, expected):
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])
    for ours, theirs in zip(found[2:], expected[2:], strict=True):
        for name, values in theirs.items():
            np.testing.assert_array_equal(ours[name], values, err_msg=name)


def test_any_number_of_workers_gives_the_same_bits(client, nannies, tmp_path, monkeypatch):
    expected = answers(tmp_path)
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": ":0"}
    for n_workers in (1, 3):
        with (
            distributed.LocalCluster(n_workers=n_workers, **options) as other,
            distributed.Client(other) as own,
            fz.on_dask(own),
        ):
            assert_same_bits(answers(tmp_path), expected)
    mark = tmp_path / "killed"

    def dying(*arguments):
        if arguments[2].start > 0 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return survey_file(*arguments)

    monkeypatch.setattr(in_files, "survey_file", dying)
    with fz.on_dask(client):
        found = answers(tmp_path)
    assert mark.exists()
    assert_same_bits(found, expected)
