import os

import numpy as np
import pytest
import scipy.sparse as sp

import falsezero as fz
from falsezero import datasets
from falsezero.datasets import DatasetNotFoundError

needs_data = pytest.mark.skipif(
    not os.environ.get("FALSEZERO_DATA"),
    reason="FALSEZERO_DATA names no folder of data sets",
)

FACTS = [
    ("load_fossils", {}, (501, 139), 3537, 0),
    ("load_fossils", {"version": "g10s10"}, (124, 139), 1978, 0),
    ("load_mfeat_digits", {}, (2000, 240), None, 0),
    ("load_monks", {}, (18, 18), 88, 0),
    ("load_polblogs", {}, (1490, 1490), 19025, 0),
    ("load_statisticians", {}, (777, 40), 2462, 0),
    ("load_statisticians", {"table": "paper_cites_author"}, (3248, 3607), 11204, 0),
    ("load_statisticians", {"table": "paper_cites_paper"}, (3248, 3248), 5722, 0),
    ("load_statisticians", {"table": "paper_author"}, (3248, 3607), 7655, 0),
    ("load_statisticians", {"table": "words"}, (3248, 4027), 196796, 0),
    ("load_cora", {}, (2708, 1433), 49216, 0),
    ("load_cora", {"table": "citations"}, (2708, 2708), 10556, 0),
    ("load_citeseer", {}, (3327, 3703), 105165, 0),
    ("load_usps", {}, (9298, 256), None, 0),
    ("load_golub", {}, (72, 7129), None, 0),
    ("load_golub", {"values": "expression"}, (72, 7129), None, 0),
    ("load_kos", {}, (3430, 6906), 353160, 0),
    ("load_associated_press", {}, (2246, 10473), 302031, 0),
    ("load_reuters395", {}, (395, 4258), 60114, 0),
    ("load_wikipedia_sample", {}, (105, 13159), 90948, 0),
    ("load_newsgroups20", {}, (18774, 61188), 2435219, 0),
    ("load_newsgroups_w100", {}, (16242, 100), 65451, 0),
    ("load_newsgroups4", {}, (400, 100), None, 0),
    ("load_imdb_reviews", {}, (50000, 25101), 4173974, 0),
    ("load_senate", {}, (100, 542), None, 12888),
    ("load_epub", {}, (15729, 936), 25893, 0),
    ("load_polca", {}, (118, 7), 384, 0),
    ("load_polca", {"survey": "cheating"}, (319, 4), 161, 0),
    ("load_polca", {"survey": "values"}, (216, 4), None, 0),
    ("load_polca", {"survey": "election"}, (1785, 12), None, 1292),
    ("load_polca", {"survey": "gss82"}, (1202, 10), 4808, 0),
    ("load_swiss_birds", {}, (267, 158), None, 158),
    ("load_hubbard_brook", {}, (373, 13), None, 0),
    ("load_bluebirds", {}, (108, 39), 1597, 0),
]


@needs_data
@pytest.mark.parametrize(("name", "options", "shape", "n_ones", "n_missing"), FACTS)
def test_shapes_and_counts_are_those_of_the_readme(name, options, shape, n_ones, n_missing):
    data = getattr(datasets, name)(**options)
    assert data.table.shape == shape
    assert n_ones is None or data.table.n_ones == n_ones
    assert data.table.n_missing == n_missing
    assert data.description
    assert data.citation
    if data.target is not None:
        assert data.target.shape == shape[:1]
    assert all(len(column) == shape[0] for column in data.row_info.values())
    assert all(len(column) == shape[1] for column in data.column_info.values())
    assert data.image_shape is None or np.prod(data.image_shape) == shape[1]


def test_every_loader_is_checked():
    loaders = {name for name in datasets.__all__ if name.startswith("load_")}
    assert loaders - {name for name, *_ in FACTS} == {"load_newsgroups4_documents"}


@needs_data
def test_fossils_have_ages():
    data = datasets.load_fossils()
    assert data.target.min() > 0
    assert data.target.max() < 30
    assert data.row_info["hard"].dtype == bool
    assert data.table.density == pytest.approx(0.0508, abs=5e-5)
    assert "known about rows: mn_zone, age_ma, hard" in repr(data)


@needs_data
def test_thresholds():
    assert datasets.load_usps().table.density == pytest.approx(0.2588, abs=5e-5)
    assert datasets.load_usps(threshold=-1).table.density == pytest.approx(0.4102, abs=5e-5)
    assert datasets.load_mfeat_digits().table.density == pytest.approx(0.4887, abs=5e-5)
    assert datasets.load_mfeat_digits(1).table.density == pytest.approx(0.6076, abs=5e-5)
    assert datasets.load_golub().table.density == pytest.approx(0.2823, abs=6e-5)


@needs_data
def test_monks_like_their_own_group():
    data = datasets.load_monks()
    likes = data.table.to_numpy() == 1
    same = data.target[:, None] == data.target[None, :]
    assert same[likes].mean() > 0.6
    assert data.table.to_numpy()[data.table.row("John Bosco"), data.table.column("Gregory")] == 1


@needs_data
def test_senators_vote_with_their_party():
    data = datasets.load_senate()
    votes, party = data.table.to_numpy(), data.target
    yeas = [np.nanmean(votes[party == p], axis=0) for p in ("d", "r")]
    assert np.abs(yeas[0] - yeas[1]).mean() > 0.3


@needs_data
def test_newsgroups4_words_are_informative_stems():
    data = datasets.load_newsgroups4()
    words = set(data.table.columns)
    assert {"god", "kei", "encrypt", "orbit", "nasa", "church", "secur", "patient"} <= words
    assert np.unique(data.target, return_counts=True)[1].tolist() == [100] * 4
    god = data.table.values[:, [data.table.column("god")]].toarray().ravel()
    share = {group: god[data.target == group].mean() for group in np.unique(data.target)}
    assert share["soc.religion.christian"] > 3 * share["sci.space"]
    other = datasets.load_newsgroups4(random_state=0, n_documents=50, n_words=30)
    assert other.table.shape == (200, 30)
    assert (
        other.table == datasets.load_newsgroups4(random_state=0, n_documents=50, n_words=30).table
    )


@needs_data
def test_the_largest_set_loads_sparse():
    table = datasets.load_imdb_reviews("all").table
    assert table.shape == (100000, 25101)
    assert isinstance(table.values, sp.csr_array)
    assert table.values.sum() == 10220968


@needs_data
def test_unknown_choices_are_named():
    with pytest.raises(ValueError, match=r"^version='g10s3' is not known; did you mean"):
        datasets.load_fossils("g10s3")


def test_without_the_variable(monkeypatch):
    monkeypatch.delenv("FALSEZERO_DATA", raising=False)
    with pytest.raises(DatasetNotFoundError) as caught:
        datasets.load_fossils()
    assert str(caught.value) == (
        "The data set 'now_european_mammals' is read from the folder that the environment "
        "variable FALSEZERO_DATA names, but FALSEZERO_DATA is not set."
    )
    assert isinstance(caught.value, FileNotFoundError)


def test_without_the_folder_or_file(monkeypatch, tmp_path):
    monkeypatch.setenv("FALSEZERO_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError) as caught:
        datasets.load_kos()
    assert str(caught.value) == (
        f"The data set 'kos' is not in {tmp_path}, the folder that FALSEZERO_DATA names."
    )
    (tmp_path / "kos").mkdir()
    with pytest.raises(DatasetNotFoundError, match=r"'kos' lacks the file documents\.npz"):
        datasets.load_kos()


@needs_data
def test_visits_of_swiss_birds_are_those_of_the_readme():
    data = datasets.load_swiss_birds()
    looks = data.looks[~np.isnan(data.looks).any(axis=(1, 2))]
    assert len(looks) == 219
    looks = looks[:, :, looks[:, 0].sum(axis=0) >= 3]
    assert looks.shape[2] == 101
    later = looks[:, 1:].max(axis=1)[looks[:, 0] == 0]
    assert (int(later.sum()), later.size) == (1896, 15873)
    assert data.look_info["date"].shape == (267, 3)
    visited = ~np.isnan(data.looks).all(axis=(1, 2))
    seen = np.nanmax(data.looks[visited], axis=1)
    np.testing.assert_array_equal(seen, data.table.to_numpy()[visited])
    visits = data.to_looks()
    np.testing.assert_array_equal(visits.to_numpy(), data.looks)
    assert visits.union() == data.table
    assert list(visits.variables) == ["date", "duration"]
    assert list(visits.row_variables) == ["elevation", "forest", "coordx", "coordy"]


def test_looks_take_along_what_is_known_in_numbers():
    table = fz.Table(np.ones((2, 1)), rows=["a", "b"])
    looks = np.array([[[1.0], [np.nan]], [[0.0], [1.0]]])
    date, height = np.array([[5.0, np.nan], [6.0, 7.0]]), np.array([10, 20])
    data = datasets.Dataset(
        table,
        row_info={"height": height, "county": np.array(["x", "y"])},
        looks=looks,
        look_info={"date": date, "who": np.array([["p", "q"], ["p", "p"]])},
    )
    found = data.to_looks()
    np.testing.assert_array_equal(found.to_numpy(), looks)
    np.testing.assert_array_equal(found.rows, ["a", "b"])
    assert list(found.variables) == ["date"]
    np.testing.assert_array_equal(found.variables["date"], [[5, 0], [6, 7]])
    np.testing.assert_array_equal(found.row_variables["height"], height)
    assert list(found.row_variables) == ["height"]
    with pytest.raises(fz.DataError, match="looked at once; use its table"):
        datasets.Dataset(table).to_looks()


@needs_data
def test_visits_of_hubbard_brook_are_those_of_the_readme():
    data = datasets.load_hubbard_brook(2015)
    looks = data.looks[~np.isnan(data.looks).any(axis=(1, 2))]
    assert len(looks) == 362
    looks = looks[:, :, looks[:, 0].sum(axis=0) >= 3]
    later = looks[:, 1:].max(axis=1)[looks[:, 0] == 0]
    assert round(later.mean(), 3) == 0.230
    with pytest.raises(ValueError, match="year='1850' is not known"):
        datasets.load_hubbard_brook(1850)


@needs_data
def test_annotators_of_bluebirds_are_those_of_the_readme():
    data = datasets.load_bluebirds()
    X, truth = data.table.to_numpy(), data.target[:, None]
    assert truth.sum() == 48
    assert ((X == 0) & (truth == 1)).sum() == 905
    assert ((X == 1) & (truth == 0)).sum() == 630
