"""The choice of the number of components for a table in files."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import falsezero as fz
from falsezero.analysis import heldout_files, protocol
from falsezero.analysis.heldout import cell_log_probability

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N, T = 150, 20


@pytest.fixture(scope="module")
def table():
    return fz.datasets.make_aspect_bernoulli(N, T, 2, random_state=0).table.to_numpy()


@pytest.fixture
def shards(table, tmp_path):
    """Files of 60, 60 and 30 rows: dense, sparse, and sparse with a cell that nobody observed."""
    table = table.copy()
    table[140, 3] = np.nan
    np.save(tmp_path / "0.npy", table[:60])
    sparse.save_npz(tmp_path / "1.npz", sparse.csr_array(table[60:120]))
    sparse.save_npz(tmp_path / "2.npz", sparse.csr_array(table[120:]))
    return fz.Shards([tmp_path / name for name in ("0.npy", "1.npz", "2.npz")])


@pytest.fixture
def few_cells(monkeypatch):
    """Even these tables are too large for memory."""
    for module in (heldout_files, protocol):
        monkeypatch.setattr(module, "MOST_HIDDEN", 1000)


MODEL = fz.AspectBernoulli(prior=1, max_iter=40)


def select(table, criterion, model=MODEL, **options):
    return fz.select(model, table, [1, 2, 3], criterion, n_splits=2, random_state=0, **options)


def test_small_files_are_read_into_memory(shards):
    here, there = (select(each, "cells") for each in (shards.to_table(), shards))
    np.testing.assert_array_equal(here.scores, there.scores)
    assert there.best == 2


@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_criteria_of_the_fit_are_those_of_the_table_in_memory(shards, few_cells, criterion):
    here, there = (select(each, criterion) for each in (shards.to_table(), shards))
    # The fits end after 40 iterations, on paths that differ in their last digits.
    np.testing.assert_allclose(there.scores, here.scores, rtol=1e-5)
    assert (there.best, there.meaning) == (here.best, here.meaning)


def test_the_bound_of_the_evidence_too(shards, few_cells, monkeypatch):
    monkeypatch.setattr("falsezero.analysis.criteria._AFFORDABLE", 10)
    model = fz.BinaryICA(inference="vb", max_iter=30)
    here, there = (select(each, "evidence", model) for each in (shards.to_table(), shards))
    np.testing.assert_allclose(there.scores, here.scores, rtol=1e-4)
    assert there.meaning == here.meaning


def hidden_of(shards, part, seed=7):
    """Cells that the files hide, as rows, columns and values of the whole table."""
    found = []
    for block in fz.AspectBernoulli()._blocks(shards, reset=True):
        hidden = heldout_files._hide(5, seed, part, 1000 / N, block.with_missing, block.start)
        found.append((hidden.rows + block.start, hidden.columns, hidden.values))
    return [np.concatenate(each) for each in zip(*found, strict=True)]


def test_every_drawn_cell_is_hidden_once(shards):
    parts = [hidden_of(shards, part) for part in range(5)]
    cells = np.concatenate([rows * T + columns for rows, columns, _ in parts])
    assert len(np.unique(cells)) == len(cells)
    assert 0.2 * N * T < len(cells) < 1000
    assert 140 * T + 3 not in cells
    whole = shards.to_table().values.toarray()
    for rows, columns, values in parts:
        np.testing.assert_array_equal(whole[rows, columns], values)
    assert not np.array_equal(hidden_of(shards, 0, seed=8)[0], parts[0][0])


def test_hidden_cells_are_scored_as_in_memory(shards, few_cells):
    rows, columns, values = hidden_of(shards, 2)
    spoilt = shards.to_table().to_numpy()
    spoilt[rows, columns] = np.nan
    model = fz.AspectBernoulli(2, prior=1, random_state=3, tol=1e-9)
    expected = model.fit(spoilt).reconstruct(spoilt)[rows, columns]
    wanted = cell_log_probability(expected, values)
    total, count = heldout_files.score_cells_in_files(model, shards, 5, 7, 2)
    by_file = np.searchsorted(shards.starts, rows, side="right") - 1
    np.testing.assert_array_equal(count, np.bincount(by_file))
    np.testing.assert_allclose(total, np.bincount(by_file, wanted), rtol=1e-4)


def test_counts_are_judged_as_counts(tmp_path, few_cells):
    counts = np.random.default_rng(0).poisson(2.0, (N, T)).astype(float)
    np.save(tmp_path / "counts.npy", counts)
    model = fz.PLSA(2, random_state=0, max_iter=5)
    total, count = heldout_files.score_cells_in_files(
        model, fz.Shards([tmp_path / "counts.npy"]), 5, 7, 0
    )
    # The entropy of a Poisson distribution with mean 2 is 1.70 nats; Bernoulli scores are far off.
    assert -2.2 < total.sum() / count.sum() < -1.6


def test_it_finds_the_number_of_components(shards, few_cells):
    found = select(shards, "cells")
    assert found.best == 2
    assert found.scores.shape == (3, 2)
    assert found.model.row_weights_.shape == (N, 2)


def test_a_file_that_is_too_small_hides_nothing(table):
    values = sparse.csr_array(table[:1, :4])
    hidden = heldout_files._hide(5, 7, 0, 1000.0, values, 0)
    assert len(hidden.values) == 0
    np.testing.assert_array_equal(hidden.table.values.toarray(), values.toarray())


@pytest.mark.parametrize(("criterion", "kept"), [("cells", 1), ("aic", 1)])
def test_row_weights_of_the_best_stay_in_files(shards, few_cells, tmp_path, criterion, kept):
    folder = tmp_path / "weights"
    found = select(shards.viewed(weights=str(folder)), criterion)
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert sorted(map(str, files)) == sorted(found.model.weight_files_)
    assert len({Path(file).parent for file in files}) == kept
    assert "row_weights_" not in vars(found.model)
    assert found.model.aic() == pytest.approx(-2 * found.model.log_likelihood_ + 2 * (T * 2 + N))


def test_criteria_that_need_rows_are_refused(shards, few_cells):
    with pytest.raises(ValueError, match=r"'rows' needs the table in memory.*'cells', 'aic'"):
        select(shards, "rows")


def test_a_run_can_be_resumed(shards, few_cells, tmp_path):
    checkpoint = tmp_path / "select.json"
    whole = select(shards, "cells")
    stop = protocol.Memory.keep

    def interrupt(self, task, outcome):
        stop(self, task, outcome)
        if task.candidate == 1:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol.Memory, "keep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            select(shards, "cells", checkpoint=checkpoint)
    assert checkpoint.exists()
    again = select(shards, "cells", checkpoint=checkpoint)
    np.testing.assert_array_equal(again.scores, whole.scores)


def test_workers_give_the_same_bits(shards, few_cells):
    distributed = pytest.importorskip("distributed")
    here = select(shards, "cells")
    options = {"processes": False, "n_workers": 2, "threads_per_worker": 1}
    with distributed.Client(dashboard_address=":0", **options) as client, fz.on_dask(client):
        there = select(shards, "cells")
    np.testing.assert_array_equal(there.scores, here.scores)


def test_models_are_compared_by_file(shards, few_cells):
    models = [fz.AspectBernoulli(2, prior=1, max_iter=40), fz.BernoulliMixture(2)]
    found = fz.compare(models, shards, random_state=0)
    assert len(found.table) == 2
    assert 0 <= found.p_value <= 1
