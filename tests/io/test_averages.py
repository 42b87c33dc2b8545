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


@pytest.mark.parametrize("change", ["unfitted", "unknown", "narrow"])
def test_a_forged_average_is_refused(average, tmp_path, change):
    path = tmp_path / "average.fz"
    fz.save(average, path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    meta = json.loads(parts["meta.json"])
    inner = meta["learnt"]["members_"][0]["fields"]["estimators"][0]
    if change == "unfitted":
        inner["learnt"] = {}
    elif change == "unknown":
        inner["model"] = "os.system"
    else:
        inner["learnt"]["n_features_in_"] = 3
    parts["meta.json"] = json.dumps(meta).encode()
    parts.pop("sha256")
    parts["sha256"] = saved._digest(parts).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(FileReadError):
        fz.load(path)
