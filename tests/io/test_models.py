"""A saved model comes back the same."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import falsezero as fz
from falsezero.data.errors import DataError
from falsezero.data.tidy import Tidy
from falsezero.io.models import _Packer, _unpack, load, save
from falsezero.models import MODELS, model_class
from falsezero.models.convex.family import Components


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and a == b


def test_everything_learnt_comes_back(model: Any, table: fz.Table, tmp_path: Path) -> None:
    save(model, tmp_path / "model.fz")
    back = load(tmp_path / "model.fz")
    assert type(back) is fz.AspectBernoulli
    assert back.get_params() == model.get_params()
    learnt = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert {name for name in vars(back) if name.endswith("_")} == set(learnt)
    for name, value in learnt.items():
        assert _same(getattr(back, name), value), name
    np.testing.assert_array_equal(
        back.reconstruct(table).to_numpy(), model.reconstruct(table).to_numpy()
    )


@pytest.mark.parametrize("name", MODELS)
def test_every_model_works_after_a_journey(name: str, table: fz.Table, tmp_path: Path) -> None:
    kind = model_class(name)
    wanted = {"n_components": 2, "random_state": 0, "max_iter": 30}
    wanted |= {"n_chains": 1, "warmup": 3, "n_draws": 3}
    has = kind().get_params()
    fitted = kind(**{key: value for key, value in wanted.items() if key in has})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted.fit(table)
    save(fitted, tmp_path / "model.fz")
    back = load(tmp_path / "model.fz")
    assert type(back) is kind
    np.testing.assert_array_equal(
        back.transform(table).to_numpy(), fitted.transform(table).to_numpy()
    )
    np.testing.assert_array_equal(back.score_samples(table), fitted.score_samples(table))


def test_another_process_gives_the_same_answers(table: fz.Table, tmp_path: Path) -> None:
    """Nothing that a fit learnt hangs on the process that fitted it."""
    options = {"random_state": 0, "max_iter": 15}
    chains = {"n_chains": 1, "warmup": 3, "n_draws": 3, "random_state": 0}
    models = [
        fz.BinaryICA(2, inference="em", **options),
        fz.BinaryICA(2, **options),
        fz.NoisyOr(2, **options),
        fz.BinaryMatrixFactorization(likelihood="gaussian", **chains),
        fz.DiscretePCA(2, family="gamma-poisson", **options),
        fz.DiscretePCA(2, inference="collapsed_gibbs", warmup=3, n_draws=3, random_state=0),
        fz.LogisticPCA(2, **options),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for i, each in enumerate(models):
            save(each.fit(table), tmp_path / f"{i}.fz")
    np.save(tmp_path / "table.npy", table.to_numpy())
    program = """
import sys, warnings, numpy as np, falsezero as fz
warnings.simplefilter("ignore")
folder, count = sys.argv[1], int(sys.argv[2])
X = np.load(f"{folder}/table.npy")
for i in range(count):
    model = fz.load(f"{folder}/{i}.fz")
    np.savez(f"{folder}/{i}.npz", t=model.transform(X), r=model.reconstruct(X), s=model.score(X))
"""
    words = [sys.executable, "-c", program, str(tmp_path), str(len(models))]
    subprocess.run(words, check=True)
    for i, each in enumerate(models):
        with np.load(tmp_path / f"{i}.npz") as back:
            np.testing.assert_array_equal(back["t"], each.transform(table).to_numpy())
            np.testing.assert_array_equal(back["r"], each.reconstruct(table).to_numpy())
            assert back["s"] == each.score(table)


def test_equal_models_are_equal_files(model: Any, saved: bytes, tmp_path: Path) -> None:
    save(model, tmp_path / "again.fz")
    assert (tmp_path / "again.fz").read_bytes() == saved


def test_callback_checkpoint_and_generator_are_left_out(table: fz.Table, tmp_path: Path) -> None:
    fitted = fz.AspectBernoulli(
        n_components=2,
        tol=1e-4,
        callback=lambda row: None,
        checkpoint=tmp_path / "check",
        random_state=np.random.default_rng(0),
    ).fit(table)
    save(fitted, tmp_path / "model.fz")
    back = load(tmp_path / "model.fz")
    assert (back.callback, back.checkpoint, back.random_state) == (None, None, None)
    assert np.array_equal(back.components_, fitted.components_)


def test_saving_again_replaces_and_leaves_no_trace(model: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.fz"
    path.write_text("old")
    save(model, path)
    assert os.listdir(tmp_path) == ["model.fz"]
    assert load(path).n_components == 3


def test_file_has_the_permissions_of_any_other_file(model: Any, tmp_path: Path) -> None:
    save(model, tmp_path / "model.fz")
    (tmp_path / "other").write_text("")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("model.fz", "other")]
    assert modes[0] == modes[1]


def test_a_failed_write_keeps_the_old_file(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.fz"
    path.write_text("old")

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save(model, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.fz"]


def test_numpy_opens_it_too(saved: bytes, model: Any) -> None:
    with np.load(io.BytesIO(saved), allow_pickle=False) as archive:
        arrays = [archive[name] for name in archive.files if name.isdigit()]
    assert any(np.array_equal(array, model.components_) for array in arrays)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from([np.arange(6.0).reshape(2, 3), np.array(["a", "Ω"]), np.zeros((0, 2), int)])
    | st.builds(lambda x: np.array([x, None], dtype=object), st.text()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Components, inner)
    ),
    max_leaves=8,
)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()
    if isinstance(a, dict):
        return list(a) == list(b) and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        pairs = zip(a, b, strict=True)
        return type(a) is type(b) and all(_equal(left, right) for left, right in pairs)
    return type(a) is type(b) and a == b


def _no_models(node):
    raise AssertionError("no model was packed")


@given(values)
def test_any_value_goes_through_json_and_back(value: Any) -> None:
    tuples = {"Components": Components}
    packer = _Packer(tuples, [])
    text = json.dumps(packer.pack(value, "x_"), allow_nan=False)
    assert _equal(value, _unpack(json.loads(text), packer.arrays, tuples, _no_models))


def test_nan_infinity_and_result_tables_are_kept() -> None:
    packer = _Packer({}, [])
    packed = packer.pack([float("nan"), float("-inf"), Tidy(a=[1, 2], b=["x", "y"])], "x_")
    nan, infinite, tidy = _unpack(json.loads(json.dumps(packed)), packer.arrays, {}, _no_models)
    assert np.isnan(nan)
    assert infinite == float("-inf")
    assert tidy.to_rows() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_what_cannot_be_saved_is_named(model: Any, tmp_path: Path) -> None:
    from sklearn.base import clone
    from sklearn.decomposition import PCA
    from sklearn.exceptions import NotFittedError

    with pytest.raises(DataError, match="PCA is not a model that can be saved"):
        save(PCA(), tmp_path / "x.fz")
    with pytest.raises(NotFittedError):
        save(clone(model), tmp_path / "x.fz")
    odd = load_copy(model, tmp_path)
    odd.extra_ = object()
    with pytest.raises(DataError, match="extra_ is a object"):
        save(odd, tmp_path / "x.fz")
    odd.extra_ = np.array([1j])
    with pytest.raises(DataError, match="extra_ is an array of complex128"):
        save(odd, tmp_path / "x.fz")
    assert not (tmp_path / "x.fz").exists()


def load_copy(model: Any, folder: Path) -> Any:
    save(model, folder / "copy.fz")
    return load(folder / "copy.fz")
