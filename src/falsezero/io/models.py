"""Save and load fitted models: arrays and JSON in one file, without any code.

The file is a zip of `.npy` arrays, `meta.json` and `sha256`, none of them compressed, so that no
member can be larger than the file itself; `numpy.load` opens it too. A file cannot name a class to
be imported: the model comes from the fixed registry `falsezero.models.SAVED`, and a NamedTuple must
be one that the model's own modules define.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from falsezero import __version__
from falsezero.base.factor_model import FactorModel
from falsezero.data.errors import DataError, FileReadError
from falsezero.data.files import find_file
from falsezero.data.labels import is_readable_text
from falsezero.data.output import check_target, write_atomically
from falsezero.data.tidy import Tidy
from falsezero.models import SAVED, model_class

__all__ = ["load", "save"]

FORMAT = "falsezero model"
VERSION = 2
"""Version 1 stored the fields of a NamedTuple by position; 2 stores them by name."""
_RENAMED = {"discrete-pca": {"model": "family"}, "bmf": {"draws": "n_draws"}}
"""Parameters that have been renamed since files with them may have been saved."""
_RENAMED_TUPLES = {"Link": "ScoreLink", "Draw": "StackingTrial", "Rows": "RowOnes"}
"""Likewise for NamedTuples, where a model no longer has one of the old name."""
_META, _DIGEST = "meta.json", "sha256"
_NOT_KEPT = ("callback", "checkpoint")
_ARRAY_KINDS = "biufU"
_MOST_IDLE = 1000
_LEARNT_NAME = re.compile(r"_?[A-Za-z]\w*_")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, atomically: an existing file is replaced whole or not at all.

    The parameters and everything learnt are saved, but not `callback`, `checkpoint`, and random
    states other than numbers. The file holds no code and no pickle.

    Parameters
    ----------
    model : a fitted model of falsezero
    path : path
        Where to write; `.fz` is the usual extension.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(30, 8, 2, random_state=0).table
    >>> model = fz.AspectBernoulli(n_components=2, random_state=0).fit(table)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.fz"
    >>> save(model, file)
    >>> bool((load(file).components_ == model.components_).all())
    True
    """
    _registered_name(model)
    check_is_fitted(model)
    arrays: list[np.ndarray] = []
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "falsezero": __version__,
        **_pack_model(model, arrays),
        "arrays": [{"dtype": a.dtype.str, "shape": list(a.shape)} for a in arrays],
    }
    write_atomically(check_target(path), _zip(meta, arrays))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    A file that is truncated, altered, written by a newer falsezero or not a model at all raises a
    `FileReadError`; nothing in a file is ever executed.

    Parameters
    ----------
    path : path
        A file written by `save`.

    Returns
    -------
    model
        Fitted, of the class that was saved.
    """
    file = find_file(path)
    try:
        return _read(file)
    except FileReadError:
        raise
    except Exception:
        # A file can be damaged in more ways than can be listed.
        raise FileReadError(f"{file} is damaged or cut off; save the model again.") from None


# -- writing ----------------------------------------------------------------------------------


def _registered_name(model: Any) -> str:
    home = f"{type(model).__module__}:{type(model).__name__}"
    for name, registered in SAVED.items():
        if registered == home:
            return name
    raise DataError(
        f"{type(model).__name__} is not a model that can be saved; those are {', '.join(SAVED)}."
    )


def _named_tuples(model: type) -> dict[str, type]:
    """The NamedTuple classes in the modules of a model and its bases, by name."""
    found: dict[str, type] = {}
    for base in model.__mro__:
        if base.__module__.startswith("falsezero."):
            for value in vars(sys.modules[base.__module__]).values():
                if (
                    isinstance(value, type)
                    and issubclass(value, tuple)
                    and hasattr(value, "_fields")
                ):
                    found.setdefault(value.__name__, value)
    return found


def _storable(name: str, value: Any) -> Any:
    forgotten = name in _NOT_KEPT or isinstance(
        value, (np.random.Generator, np.random.RandomState, np.random.SeedSequence)
    )
    return None if forgotten else value


def _pack_model(model: Any, arrays: list[np.ndarray]) -> dict[str, Any]:
    """Name, parameters and learnt values of a model as JSON; appends its arrays to `arrays`."""
    packer = _Packer(_named_tuples(type(model)), arrays)
    params = model.get_params(deep=False)
    learnt = {key: value for key, value in vars(model).items() if _LEARNT_NAME.fullmatch(key)}
    return {
        "model": _registered_name(model),
        "params": {k: packer.pack(_storable(k, v), k) for k, v in params.items()},
        "learnt": {key: packer.pack(value, key) for key, value in learnt.items()},
    }


class _Packer:
    """Turns values into JSON and collects arrays; types unknown to JSON become tagged dicts."""

    def __init__(self, named_tuples: dict[str, type], arrays: list[np.ndarray]):
        self.arrays = arrays
        self._named_tuples = named_tuples

    def pack(self, value: Any, where: str) -> Any:
        """A value as JSON; `where` is the attribute named in errors."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and not math.isfinite(value):
            return {"#": "float", "value": str(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.ndarray):
            return self._pack_array(value, where)
        if isinstance(value, list):
            return [self.pack(item, where) for item in value]
        if isinstance(value, BaseEstimator):
            return {"#": "model", **_pack_model(value, self.arrays)}
        if isinstance(value, Tidy):
            return {"#": "tidy", "items": self.pack(dict(value), where)}
        if isinstance(value, dict):
            pairs = [[self.pack(k, where), self.pack(v, where)] for k, v in value.items()]
            return {"#": "dict", "items": pairs}
        if isinstance(value, tuple):
            if self._named_tuples.get(type(value).__name__) is type(value):
                return self._pack_named(value, where)
            if type(value) is tuple:
                return {"#": "tuple", "items": [self.pack(item, where) for item in value]}
        raise DataError(f"{where} is a {type(value).__name__}, which cannot be saved.")

    def _pack_named(self, value: Any, where: str) -> Any:
        fields = {name: self.pack(item, where) for name, item in value._asdict().items()}
        return {"#": "named", "type": type(value).__name__, "fields": fields}

    def _pack_array(self, array: np.ndarray, where: str) -> Any:
        if array.dtype.kind == "O":
            return {
                "#": "objects",
                "shape": list(array.shape),
                "items": self._objects(array, where),
            }
        if array.dtype.kind not in _ARRAY_KINDS:
            raise DataError(f"{where} is an array of {array.dtype}, which cannot be saved.")
        self.arrays.append(array)
        return {"#": "array", "number": len(self.arrays) - 1}

    def _objects(self, array: np.ndarray, where: str) -> list[Any]:
        return [self.pack(item, where) for item in array.ravel().tolist()]


def _zip(meta: dict[str, Any], arrays: list[np.ndarray]) -> bytes:
    members = {_META: json.dumps(meta, allow_nan=False).encode()}
    for number, array in enumerate(arrays):
        stream = io.BytesIO()
        np.lib.format.write_array(stream, array, allow_pickle=False)
        members[f"{number}.npy"] = stream.getvalue()
    members[_DIGEST] = _digest(members).encode()
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            # A fixed date: equal models are equal files.
            archive.writestr(zipfile.ZipInfo(name), data)
    return whole.getvalue()


def _digest(members: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(members):
        digest.update(f"{name} {len(members[name])}\n".encode())
        digest.update(members[name])
    return digest.hexdigest()


# -- reading ----------------------------------------------------------------------------------


def _read(file: Path) -> Any:
    if not zipfile.is_zipfile(file):
        with open(file, "rb") as stream:
            if stream.read(4) != b"PK\x03\x04":
                raise FileReadError(f"{file} is not a model saved by falsezero.")
    with zipfile.ZipFile(file) as archive:
        sizes = _checked_sizes(file, archive)
        meta = _checked_meta(file, archive, sizes)
        members = {name: archive.read(name) for name in sizes}
    stored = members.pop(_DIGEST, b"")
    if stored.decode() != _digest(members):
        raise FileReadError(f"{file} was changed after it was saved; save the model again.")
    wanted = {_META, *(f"{number}.npy" for number in range(len(meta["arrays"])))}
    if set(members) != wanted:
        raise FileReadError(f"{file} does not hold the arrays that it declares.")
    arrays = [
        _array(file, members[f"{number}.npy"], declared)
        for number, declared in enumerate(meta["arrays"])
    ]
    return _rebuild(file, meta, arrays)


def _checked_sizes(file: Path, archive: zipfile.ZipFile) -> dict[str, int]:
    """Sizes of the members; refuses a file whose members could exceed its size on disk."""
    members = archive.infolist()
    sizes = {member.filename: member.file_size for member in members}
    stored = all(
        member.compress_type == zipfile.ZIP_STORED and member.file_size == member.compress_size
        for member in members
    )
    if _META not in sizes:
        raise FileReadError(f"{file} is not a model saved by falsezero.")
    if not stored or len(sizes) < len(members) or sum(sizes.values()) > file.stat().st_size:
        raise FileReadError(
            f"{file} declares more than it holds, so it was not written by falsezero."
        )
    return sizes


def _checked_meta(file: Path, archive: zipfile.ZipFile, sizes: dict[str, int]) -> dict[str, Any]:
    meta = json.loads(archive.read(_META))
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise FileReadError(f"{file} is not a model saved by falsezero.")
    if meta["version"] > VERSION:
        raise FileReadError(
            f"{file} was saved by a newer falsezero ({str(meta.get('falsezero'))[:20]}, this is "
            f"{__version__}); upgrade falsezero to read it."
        )
    declared = sum(math.prod(a["shape"]) * np.dtype(a["dtype"]).itemsize for a in meta["arrays"])
    if not 0 <= declared <= sum(sizes.values()):
        raise FileReadError(
            f"{file} declares more than it holds, so it was not written by falsezero."
        )
    return meta


def _array(file: Path, data: bytes, declared: dict[str, Any]) -> np.ndarray:
    """Read one `.npy`, whose header and size must match what `meta.json` declares."""
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise FileReadError(f"{file} holds an array in a format that falsezero does not write.")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.kind not in _ARRAY_KINDS or dtype.str != declared["dtype"]:
        raise FileReadError(f"{file} holds an array of another type than it declares.")
    size = math.prod(shape) * dtype.itemsize
    if list(shape) != declared["shape"] or size != len(data) - stream.tell():
        raise FileReadError(f"{file} holds an array of another size than it declares.")
    stream.seek(0)
    array = np.lib.format.read_array(stream, allow_pickle=False)
    if dtype.kind == "U" and not is_readable_text(array):
        raise FileReadError(f"{file} holds names that are not valid text.")
    return array


def _rebuild(file: Path, meta: dict[str, Any], arrays: list[np.ndarray]) -> Any:
    if meta["model"] not in SAVED:
        raise FileReadError(
            f"{file} holds a model {str(meta['model'])[:40]!r} that this falsezero does not have."
        )
    strange = [name for name in _NOT_KEPT if meta["params"].get(name) is not None]
    if strange:
        # A file must not decide where a later fit writes and deletes files.
        raise FileReadError(f"{file} sets {strange[0]}=, which falsezero never saves.")
    kind = model_class(meta["model"])
    tuples = _named_tuples(kind)
    renamed = _RENAMED.get(meta["model"], {})

    def unpack(node: Any) -> Any:
        return _unpack(node, arrays, tuples, lambda inner: _rebuild(file, inner, arrays))

    params = {renamed.get(k, k): unpack(v) for k, v in meta["params"].items()}
    model = kind(**params)
    model._validate_params()
    for name, value in meta["learnt"].items():
        if not _LEARNT_NAME.fullmatch(name):
            raise FileReadError(f"{file} holds {name[:40]!r}, which is no learnt attribute.")
        setattr(model, name, unpack(value))
    if meta["learnt"]:
        check_is_fitted(model)
        _check_shapes(file, model)
    elif "format" in meta:
        raise FileReadError(f"{file} holds a model that was never fitted.")
    return model


def _check_shapes(file: Path, model: Any) -> None:
    width = model.n_features_in_
    names = getattr(model, "feature_names_in_", None)
    agrees = isinstance(width, int) and (names is None or names.shape == (width,))
    agrees = agrees and (
        _factors_agree(model, width) if isinstance(model, FactorModel) else model._is_whole()
    )
    if not agrees:
        raise FileReadError(f"{file} holds arrays whose shapes do not match.")


def _factors_agree(model: Any, width: int) -> bool:
    components: Any = model.components_
    weights: Any = getattr(model, "row_weights_", None)
    agrees = np.ndim(components) == 2 and components.shape[1] == width
    declared = getattr(model, "n_components", None)
    if agrees and isinstance(declared, int):
        # Work arrays are sized by this number; idle components may have been dropped.
        agrees = declared <= _MOST_IDLE * max(len(components), 1)
    if weights is not None:
        agrees = agrees and np.ndim(weights) == 2 and weights.shape[1] == len(components)
    return agrees and model._is_whole()


def _unpack(
    node: Any,
    arrays: list[np.ndarray],
    tuples: dict[str, type],
    rebuild: Callable[[dict[str, Any]], Any],
) -> Any:
    def unpack(inner: Any) -> Any:
        return _unpack(inner, arrays, tuples, rebuild)

    if isinstance(node, list):
        return [unpack(item) for item in node]
    if not isinstance(node, dict):
        return node
    tag = node["#"]
    if tag == "float":
        return float(node["value"])
    if tag == "array":
        return arrays[node["number"]]
    if tag == "model":
        return rebuild(node)
    if tag == "named":
        kind = tuples.get(node["type"]) or tuples[_RENAMED_TUPLES[node["type"]]]
        if "fields" in node:
            return kind(**{name: unpack(item) for name, item in node["fields"].items()})
        return kind(*unpack(node["items"]))
    items = unpack(node["items"])
    if tag == "objects":
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.reshape(node["shape"])
    return {"dict": dict, "tuple": tuple, "tidy": Tidy}[tag](items)
