"""BIOM tables of microbiome studies: samples become rows, observations columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from falsezero.data.checks import Raw
from falsezero.data.errors import import_for
from falsezero.data.files import load_whole, located
from falsezero.data.formats import Format
from falsezero.data.formats.h5ad import check_hdf5
from falsezero.data.layout import ReadOptions

_HDF5 = b"\x89HDF"


def read_biom(path: Path, options: ReadOptions) -> Raw:
    """Read a BIOM file, version 1 (JSON) or 2 (HDF5)."""
    with open(path, "rb") as file:
        is_hdf5 = file.read(4) == _HDF5
    if is_hdf5:
        _check_h5py(path)
        check_hdf5(path, options.max_gigabytes, "BIOM")
    load = _from_hdf5 if is_hdf5 else _from_json
    matrix, samples, observations = load_whole(path, "BIOM", lambda: load(path))
    return located(matrix, samples, observations, path, options.max_gigabytes)


def _check_h5py(path: Path) -> None:
    with import_for(f"{path}, a BIOM file,", "h5py", "falsezero[biom]"):
        import h5py as _  # noqa: F401


def _from_hdf5(path: Path) -> tuple[Any, list[str], list[str]]:
    import h5py

    with h5py.File(path, "r") as file:
        samples, observations = (
            [name.decode() for name in file[f"{axis}/ids"][:]] for axis in ("sample", "observation")
        )
        stored = file["sample/matrix"]
        arrays = stored["data"][:], stored["indices"][:], stored["indptr"][:]
    matrix: Any = sp.csr_array(arrays, shape=(len(samples), len(observations)))
    matrix.check_format(full_check=True)
    return matrix, samples, observations


def _from_json(path: Path) -> tuple[Any, list[str], list[str]]:
    content = json.loads(path.read_text(encoding="utf-8"))
    observations, samples = (
        [str(entry["id"]) for entry in content[a]] for a in ("rows", "columns")
    )
    shape = (len(observations), len(samples))
    if content["matrix_type"] == "dense":
        matrix: Any = np.array(content["data"], dtype=float).reshape(shape)
        return matrix.T, samples, observations
    rows, columns, values = np.array(content["data"], dtype=float).reshape(-1, 3).T
    where = rows.astype(int), columns.astype(int)
    return sp.coo_array((values, where), shape=shape).T.tocsr(), samples, observations


FORMAT = Format("BIOM", (".biom",), reader=read_biom, description="a matrix")
