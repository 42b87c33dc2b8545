"""Row quantities of a table in files that every worker can read and write.

A fit to `Shards` with ``weights=`` holds a `Kept` in place of the row quantities of each block: the
name of a file. A task reads the file, works, and writes the next one under a name that was chosen
before it was sent, so that a task done twice leaves the same file and nothing travels but names.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from falsezero.data.errors import DataError
from falsezero.data.output import npz_bytes, write_atomically

_OURS = "falsezero."


class Kept:
    """The name of a file with the row quantities of one block.

    The file is deleted with its owner (`RowFiles.own`), unless a checkpoint has pinned it
    (`is_pinned`). Copies that are sent elsewhere own nothing.
    """

    def __init__(self, path: str):
        self.path, self.is_owner, self.is_pinned = path, False, False

    def __reduce__(self) -> tuple[Any, ...]:
        return Kept, (self.path,)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """The name, by which a checkpoint knows it."""
        return np.array(self.path)

    def __del__(self) -> None:
        if self.is_owner and not self.is_pinned:
            with suppress(Exception):
                remove(self.path)

    def open(self) -> Any:
        """The row quantities: a NamedTuple of arrays."""
        with np.load(io.BytesIO(read_bytes(self.path)), allow_pickle=False) as archive:
            module, name = str(archive["kind"]).split(":")
            if not module.startswith(_OURS):
                raise DataError(f"{self.path} was not written by falsezero.")
            kind = getattr(import_module(module), name)
            leaves = (archive[field] for field in kind._fields)
            return kind(*(leaf if leaf.ndim else leaf.item() for leaf in leaves))


class RowFiles:
    """A folder, or an fsspec address, for the row quantities of one table."""

    def __init__(self, address: str):
        self.address = address.rstrip("/")
        self.prefix, self.count = uuid4().hex[:12], 0
        if "://" not in self.address:
            Path(self.address).mkdir(parents=True, exist_ok=True)

    def new_names(self, number: int) -> list[str]:
        """Names for the next files of all blocks."""
        self.count += 1
        return [f"{self.address}/{self.prefix}-{self.count}-{i}.npz" for i in range(number)]

    @staticmethod
    def own(parts: Sequence[Any]) -> list[Any]:
        """The same, with files that are deleted together with these objects."""
        for part in parts:
            part.is_owner = True
        return list(parts)

    def final_names(self, number: int) -> list[str]:
        """Names for the weights of the rows of each block, when a fit is done."""
        return [f"{self.address}/weights-{i:05d}.npy" for i in range(number)]


def new_names(files: RowFiles | None, number: int) -> Sequence[str | None]:
    """Where to keep the next row quantities; None where they stay in memory."""
    return [None] * number if files is None else files.new_names(number)


def opened(part: Any) -> Any:
    """Row quantities, from their file where they are in one."""
    return part.open() if isinstance(part, Kept) else part


def put(part: Any, name: str | None) -> Any:
    """Row quantities, or the name of the file that they were written to."""
    if name is None:
        return part
    kind = f"{type(part).__module__}:{type(part).__name__}"
    write_bytes(name, npz_bytes({"kind": np.array(kind), **part._asdict()}))
    return Kept(name)


def put_weights(weights: np.ndarray, name: str) -> str:
    """Write the final weights of some rows as ``numpy.save`` does."""
    buffer = io.BytesIO()
    np.save(buffer, weights)
    write_bytes(name, buffer.getvalue())
    return name


def gathered(names: Sequence[str]) -> np.ndarray:
    """The weights of all rows, from the files of all blocks."""
    return np.concatenate([np.load(io.BytesIO(read_bytes(name))) for name in names])


def read_bytes(path: str) -> bytes:
    """Content of a local file or of one at an fsspec address."""
    if "://" not in path:
        return Path(path).read_bytes()
    import fsspec

    with fsspec.open(path, "rb") as stream:
        return bytes(stream.read())


def write_bytes(path: str, data: bytes) -> None:
    """Write a file atomically; object stores do so anyway."""
    if "://" not in path:
        write_atomically(path, data)
        return
    import fsspec

    with fsspec.open(path, "wb") as stream:
        stream.write(data)


def remove(path: str) -> None:
    """Delete a file if it still exists."""
    if "://" not in path:
        Path(path).unlink(missing_ok=True)
        return
    import fsspec

    files, name = fsspec.core.url_to_fs(path)
    files.rm_file(name)
