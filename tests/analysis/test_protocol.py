"""What a resumed choice believes of its checkpoint."""

import json
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import falsezero as fz
from falsezero.analysis.memory import Memory, fingerprint
from falsezero.analysis.plan import Task
from falsezero.analysis.protocol import planned


@pytest.fixture
def table():
    return fz.datasets.make_aspect_bernoulli(30, 6, 2, random_state=0).table


def test_every_value_of_a_setting_counts(table):
    long = np.repeat(np.array(["a", "b"]), 2000)
    other = long.copy()
    other[2000] = "a"
    assert repr(long) == repr(other), "printed, they are the same"
    one, two = (fingerprint(table, [fz.DiscretePCA(2, groups=g)]) for g in (long, other))
    assert one != two


def test_settings_that_change_no_answer_do_not_count(table):
    plain = fingerprint(table, [fz.PLSA(2)])
    chatty = fz.PLSA(2, callback=lambda row: None, verbose=1, n_jobs=2, random_state=3)
    assert fingerprint(table, [chatty]) == plain
    assert fingerprint(table, [fz.PLSA(2, tol=1e-3)]) != plain


def test_another_process_knows_the_same_settings(table):
    program = textwrap.dedent(
        """
        import numpy as np, falsezero as fz
        from falsezero.analysis.memory import fingerprint
        table = fz.datasets.make_aspect_bernoulli(30, 6, 2, random_state=0).table
        model = fz.DiscretePCA(2, groups=np.array(["a", "b"] * 3), callback=print)
        print(fingerprint(table, [model, fz.PLSA()], "cells", 5, 0))
        """
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    model = fz.DiscretePCA(2, groups=np.array(["a", "b"] * 3), callback=lambda row: None)
    assert said.stdout.strip() == fingerprint(table, [model, fz.PLSA()], "cells", 5, 0)


@pytest.mark.parametrize("outcomes", [[[1, 2]], 7, [[0, 0, "good"]]])
def test_broken_outcomes_are_refused(table, tmp_path, outcomes):
    path = tmp_path / "choice.json"
    path.write_text(json.dumps({"fingerprint": "x", "entropy": "1", "outcomes": outcomes}))
    with pytest.raises(ValueError, match="not a checkpoint"):
        fz.select(fz.PLSA(), table, (1, 2), checkpoint=path)


def test_a_folder_that_is_not_there_is_noticed_before_the_first_fit(table, tmp_path, monkeypatch):
    monkeypatch.setattr(fz.PLSA, "fit", lambda *_: pytest.fail("fitted first"))
    with pytest.raises(OSError, match="There is no folder"):
        fz.select(fz.PLSA(), table, (1, 2), checkpoint=tmp_path / "none" / "choice.json")


def test_every_flipped_bit_of_a_checkpoint_is_noticed(table, tmp_path):
    path = tmp_path / "choice.json"
    memory = Memory(path, "this table")
    memory.entropy = 7
    memory.keep(Task(0, 0), {"score": -0.125, "seconds": 1.5, "converged": True})
    written = path.read_bytes()
    assert Memory(path, "this table")[Task(0, 0)]["score"] == -0.125
    for bit in range(8 * len(written)):
        flipped = bytearray(written)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with pytest.raises(ValueError, match="checkpoint"):
            Memory(path, "this table")


def test_the_seed_of_the_model_counts(table):
    def chosen(model, **options):
        return fz.select(model, table, (1, 2), n_splits=2, **options).scores

    mine = chosen(fz.PLSA(random_state=3))
    np.testing.assert_array_equal(mine, chosen(fz.PLSA(random_state=3)))
    np.testing.assert_array_equal(mine, chosen(fz.PLSA(), random_state=3))
    assert not np.array_equal(mine, chosen(fz.PLSA(random_state=3), random_state=4))


def test_a_fit_is_timed_and_seeded(table):
    plan, _ = planned(table, [fz.BernoulliMixture(1), fz.BernoulliMixture(2)], "aic", 5, 3, None)
    assert plan.tasks == [(0, 0), (1, 0)]
    began = time.perf_counter()
    outcome, model = plan.evaluate(Task(1, 0))
    assert 0 < outcome["seconds"] <= time.perf_counter() - began
    assert outcome["converged"] is model.converged_
    assert outcome["phantoms"] is None
    for candidate in (0, 1):
        fitted = plan.fitted(candidate)
        assert fitted.random_state == plan.seed(candidate, 0) != plan.seed(candidate, 1)
    parts, _ = planned(table, [fz.BernoulliMixture(2)], "rows", 3, 3, None)
    assert parts.tasks == [(0, 0), (0, 1), (0, 2)]
    outcome, model = parts.evaluate(Task(0, 1))
    assert model is None
    assert len(outcome["total"]) == len(outcome["count"]) == 30
    assert outcome["score"] == pytest.approx(sum(outcome["total"]) / sum(outcome["count"]))
