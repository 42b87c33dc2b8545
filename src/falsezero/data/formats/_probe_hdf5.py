"""Walk through an HDF5 file in a process of its own, and say what it would take to read it.

The HDF5 library can loop for ever or crash on a damaged file, with no way to stop it inside the
process that reads. This file is run as a script, with the path as its argument: it visits every
object and the index of every dataset, and prints the bytes that all datasets declare, or what is
wrong. It imports h5py and nothing of this package, so that it starts quickly.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

_SMALL = 1 << 20


def main(max_bytes: int, path: str) -> None:
    """Print a JSON object with `bytes`, or with the name of an object that is `elsewhere`."""
    try:
        import h5py
    except ImportError:
        # It cannot be probed here; the reader has the library it needs.
        print("null")
        return

    _limit_memory(max_bytes)
    with h5py.File(path, "r") as file:
        names = list(_outside(file))
        declared = 0 if names else sum(_declared(each) for each in _datasets(file))
    print(json.dumps({"elsewhere": names[:1], "bytes": declared}))


def _limit_memory(max_bytes: int) -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))


def _outside(group: Any, seen: tuple[Any, ...] = ()) -> Iterator[str]:
    """Names of everything that would be read from another file."""
    import h5py

    for name in group:
        link = group.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            yield f"{group.name}/{name}"
            continue
        member = group[name]
        if isinstance(member, h5py.Group):
            if member.id not in seen:
                yield from _outside(member, (*seen, member.id))
        elif isinstance(member, h5py.Dataset) and (member.external or member.is_virtual):
            yield str(member.name)


def _datasets(file: Any) -> list[Any]:
    import h5py

    found: list[Any] = []
    # The walk goes on for as long as its visitor returns None.
    file.visititems(lambda name, each: found.append(each))
    return [each for each in found if isinstance(each, h5py.Dataset)]


def _declared(dataset: Any) -> int:
    """Bytes that a dataset declares, after a look at where its parts lie."""
    size = int(dataset.size or 0) * int(dataset.dtype.itemsize)
    for attribute in dataset.attrs:
        dataset.attrs.get(attribute)
    if dataset.chunks is not None:
        dataset.id.get_num_chunks()
    if size <= _SMALL:
        dataset[()]
    return size


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
