"""Files that are written whole or not at all."""

from __future__ import annotations

import io
import os
import platform
import re
import secrets
import shutil
import zlib
from pathlib import Path
from typing import Any

from falsezero.data.errors import FileReadError

_HOST = f"{zlib.crc32(platform.node().encode()):08x}"

__all__ = ["check_target", "npz_bytes", "write_atomically", "write_text"]


def npz_bytes(arrays: dict[str, Any], *, compressed: bool = False) -> bytes:
    """Arrays as the content of an `.npz` file; Ctrl-C on the way is a KeyboardInterrupt."""
    import numpy as np

    buffer = io.BytesIO()
    save: Any = np.savez_compressed if compressed else np.savez
    try:
        save(buffer, **arrays)
    except ValueError as error:
        # The zip file, closed with a member still open, complains about that instead.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
    return buffer.getvalue()


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Put a file in place in one step: a reader sees the old one or the new one, never half.

    A file that was there before hands on its permissions, and a link stays a link.
    """
    target = Path(os.path.realpath(path))
    _remove_leftovers(target)
    temporary = target.with_name(f".{target.name}.{_HOST}-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _remove_leftovers(target: Path) -> None:
    """Delete what processes of this machine left behind that were killed while they wrote."""
    name = re.escape(target.name)
    leftover = re.compile(rf"\.{name}\.{_HOST}-(\d+)-[0-9a-f]{{8}}")
    for each in target.parent.iterdir():
        match = leftover.fullmatch(each.name)
        if match and not _is_running(int(match[1])):
            each.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    if os.name != "posix":
        # Asking is how a process is ended there.
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Put a text file in place in one step; half a surrogate pair becomes a question mark."""
    write_atomically(path, text.encode("utf-8", "replace"))


def check_target(path: str | os.PathLike[str]) -> Path:
    """Check that a file could be written here, so that hours of fitting do not end in an error.

    >>> check_target("no such folder/model.fz")
    Traceback (most recent call last):
    ...
    falsezero.data.errors.FileReadError: There is no folder 'no such folder' to write model.fz in.
    """
    target = Path(path)
    if target.is_dir():
        raise FileReadError(f"{target} is a folder; name a file to write.")
    if target.exists() and not target.is_file():
        raise FileReadError(f"{target} is a device, which a file must not replace.")
    if not target.parent.is_dir():
        raise FileReadError(f"There is no folder '{target.parent}' to write {target.name} in.")
    if not os.access(target.parent, os.W_OK):
        raise FileReadError(f"{target} may not be written: permission denied.")
    return target
