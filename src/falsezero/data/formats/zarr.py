"""AnnData in a zarr store, which is a folder."""

from __future__ import annotations

import json
import math
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from falsezero.data.checks import Raw
from falsezero.data.errors import FileReadError, import_for
from falsezero.data.files import load_whole, located
from falsezero.data.formats import Format
from falsezero.data.layout import ReadOptions
from falsezero.data.limits import check_size
from falsezero.data.objects import from_annotated

_DESCRIPTIONS = {".zarray", ".zmetadata", "zarr.json"}
_TYPES = {"dtype", "data_type"}
_CODECS = ("filters", "compressor", "codecs")
_BYTES_A_NUMBER = 8


def read_zarr(path: Path, options: ReadOptions) -> Raw:
    """Read X of an AnnData store, or one of its layers."""
    with import_for(f"{path}, a zarr store,", "anndata and zarr", "falsezero[zarr]"):
        import anndata
        import zarr as _  # noqa: F401
    _check_store(path, options.max_gigabytes)
    found = load_whole(path, "zarr", lambda: anndata.io.read_zarr(path))
    raw = from_annotated(found, options.layer)
    return located(raw.values, raw.rows, raw.columns, path, options.max_gigabytes)


def _check_store(path: Path, max_gigabytes: float | None) -> None:
    """Refuse a store that asks for too much, reads what lies elsewhere, or could run something."""
    arrays: list[dict[str, Any]] = []
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            if os.path.islink(os.path.join(folder, name)):
                raise FileReadError(
                    f"{path} takes {name!r} from elsewhere by a link, which is not read; copy "
                    "everything into one folder."
                )
        for name in _DESCRIPTIONS.intersection(files):
            text = load_whole(path, "zarr", (Path(folder) / name).read_text)
            arrays += _arrays_in(load_whole(path, "zarr", partial(json.loads, text)))
    for each in arrays:
        if "pickle" in json.dumps([each.get(key) for key in _CODECS]).lower():
            raise FileReadError(
                f"{path} holds Python objects (pickle), which are not loaded; save numbers and "
                "text arrays only."
            )
    needed = load_whole(path, "zarr", lambda: sum(map(_declared_bytes, arrays)))
    check_size(path, needed, max_gigabytes)


def _arrays_in(node: Any) -> list[dict[str, Any]]:
    """Descriptions of arrays, wherever they are in the JSON of a store."""
    if isinstance(node, list):
        return [found for each in node for found in _arrays_in(each)]
    if not isinstance(node, dict):
        return []
    here = [node] if "shape" in node and _TYPES.intersection(node) else []
    return here + [found for each in node.values() for found in _arrays_in(each)]


def _declared_bytes(array: dict[str, Any]) -> int:
    """Bytes of an array unpacked, or of one of its chunks where that is more."""
    kind = array.get("dtype", array.get("data_type"))
    width = np.dtype(kind).itemsize if isinstance(kind, str) and kind[:1] in "<>|" else 0
    if isinstance(kind, dict):
        width = int(kind.get("configuration", {}).get("length_bytes", 0))
    if "chunks" in array:
        chunks = array["chunks"]
    else:
        chunks = array["chunk_grid"]["configuration"]["chunk_shape"]
    cells = max(math.prod(map(int, array["shape"])), math.prod(map(int, chunks)))
    return max(_BYTES_A_NUMBER, width) * cells


FORMAT = Format(
    "zarr", (".zarr",), reader=read_zarr, options=frozenset({"layer"}), description="a matrix"
)
