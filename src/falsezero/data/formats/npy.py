"""One dense NumPy array."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from falsezero.data.checks import Raw
from falsezero.data.files import load_whole, located
from falsezero.data.formats import Format
from falsezero.data.label_files import with_labels
from falsezero.data.layout import ReadOptions


def read_npy(path: Path, options: ReadOptions) -> Raw:
    """Read one dense array."""
    with open(path, "rb") as file:
        values = load_whole(path, ".npy", lambda: read_whole(file, path.stat().st_size))
    raw = located(values, None, None, path, options.max_gigabytes)
    return with_labels(raw, options.rows, options.columns)


def read_whole(file: Any, size: int) -> np.ndarray:
    """The array in an open `.npy` file of this size, which must be there as its header says."""
    version = np.lib.format.read_magic(file)
    reader = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, _, dtype = reader(file)
    if not dtype.hasobject and math.prod(shape) * dtype.itemsize > size:
        raise ValueError("cut off")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


FORMAT = Format(
    "npy",
    (".npy",),
    reader=read_npy,
    options=frozenset({"rows", "columns"}),
    description="a matrix",
)
