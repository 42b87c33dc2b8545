"""Checks that files can be opened and are complete, and names for places in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from falsezero.data.checks import Raw
from falsezero.data.errors import DataError, FileReadError, MissingFileError, quote, suggest
from falsezero.data.limits import check_size

__all__ = ["find_file", "load_whole", "located"]


def find_file(path: Any) -> Path:
    """Check that a path names a file that can be opened; raise an error if not."""
    found = Path(path)
    if "://" in str(path):
        raise MissingFileError(f"{path} is an address, not a file; download it first.")
    if found.name == "-" or (found.exists() and not found.is_file() and not found.is_dir()):
        raise FileReadError(f"{path} is no file that can be read twice; save it to one first.")
    if found.suffix.lower() == ".zarr" and found.is_dir():
        return found
    try:
        with open(found, "rb"):
            return found
    except FileNotFoundError:
        remedy = ""
        if found.parent.is_dir():
            names = [entry.name for entry in found.parent.iterdir()]
            close = suggest(found.name, names)
            remedy = f"; {close}" if close.startswith("did") else ""
        raise MissingFileError(f"There is no file {found}{remedy or '.'}") from None
    except IsADirectoryError:
        raise FileReadError(f"{found} is a folder; name a file in it.") from None
    except PermissionError:
        raise FileReadError(f"{found} may not be read: permission denied.") from None
    except (OSError, ValueError):
        raise FileReadError(f"{found} cannot be opened.") from None


def load_whole(path: Path, kind: str, load: Callable[[], Any]) -> Any:
    """The result of `load`; a damaged file gives an error of one sentence."""
    try:
        return load()
    except FileReadError:
        raise
    except Exception as problem:
        if "Object arrays" in str(problem):
            raise FileReadError(
                f"{path} holds Python objects (pickle), which are not loaded; "
                "save numbers and text arrays only."
            ) from None
        raise FileReadError(
            f"{path} is damaged or cut off: it is not a complete {kind} file."
        ) from None


def located(
    values: Any, rows: Any, columns: Any, path: Path, max_gigabytes: float | None = None
) -> Raw:
    """Content of a matrix file, with places that name the file in messages."""
    check_size(path, 16 * sum(values.shape), max_gigabytes)
    if not sp.issparse(values) and values.dtype.kind not in "biuf":
        raise DataError(f"{path} holds {values.dtype.name} entries where numbers belong.")

    def place(row: int, column: int) -> str:
        row_name = row if rows is None else np.asarray(rows).tolist()[row]
        column_name = column if columns is None else np.asarray(columns).tolist()[column]
        return f"{path} row {quote(row_name)}, column {quote(column_name)}"

    return Raw(values, rows, columns, str(path), place)
