"""An audit of a table in files says what the audit of the same table in memory says."""

import numpy as np
import pytest
from scipy import sparse

import falsezero as fz
from falsezero.audit import file_survey
from falsezero.audit import large as survey
from falsezero.audit.audit import Audit
from falsezero.data import shards as shard_reading
from falsezero.models.average import in_files, large
from falsezero.models.average.average import StackedAverage
from falsezero.models.convex import family

N, T = 512, 700
"""A sparse table of this shape is cut into four blocks of 128 rows, as the files are."""


def grouped_rows(missing=0.0, seed=0):
    """Ten groups of rows with 25 columns each, of which every row has four in five."""
    rng = np.random.default_rng(seed)
    p = np.full((N, T), 0.005)
    group = rng.integers(10, size=N)
    for g in range(10):
        p[np.ix_(group == g, np.arange(25 * g, 25 * (g + 1)))] = 0.8
    table = (rng.random((N, T)) < p).astype(float)
    table[rng.random((N, T)) < missing] = np.nan
    return sparse.csr_array(table)


def in_files_of(table, folder, sizes=(128, 128, 128, 128), **options):
    folder.mkdir(exist_ok=True)
    files, start = [], 0
    for i, size in enumerate(sizes):
        files.append(folder / f"{i}.npz")
        sparse.save_npz(files[-1], table[start : start + size])
        start += size
    return fz.Shards(files, **options)


@pytest.fixture(scope="module", autouse=True)
def everything_is_large():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "LARGE", 1000)
        patch.setattr(large, "_FEW", (4, 8))
        patch.setattr(large, "_MANY", (12,))
        patch.setattr(large, "_ITERATIONS", 15)
        patch.setattr(family, "_LARGE", 1000)
        patch.setitem(Audit.row_losses.func.__globals__, "_TESTED_CELLS", 0)
        patch.setattr(survey, "_ROWS_AT_A_TIME", 128)
        yield


@pytest.fixture(scope="module")
def table():
    return grouped_rows()


@pytest.fixture(scope="module")
def here(table):
    return fz.audit(fz.Table(table), random_state=0)


@pytest.fixture(scope="module")
def there(table, tmp_path_factory):
    return fz.audit(in_files_of(table, tmp_path_factory.mktemp("rows")), random_state=0)


def assert_same_list(found, expected):
    assert found.columns == expected.columns
    assert len(found) == len(expected) > 20
    for name in found.columns:
        if name != "why":
            np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def assert_same_answer(found, expected):
    assert_same_list(found.zeros, expected.zeros)
    assert found.sentences == expected.sentences
    for name in expected.columns.columns:
        # Sums over files are added up in another order than those over the whole table.
        ours, theirs = found.columns[name], expected.columns[name]
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, err_msg=name)
    top = expected.top_rows(30)
    for name in top.columns:
        np.testing.assert_array_equal(found.top_rows(30)[name], top[name], err_msg=name)


def test_it_has_the_bits_of_the_table_in_memory(here, there):
    assert isinstance(there.table, in_files.TableInFiles)
    assert_same_answer(there, here)
    assert repr(there.trial) == repr(here.trial)
    for ours, theirs in zip(there.model.draws_, here.model.draws_, strict=True):
        np.testing.assert_array_equal(ours.features, theirs.features)
    np.testing.assert_array_equal(there.model.weights_, here.model.weights_)
    assert not there.ones


def test_another_cut_changes_digits_only(here, table, tmp_path):
    found = fz.audit(in_files_of(table, tmp_path, (100, 300, 112)), random_state=0)
    listed = [
        {(z["row"], z["column"]): z["expected"] for z in audit.zeros.to_rows()}
        for audit in (found, here)
    ]
    shared = listed[0].keys() & listed[1].keys()
    assert len(shared) > 0.98 * max(map(len, listed))
    off = [listed[0][cell] - listed[1][cell] for cell in shared]
    assert np.abs(off).max() < 0.02
    total = [audit.columns["expected"].sum() for audit in (found, here)]
    np.testing.assert_allclose(total[0], total[1], rtol=0.05)


def test_cells_and_rows_can_be_asked_for(here, there):
    rows, columns = np.array([500, 3, 3, 200]), np.array([4, 5, 699, 0])
    found = there.expected.at(rows, columns)
    np.testing.assert_array_equal(found, here.expected.at(rows, columns))
    some = there.expected[[3, 200, 500]]
    np.testing.assert_allclose(some.to_numpy(), here.expected[[3, 200, 500]].to_numpy(), atol=1e-5)
    assert some.rows.tolist() == [3, 200, 500]
    np.testing.assert_array_equal(
        there.table.select(rows=[500, 3]).values.toarray(),
        here.table.select(rows=[500, 3]).values.toarray(),
    )
    with pytest.raises(fz.DataError, match="no row labelled 512"):
        there.expected[512]


def test_reasons_are_those_of_the_whole_where_all_rows_are_compared(here, there):
    assert there.zeros["why"].tolist() == here.zeros["why"].tolist()
    assert "rows most like it" in there.zeros["why"][0]


KNOWLEDGE = {
    "loss": {"loss": 0.3},
    "columns": {"detection": {"columns": np.linspace(0.5, 0.9, T)}},
    "rows": {"detection": np.linspace(0.2, 0.9, N)},
    "certain": {"certain": [(r, c) for r in range(0, N, 3) for c in range(60)], "loss": 0.5},
}


@pytest.fixture(scope="module")
def fitted(here, there):
    """The averages behind both audits, so that no test has to fit them again."""
    return {"here": here.model, "there": there.model}


@pytest.mark.parametrize("name", KNOWLEDGE)
def test_what_is_stated_enters_alike(name, here, there, fitted, monkeypatch):
    options = KNOWLEDGE[name]
    monkeypatch.setattr(StackedAverage, "fit", lambda self, X: fitted["here"])
    expected = fz.audit(here.table, **options)
    monkeypatch.setattr(StackedAverage, "fit", lambda self, X: fitted["there"])
    found = fz.audit(there.table.shards, **options)
    assert "present" in found.zeros.columns
    assert_same_answer(found, expected)
    assert found._contradicted == pytest.approx(expected._contradicted)
    rows = np.array([0, 300])
    np.testing.assert_allclose(
        found.present.of_rows(rows), expected.present.of_rows(rows), atol=1e-5
    )


def test_revisits_of_some_rows_calibrate_it(here, there, monkeypatch):
    rows = list(range(100, 160))
    again = fz.Table(grouped_rows(seed=1)[rows].toarray(), rows=rows)
    read = []
    plain = shard_reading._read
    monkeypatch.setattr(
        shard_reading, "_read", lambda *a, **k: (read.append(a[1]), plain(*a, **k))[1]
    )
    found = fz.calibrate(there, revisits=again)
    assert set(read) == {0, 128}, "only the files with rows that were looked at again"
    expected = fz.calibrate(here, revisits=again)
    assert found.calibration.sentence == expected.calibration.sentence
    np.testing.assert_array_equal(
        found.calibration.learnt.effects, expected.calibration.learnt.effects
    )
    assert_same_answer(found, expected)
    assert "again" in found.zeros.columns
    with pytest.raises(fz.DataError, match="look at every zero"):
        found.plan(5)


def test_missing_cells_are_no_zeros(tmp_path):
    table = grouped_rows(missing=0.02)
    found = fz.audit(in_files_of(table, tmp_path), random_state=0)
    expected = fz.audit(fz.Table(table), random_state=0)
    assert "Margins" not in found.model.feature_names_
    assert_same_answer(found, expected)
    assert f"{found.table.n_missing:,}" == f"{expected.table.n_missing:,}"


def test_rows_can_stay_in_files(there, table, tmp_path):
    """Starts differ from those in memory, so the answer is near and not the same."""
    shards = in_files_of(table, tmp_path, weights=tmp_path / "weights")
    found = fz.audit(shards, random_state=0)
    estimators = [e for member in found.model.members_[:2] for e in member.estimators]
    assert all(len(e.weight_files_) == 4 for e in estimators)
    assert len(found.zeros) > 20
    assert not any("row_weights_" in vars(e) for e in estimators)
    listed = [set(zip(a.zeros["row"], a.zeros["column"], strict=True)) for a in (found, there)]
    assert len(listed[0] & listed[1]) > 0.9 * max(map(len, listed))
    other = fz.audit(shards, random_state=0)
    assert_same_answer(other, found)


def test_parquet_files_hold_all_of_it(here, there, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    zeros, columns, *rows = there.to_parquet(tmp_path / "out")
    assert len(rows) == 4
    assert len(pd.read_parquet(zeros)) == len(here.zeros)
    np.testing.assert_array_equal(pd.read_parquet(columns)["found"], here.columns["found"])
    found = pd.concat([pd.read_parquet(file) for file in rows])
    for name in here.rows.columns:
        np.testing.assert_array_equal(found[name], here.rows[name], err_msg=name)


def test_long_lists_keep_their_labels(table, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    stored, files = table.tocoo(), []
    for i in range(2):
        inside = stored.row // 256 == i
        files.append(tmp_path / f"{i}.parquet")
        places = [stored.row[inside], stored.col[inside]]
        labels = [[f"{kind}{n}" for n in at] for kind, at in zip("rc", places, strict=True)]
        pd.DataFrame({"row": labels[0], "column": labels[1]}).to_parquet(files[-1])
    found = fz.audit(fz.Shards(files, row="row", column="column"), random_state=0)
    assert all(label.startswith("r") for label in found.zeros["row"])
    first = found.zeros["row"][0]
    at = int(first[1:]), int(found.zeros["column"][0][1:])
    assert table[at] == 0
    assert found.expected[first].rows.tolist() == [first]
    assert found.top_rows(2)["row"][0].startswith("r")


def test_the_page_is_there(there, tmp_path):
    text = there.to_html(tmp_path / "audit.html").read_text()
    assert "400 of the 512 rows, evenly spread" in text
    assert "Rows with the most surprising zeros" in text
    with pytest.raises(fz.DataError, match="groups= needs"):
        there.to_html(tmp_path / "other.html", groups=["a"] * N)


def test_what_it_cannot_say_is_refused(there):
    with pytest.raises(fz.DataError, match="to_parquet"):
        _ = there.rows
    with pytest.raises(fz.DataError, match="1000 rows that are kept"):
        there.top_rows(1001)
    with pytest.raises(fz.DataError, match="probabilities= needs"):
        fz.audit(there.table.shards, probabilities=fz.EASE())
    with pytest.raises(fz.DataError, match="neither members= nor binarize="):
        StackedAverage(binarize=0.5).fit(there.table.shards)


def test_few_top_rows_are_merged(here, there, monkeypatch):
    monkeypatch.setattr(file_survey, "TOP_ROWS", 3)
    found = there._surveyed([None] * 4)
    np.testing.assert_array_equal(found.rows["row"], here.top_rows(3)["row"])


def test_counts_are_refused(tmp_path):
    shards = in_files_of(2 * grouped_rows(), tmp_path)
    with pytest.raises(fz.DataError, match="needs zeros and ones, but a file holds 2"):
        fz.audit(shards)


def test_a_small_table_in_files_gets_the_full_average(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "LARGE", 1e8)
    table = fz.datasets.make_aspect_bernoulli(60, 12, 2, random_state=0).table
    shards = in_files_of(table.values, tmp_path, (30, 30))
    found = fz.audit(shards, probabilities=fz.EASE(), random_state=0)
    expected = fz.audit(table, probabilities=fz.EASE(), random_state=0)
    np.testing.assert_array_equal(found.zeros["expected"], expected.zeros["expected"])
    with pytest.raises(fz.DataError, match="small enough for memory"):
        StackedAverage().fit(shards)
