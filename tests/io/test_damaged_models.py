"""A broken or forged model file gives a sentence and runs nothing."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import falsezero as fz
from falsezero.data.errors import FileReadError, MissingFileError
from falsezero.io.models import VERSION, _digest, load, save


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
    assert "which is no learnt attribute" in _refusal(_forged(saved, learnt=learnt), tmp_path)


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
    assert "shapes do not match" in _refusal(_forged(saved, learnt=learnt), tmp_path)
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
    assert "shapes do not match" in _refusal(_forged(saved, params=params), tmp_path)


def test_arrays_that_compiled_code_would_trust_are_checked(tmp_path: Path) -> None:
    X = (np.random.default_rng(0).random((15, 6)) < 0.4).astype(float)
    model = fz.NoisyOr(2, random_state=0, max_iter=3).fit(X)
    model.priors_ = model.row_weights_
    save(model, tmp_path / "odd.fz")
    with pytest.raises(FileReadError, match="shapes do not match"):
        load(tmp_path / "odd.fz")
