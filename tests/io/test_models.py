"""A saved model comes back the same, and a broken file gives a sentence and runs nothing."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import falsezero as fz
from falsezero.data.errors import DataError, FileReadError, MissingFileError
from falsezero.data.tidy import Tidy
from falsezero.io.models import VERSION, _digest, _Packer, _unpack, load, save
from falsezero.models import MODELS, model_class
from falsezero.models.convex.family import Components


@pytest.fixture(scope="module")
def table() -> fz.Table:
    values = fz.datasets.make_aspect_bernoulli(40, 9, 3, random_state=0).table.values
    return fz.Table(values, columns=[f"genus {i} ü" for i in range(9)])


@pytest.fixture(scope="module")
def model(table: fz.Table) -> Any:
    return fz.AspectBernoulli(n_components=3, random_state=0, tol=1e-4).fit(table)


@pytest.fixture(scope="module")
def saved(model: Any, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("io") / "model.fz"
    save(model, path)
    return path.read_bytes()


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


# -- files that are not what they seem --------------------------------------------------------


def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _packed(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A zip with a digest that fits: what a careful forger would write."""
    members = {name: data for name, data in members.items() if name != "sha256"}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in (members | {"sha256": _digest(members).encode()}).items():
            archive.writestr(name, data)
    return stream.getvalue()


def _forged(saved: bytes, **changes: Any) -> bytes:
    members = _members(saved)
    meta = json.loads(members["meta.json"]) | changes
    return _packed(members | {"meta.json": json.dumps(meta).encode()})


def _refusal(data: bytes, tmp_path: Path) -> str:
    path = tmp_path / "model.fz"
    path.write_bytes(data)
    with pytest.raises(FileReadError) as caught:
        load(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert said.endswith(".")
    assert "\n" not in said
    return said


def _loaded_or_refused(path: Path) -> Any:
    try:
        return load(path)
    except FileReadError:
        return None


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="There is no file"):
        load(tmp_path / "none.fz")
    with pytest.raises(FileReadError, match="is a folder"):
        load(tmp_path)


def test_a_forger_who_changes_nothing_is_believed(saved: bytes, tmp_path: Path) -> None:
    """The control of the tests below: without a change the same construction loads."""
    (tmp_path / "model.fz").write_bytes(_forged(saved))
    assert load(tmp_path / "model.fz").n_components == 3


@pytest.mark.parametrize("data", [b"", b"site,genus\na,b\n", b"\x93NUMPY\x01\x00"])
def test_foreign_files(data: bytes, tmp_path: Path) -> None:
    assert "not a model saved by falsezero" in _refusal(data, tmp_path)


def test_a_foreign_npz(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.savez(stream, X=np.eye(3))
    assert "not a model saved by falsezero" in _refusal(stream.getvalue(), tmp_path)


def test_a_newer_version(saved: bytes, tmp_path: Path) -> None:
    said = _refusal(_forged(saved, version=VERSION + 1, falsezero="9.0"), tmp_path)
    assert "newer falsezero (9.0" in said
    assert "upgrade" in said


def test_an_unknown_model(saved: bytes, tmp_path: Path) -> None:
    assert "'os:system' that this falsezero" in _refusal(
        _forged(saved, model="os:system"), tmp_path
    )


@pytest.mark.parametrize("name", ["__class__", "__dict__", "fit", "get_params", "x y_"])
def test_only_learnt_names_are_set(name: str, saved: bytes, tmp_path: Path) -> None:
    learnt = json.loads(_members(saved)["meta.json"])["learnt"] | {name: 1}
    assert "which no model learns" in _refusal(_forged(saved, learnt=learnt), tmp_path)


def test_parameters_are_checked(saved: bytes, tmp_path: Path) -> None:
    params = json.loads(_members(saved)["meta.json"])["params"]
    assert "damaged" in _refusal(_forged(saved, params=params | {"n_components": -1}), tmp_path)
    assert "damaged" in _refusal(_forged(saved, params=params | {"evil": 1}), tmp_path)


@pytest.mark.parametrize("name", ["checkpoint", "callback"])
def test_a_file_cannot_choose_what_a_later_fit_writes(
    name: str, saved: bytes, tmp_path: Path
) -> None:
    params = json.loads(_members(saved)["meta.json"])["params"] | {name: "/elsewhere"}
    assert f"sets {name}=" in _refusal(_forged(saved, params=params), tmp_path)


def test_a_tuple_that_the_model_does_not_know(saved: bytes, tmp_path: Path) -> None:
    learnt = json.loads(_members(saved)["meta.json"])["learnt"]
    learnt["extra_"] = {"#": "named", "type": "Popen", "items": ["true"]}
    assert "damaged" in _refusal(_forged(saved, learnt=learnt), tmp_path)


def test_a_changed_array(saved: bytes, tmp_path: Path) -> None:
    members = _members(saved)
    members["0.npy"] = members["0.npy"][:-1] + b"\x00"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    assert "changed after it was saved" in _refusal(stream.getvalue(), tmp_path)


def test_arrays_that_do_not_fit_together(saved: bytes, tmp_path: Path) -> None:
    learnt = json.loads(_members(saved)["meta.json"])["learnt"] | {"n_features_in_": 8}
    assert "do not fit together" in _refusal(_forged(saved, learnt=learnt), tmp_path)
    learnt = json.loads(_members(saved)["meta.json"])["learnt"]
    for wrong in (None, 7, [1, 2], learnt["row_weights_"]):
        assert _refusal(_forged(saved, learnt=learnt | {"components_": wrong}), tmp_path)
    for wrong in (7, learnt["components_"]):
        assert _refusal(_forged(saved, learnt=learnt | {"row_weights_": wrong}), tmp_path)


def test_a_pickle_is_never_read(saved: bytes, tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.array([print], dtype=object), allow_pickle=True)
    members = _members(saved) | {"0.npy": stream.getvalue()}
    assert "another type" in _refusal(_packed(members), tmp_path)


def test_sizes_that_lie(saved: bytes, tmp_path: Path) -> None:
    members = _members(saved)
    arrays = json.loads(members["meta.json"])["arrays"]
    huge = [{"dtype": "<f8", "shape": [10**6, 10**6]}, *arrays[1:]]
    assert "declares more than it holds" in _refusal(_forged(saved, arrays=huge), tmp_path)
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
    np.lib.format.write_array_header_1_0(stream, header)
    lying = _packed(members | {"0.npy": stream.getvalue()})
    assert "another size" in _refusal(lying, tmp_path)


def test_a_zip_bomb(saved: bytes, tmp_path: Path) -> None:
    bomb = _packed(_members(saved) | {"0.npy": bytes(10**7)}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 10**5
    assert "declares more than it holds" in _refusal(bomb, tmp_path)


def test_missing_and_extra_members(saved: bytes, tmp_path: Path) -> None:
    members = _members(saved)
    assert "arrays that it declares" in _refusal(_packed(members | {"x.npy": b""}), tmp_path)
    members.pop("0.npy")
    assert "arrays that it declares" in _refusal(_packed(members), tmp_path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@given(data=st.binary(max_size=300), is_zip=st.booleans())
def test_random_bytes(data: bytes, is_zip: bool, folder: Path) -> None:
    _refusal(b"PK\x03\x04" + data if is_zip else data, folder)


@given(where=st.floats(0, 1, exclude_max=True))
def test_every_truncation_is_noticed(where: float, saved: bytes, folder: Path) -> None:
    _refusal(saved[: int(where * len(saved))], folder)


@settings(max_examples=300)
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_is_refused_or_harmless(
    where: float, bit: int, saved: bytes, folder: Path, model: Any
) -> None:
    """Dates and attributes in zip headers carry no meaning; everything else is noticed."""
    data = bytearray(saved)
    data[int(where * len(data))] ^= 1 << bit
    path = folder / "model.fz"
    path.write_bytes(data)
    back = _loaded_or_refused(path)
    if back is not None:
        assert np.array_equal(back.components_, model.components_)
        assert np.array_equal(back.row_weights_, model.row_weights_)


@settings(max_examples=200)
@given(data=st.data())
def test_a_mutated_description_is_refused_or_harmless(
    data: st.DataObject, saved: bytes, folder: Path
) -> None:
    """Replace any part of meta.json by any JSON value, with a digest that fits."""
    meta = json.loads(_members(saved)["meta.json"])
    node: Any = meta
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        inner = node[key]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
            break
        node = inner
    simple = st.none() | st.booleans() | st.integers(-3, 2**70) | st.text(max_size=5)
    node[key] = data.draw(simple | st.lists(simple, max_size=2) | st.just({"#": "float"}))
    (folder / "model.fz").write_bytes(_forged(saved, **meta))
    back = _loaded_or_refused(folder / "model.fz")
    assert back is None or type(back) is fz.AspectBernoulli


def test_components_that_were_never_learnt_are_not_believed(saved: bytes, tmp_path: Path) -> None:
    meta = json.loads(_members(saved)["meta.json"])
    params = meta["params"] | {"n_components": 10**9}
    assert "do not fit together" in _refusal(_forged(saved, params=params), tmp_path)


def test_arrays_that_compiled_code_would_trust_are_checked(tmp_path: Path) -> None:
    X = (np.random.default_rng(0).random((15, 6)) < 0.4).astype(float)
    model = fz.NoisyOr(2, random_state=0, max_iter=3).fit(X)
    model.priors_ = model.row_weights_
    save(model, tmp_path / "odd.fz")
    with pytest.raises(FileReadError, match="do not fit together"):
        load(tmp_path / "odd.fz")
