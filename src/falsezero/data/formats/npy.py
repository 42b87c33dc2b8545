"""One dense NumPy array."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from falsezero.data.checks import Raw
from falsezero.data.files import load_whole, located
from falsezero.data.formats import Format
from falsezero.data.layout import ReadOptions


def read_npy(path: Path, options: ReadOptions) -> Raw:
    """Read one dense array."""
    with open(path, "rb") as file:
        values = load_whole(
            path, ".npy", lambda: np.lib.format.read_array(file, allow_pickle=False)
        )
    return located(values, None, None, path)


FORMAT = Format("npy", (".npy",), reader=read_npy, description="a matrix")
