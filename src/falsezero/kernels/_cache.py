"""Keep compiled kernels between processes: one checked file for each kernel and signature.

The files lie in a folder named after a hash of all kernel sources, because machine code contains
the helpers it calls: an edit anywhere in `kernels/` starts a fresh folder. Nothing that happens to
these files may stop a fit: a kernel whose file cannot be read or written is compiled in memory.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["CodeCache", "folders", "warn_once"]

_PREFIX = "falsezero-"
_KEPT_FOLDERS = 4
_DIGEST_SIZE = hashlib.sha256().digest_size


class CodeCache:
    """Stored bytes by key, in several folders: the first that has a key, or can be written to.

    >>> import tempfile
    >>> cache = CodeCache([Path(tempfile.mkdtemp()) / "falsezero-1"])
    >>> cache.write("kernel (float64,)", b"code")
    >>> cache.read("kernel (float64,)")
    b'code'
    >>> cache.read("kernel (float32,)") is None
    True
    """

    def __init__(self, folders: list[Path]) -> None:
        self._folders = folders

    def read(self, key: str) -> bytes | None:
        """Return the stored bytes, or None where no folder has an intact file for the key."""
        for folder in self._folders:
            path = folder / _file_name(key)
            try:
                return _read_checked(path, key)
            except OSError:
                continue
            except ValueError as error:
                warn_once(path, error)
        return None

    def write(self, key: str, data: bytes) -> None:
        """Store bytes under a key, or warn once where no folder can be written."""
        problem: tuple[Path, OSError] | None = None
        for folder in self._folders:
            try:
                _make_folder(folder)
                _write_checked(folder / _file_name(key), key, data)
                return
            except OSError as error:
                problem = problem or (folder, error)
        if problem:
            warn_once(*problem)


def folders(source: Path, version: str) -> list[Path]:
    """Folders to keep code compiled from the files in `source`, in order of preference.

    They lie in ``NUMBA_CACHE_DIR`` alone where that is set, else in ``__pycache__`` beside the
    sources, or in the user's own cache folder for installations that the user cannot write to.
    """
    try:
        name = _PREFIX + _hash_sources(source, version)
    except OSError as error:
        warn_once(source, error)
        return []
    return [parent / name for parent in _parents(source)]


def _parents(source: Path) -> Iterator[Path]:
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen)
        return
    yield source / "__pycache__"
    with suppress(RuntimeError):  # an account without a home
        yield _user_cache() / "falsezero"


def _user_cache() -> Path:
    if sys.platform == "win32":
        default = Path.home() / "AppData" / "Local"
        return Path(os.environ.get("LOCALAPPDATA") or default)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _hash_sources(source: Path, version: str) -> str:
    digest = hashlib.sha256(version.encode())
    for name in sorted(name for name in os.listdir(source) if name.endswith(".py")):
        data = (source / name).read_bytes()
        digest.update(f"\n{name} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()[:20]


def _file_name(key: str) -> str:
    return f"{key.partition(' ')[0]}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.code"


def _read_checked(path: Path, key: str) -> bytes:
    """Read a file that this account may trust and whose digest agrees; ValueError otherwise."""
    with open(path, "rb") as stream:
        if not _is_trusted(os.fstat(stream.fileno())):
            raise ValueError("it belongs to another user")
        stored = stream.read()
    digest, data = stored[:_DIGEST_SIZE], stored[_DIGEST_SIZE:]
    if digest != _digest(key, data):
        raise ValueError("it is damaged or was not written by falsezero")
    return data


def _is_trusted(status: os.stat_result) -> bool:
    """Whether a file belongs to us, the administrator, or whoever installed falsezero.

    Machine code is executed, so files of other users in a shared folder must not be trusted.
    """
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid in (os.getuid(), 0, os.stat(__file__).st_uid)


def _write_checked(path: Path, key: str, data: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as stream:
            stream.write(_digest(key, data) + data)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _digest(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + data).digest()


def _make_folder(folder: Path) -> None:
    """Create a folder and remove the oldest ones, left behind by earlier versions."""
    if folder.is_dir():
        return
    folder.mkdir(parents=True, exist_ok=True)
    siblings = [path for path in folder.parent.glob(f"{_PREFIX}*") if path != folder]
    siblings.sort(key=_modified, reverse=True)
    for path in siblings[_KEPT_FOLDERS:]:
        shutil.rmtree(path, ignore_errors=True)


def _modified(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


_has_warned = False


def warn_once(path: Path, problem: Exception) -> None:
    """Warn, once per process, that compiled code could not be kept or used."""
    global _has_warned
    if _has_warned:
        return
    _has_warned = True
    reason = getattr(problem, "strerror", None) or problem
    warnings.warn(
        f"Compiled code could not be kept in {path} ({reason}), so falsezero compiles in memory, "
        "which takes a few seconds; set NUMBA_CACHE_DIR to a folder that you can write to.",
        UserWarning,
        stacklevel=2,
    )
