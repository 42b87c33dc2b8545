"""An average is saved with all its members, and nothing else can hide in its file."""

import json
import zipfile

import numpy as np
import pytest

import falsezero as fz
from falsezero.data.errors import DataError, FileReadError
from falsezero.io import models as saved


@pytest.fixture(scope="module")
def table():
    return fz.datasets.make_aspect_bernoulli(60, 12, 2, random_state=0).table


@pytest.fixture(scope="module")
def average(table):
    members = [("aspects", [fz.AspectBernoulli(k, prior=1) for k in (2, 3)]), ("ease", fz.EASE())]
    return fz.StackedAverage(members, random_state=0).fit(table)


def test_an_average_comes_back_with_its_members(average, table, tmp_path):
    fz.save(average, tmp_path / "average.fz")
    again = fz.load(tmp_path / "average.fz")
    assert again.feature_names_ == average.feature_names_
    assert [name for name, _ in again.members] == ["aspects", "ease"]
    np.testing.assert_array_equal(
        again.reconstruct(table).to_numpy(), average.reconstruct(table).to_numpy()
    )
    fz.save(again, tmp_path / "again.fz")
    assert (tmp_path / "again.fz").read_bytes() == (tmp_path / "average.fz").read_bytes()


def test_a_member_that_is_not_ours_is_refused(table, tmp_path):
    from sklearn.decomposition import NMF

    class Foreign(NMF):
        def reconstruct(self, X):
            return np.full(X.shape, 0.5)

    model = fz.StackedAverage([("foreign", fz.EASE())], random_state=0).fit(table)
    model.members = [("foreign", Foreign())]
    with pytest.raises(DataError, match="Foreign is not a model that can be saved"):
        fz.save(model, tmp_path / "foreign.fz")


def forged(model, path, change):
    """Save a model, change its description, and make the checksum fit again."""
    fz.save(model, path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    meta = json.loads(parts["meta.json"])
    change(meta["learnt"])
    parts["meta.json"] = json.dumps(meta).encode()
    parts.pop("sha256")
    parts["sha256"] = saved._digest(parts).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda member: member.update(learnt={}),
        lambda member: member.update(model="os.system"),
        lambda member: member["learnt"].update(n_features_in_=3),
    ],
    ids=["unfitted", "unknown", "narrow"],
)
def test_a_forged_average_is_refused(average, tmp_path, change):
    def change_member(learnt):
        change(learnt["members_"][0]["fields"]["estimators"][0])

    with pytest.raises(FileReadError):
        fz.load(forged(average, tmp_path / "average.fz", change_member))


@pytest.fixture(scope="module")
def looks():
    return fz.datasets.make_looks(20, 5, 3, 1, random_state=0).looks


@pytest.fixture(scope="module")
def looks_average(looks):
    return fz.LooksAverage((1,), inference="vb", tol=1e-2, random_state=0).fit(looks)


def test_an_average_of_looks_comes_back_with_its_models(looks_average, looks, tmp_path):
    fz.save(looks_average, tmp_path / "looks.fz")
    again = fz.load(tmp_path / "looks.fz")
    np.testing.assert_array_equal(again.present(looks), looks_average.present(looks))
    assert again.get_params() == looks_average.get_params()


@pytest.mark.parametrize(
    "change",
    [
        lambda learnt: learnt.update(models_=[]),
        lambda learnt: learnt.update(n_features_in_=4),
        lambda learnt: learnt["models_"][0].update(model="ease"),
    ],
    ids=["empty", "narrow", "other"],
)
def test_a_forged_average_of_looks_is_refused(looks_average, tmp_path, change):
    with pytest.raises(FileReadError):
        fz.load(forged(looks_average, tmp_path / "looks.fz", change))
