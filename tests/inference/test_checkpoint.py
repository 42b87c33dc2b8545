import errno
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import falsezero as fz
from falsezero.inference import checkpoint as module
from falsezero.inference.checkpoint import write_atomically


class Killed(Exception):  # noqa: N818
    pass


@pytest.fixture
def table():
    return fz.datasets.make_aspect_bernoulli(120, 20, 3, random_state=0).table


def model(**options):
    return fz.AspectBernoulli(3, n_init=3, random_state=0, tol=1e-8, **options)


@pytest.mark.parametrize("stop_after", [5, 40, 100, 170])
def test_a_killed_fit_goes_on_to_the_same_answer(table, tmp_path, monkeypatch, stop_after):
    monkeypatch.setattr(module.Checkpoint.__init__, "__defaults__", (0.0,))
    path = tmp_path / "fit.ckpt"
    seen = 0

    def stop(row):
        nonlocal seen
        seen += 1
        if seen == stop_after:
            raise Killed

    whole = model().fit(table)
    with pytest.raises(Killed):
        model(checkpoint=path, callback=stop).fit(table)
    assert path.exists()
    rows = []
    resumed = model(checkpoint=path, callback=lambda row: rows.append(row)).fit(table)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    assert resumed.objective_ == whole.objective_
    assert [r["objective"] for r in resumed.history_] == [r["objective"] for r in whole.history_]
    all_rows = []
    model(callback=lambda row: all_rows.append(row)).fit(table)
    assert len(rows) < len(all_rows) - stop_after // 2, "the fit began anew"
    assert not path.exists()


def test_kill_minus_nine_leaves_a_usable_checkpoint(tmp_path):
    path = tmp_path / "fit.ckpt"
    program = textwrap.dedent(
        f"""
        import falsezero as fz
        from falsezero.inference import checkpoint
        checkpoint.Checkpoint.__init__.__defaults__ = (0.0,)
        table = fz.datasets.make_aspect_bernoulli(300, 40, 3, random_state=0).table
        fz.AspectBernoulli(
            3, n_init=200, random_state=0, tol=0, max_iter=200, checkpoint={str(path)!r}
        ).fit(table)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    while not path.exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with np.load(path, allow_pickle=False) as archive:
        assert "meta" in archive.files
    assert process.returncode == -signal.SIGKILL


def test_a_checkpoint_of_other_settings_is_refused(table, tmp_path, monkeypatch):
    monkeypatch.setattr(module.Checkpoint.__init__, "__defaults__", (0.0,))
    path = tmp_path / "fit.ckpt"
    seen = []

    def stop(row):
        seen.append(row)
        if len(seen) == 20:
            raise Killed

    with pytest.raises(Killed):
        model(checkpoint=path, callback=stop).fit(table)
    other = fz.AspectBernoulli(4, random_state=0, checkpoint=path)
    with pytest.raises(ValueError, match="another table or of other settings"):
        other.fit(table)
    assert path.exists()


def test_a_foreign_file_is_refused_and_kept(table, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    with pytest.raises(ValueError, match="not a checkpoint"):
        model(checkpoint=path).fit(table)
    assert path.read_text() == "my notes"


def test_writing_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def interrupted(path, table, monkeypatch):
    """A checkpoint of a fit that was stopped on its way."""
    monkeypatch.setattr(module.Checkpoint.__init__, "__defaults__", (0.0,))

    def stop(row):
        if row["iteration"] == 20:
            raise Killed

    with pytest.raises(Killed):
        model(checkpoint=path, callback=stop).fit(table)


@pytest.mark.parametrize("as_given", [fz.Table.to_numpy, lambda table: table.values])
def test_the_same_rows_in_another_order_are_another_table(table, tmp_path, monkeypatch, as_given):
    path = tmp_path / "fit.ckpt"
    monkeypatch.setattr("falsezero.base.factor_model._SMALL", 0)
    X = as_given(table)
    interrupted(path, X, monkeypatch)
    with pytest.raises(ValueError, match="another table"):
        model(checkpoint=path).fit(X[::-1])
    model(checkpoint=path).fit(X)
    assert not path.exists()


def test_a_seed_of_any_kind_is_known_again(table, tmp_path, monkeypatch):
    monkeypatch.setattr(module.Checkpoint.__init__, "__defaults__", (0.0,))
    path = tmp_path / "fit.ckpt"
    for seed in (np.random.default_rng, np.random.RandomState):
        settings = {"n_init": 3, "tol": 1e-8}
        seen = []

        def stop(row, seen=seen):
            seen.append(row)
            if len(seen) == 20:
                raise Killed

        fit = fz.AspectBernoulli(
            3, random_state=seed(5), checkpoint=path, callback=stop, **settings
        )
        with pytest.raises(Killed):
            fit.fit(table)
        again = fz.AspectBernoulli(3, random_state=seed(5), checkpoint=path, **settings).fit(table)
        whole = fz.AspectBernoulli(3, random_state=seed(5), **settings).fit(table)
        assert again.objective_ == whole.objective_


@pytest.mark.parametrize("meta", ["[]", "7", '{"fingerprint": 1}', "not json"])
def test_odd_files_are_refused_and_kept(table, tmp_path, meta):
    path = tmp_path / "odd.npz"
    np.savez(path, meta=np.array(meta), current1=np.eye(2))
    with pytest.raises(ValueError, match="not a checkpoint"):
        model(checkpoint=path).fit(table)
    assert path.exists()
    lone = tmp_path / "lone.npy"
    np.save(lone, np.eye(2))
    with pytest.raises(ValueError, match="not a checkpoint"):
        model(checkpoint=lone).fit(table)


def test_a_folder_that_is_not_there_is_noticed_before_the_fit(table, tmp_path):
    rows = []
    with pytest.raises(OSError, match="There is no folder"):
        model(checkpoint=tmp_path / "none" / "fit.ckpt", callback=rows.append).fit(table)
    assert not rows


def test_a_file_written_again_keeps_its_permissions_and_its_place(tmp_path):
    (tmp_path / "store").mkdir()
    private, link = tmp_path / "store" / "private", tmp_path / "link"
    private.write_bytes(b"old")
    private.chmod(0o600)
    link.symlink_to(private)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert private.read_bytes() == b"new"
    assert private.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["link", "private", "store"]


@pytest.mark.parametrize("phase", ["_with_settled_rows", "_adopt"])
def test_the_checkpoint_outlives_an_interrupt_after_the_last_iteration(
    table, tmp_path, monkeypatch, phase
):
    path = tmp_path / "fit.ckpt"
    whole = model().fit(table)
    with monkeypatch.context() as patch:

        def stop(*args):
            raise KeyboardInterrupt

        patch.setattr(fz.AspectBernoulli, phase, stop)
        with pytest.raises(KeyboardInterrupt):
            model(checkpoint=path).fit(table)
    assert path.exists()
    rows = []
    resumed = model(checkpoint=path, callback=rows.append).fit(table)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    np.testing.assert_array_equal(resumed.row_weights_, whole.row_weights_)
    assert not rows, "iterations were done again"
    assert not path.exists()


def test_a_full_disk_does_not_end_a_fit(table, tmp_path, monkeypatch):
    monkeypatch.setattr(module.Checkpoint.__init__, "__defaults__", (0.0,))
    whole = model().fit(table)

    def full(path, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "write_atomically", full)
    with pytest.warns(UserWarning, match="No space left on device.*continues without it"):
        fitted = model(checkpoint=tmp_path / "fit.ckpt").fit(table)
    np.testing.assert_array_equal(fitted.components_, whole.components_)


def test_checkpoints_go_when_results_are_safe(tmp_path):
    path = tmp_path / "fit.ckpt"
    path.touch()

    def work(ends_well):
        with module.keeping_checkpoints():
            module.remove_checkpoint(path)
            assert path.exists()
            if not ends_well:
                raise Killed

    with pytest.raises(Killed):
        work(ends_well=False)
    assert path.exists()
    work(ends_well=True)
    assert not path.exists()


def test_the_last_phase_of_a_fit_is_shown(table, capsys):
    model(verbose=2).fit(table)
    assert capsys.readouterr().err.splitlines()[-1] == "AspectBernoulli 1/1 settling the rows"


def test_what_a_killed_process_left_behind_goes_with_the_next_write(tmp_path):
    program = textwrap.dedent(
        f"""
        import os, signal
        from falsezero.data.output import write_atomically
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        write_atomically({str(tmp_path / "fit.ckpt")!r}, b"half")
        """
    )
    subprocess.run([sys.executable, "-c", program], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    mine = tmp_path / f".fit.ckpt.{os.getpid()}"
    mine.touch()
    write_atomically(tmp_path / "fit.ckpt", b"whole")
    assert sorted(each.name for each in tmp_path.iterdir()) == [mine.name, "fit.ckpt"]
