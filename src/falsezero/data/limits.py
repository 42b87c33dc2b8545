"""How much memory a file may ask for, checked before it is taken."""

from __future__ import annotations

from pathlib import Path

from falsezero.data.errors import FileReadError

__all__ = ["EXPANSION", "FREE", "allowed_bytes", "check_size"]

FREE = 1 << 30
"""Bytes that any file may ask for."""

EXPANSION = 32
"""Larger files may ask for so many times their own size: tables compress well, but not without
end. What asks for more is damaged or means harm, or needs to be allowed by name."""


def allowed_bytes(path: Path, max_gigabytes: float | None = None) -> int:
    """Bytes that what a file holds may take in memory."""
    if max_gigabytes is not None:
        return int(max_gigabytes * 1e9)
    return max(FREE, EXPANSION * _size(path))


def _size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(each.lstat().st_size for each in path.rglob("*"))


def check_size(path: Path, needed: int, max_gigabytes: float | None = None) -> None:
    """Refuse a file that declares more than it may ask for.

    >>> check_size(Path(__file__), 10**12)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    falsezero.data.errors.FileReadError: ...limits.py holds ... bytes but asks for 1000.0 GB of \
memory; if that is what you expect of it, pass max_gigabytes=1001.
    """
    if needed > allowed_bytes(path, max_gigabytes):
        size, gigabytes = _size(path), needed / 1e9
        raise FileReadError(
            f"{path} holds {size} bytes but asks for {gigabytes:.1f} GB of memory; if that is what "
            f"you expect of it, pass max_gigabytes={int(gigabytes) + 1}."
        )
