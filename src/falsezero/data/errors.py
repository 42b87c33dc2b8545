"""Errors that say in one sentence what is wrong with a table and how to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["DataError", "FileReadError", "MissingFileError", "quote", "suggest"]


_LONG = 200
_MANY = 20_000


class DataError(ValueError):
    """A table that cannot be read or used; the message is one sentence."""


class FileReadError(DataError, OSError):
    """A file that exists but cannot be read: no permission, damaged, cut off, a folder."""


class MissingFileError(FileReadError, FileNotFoundError):
    """A file that does not exist."""


def quote(value: object, limit: int = 80) -> str:
    """A label or another piece of a file as messages show it: quoted, and not too long.

    >>> quote("Sus"), quote(7), quote("a" * 1000, limit=10)
    ("'Sus'", '7', "'aaaaaaa…'")
    """
    text = repr(value[: limit + 1] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= limit else f"{text[: limit - 2]}…{text[0]}"


def suggest(wanted: object, known: Iterable[object], what: str = "known names") -> str:
    """Point from a name that does not exist to those that do.

    >>> suggest("sit", ["site", "genus"])
    "did you mean 'site'?"
    >>> suggest("x", ["site", "genus"])
    "known names: 'site', 'genus'"
    """
    names = [str(name) for name in known]
    if not names:
        return "there are none."
    # Comparing texts takes time with the square of their length.
    short = [name for name in names[:_MANY] if len(name) <= _LONG]
    close = difflib.get_close_matches(str(wanted)[:_LONG], short, n=3, cutoff=0.6)
    if not close:
        lowered = {name.lower(): name for name in names}
        match = lowered.get(str(wanted).lower())
        close = [match] if match is not None else []
    if close:
        return f"did you mean {' or '.join(map(quote, close))}?"
    shown = ", ".join(map(quote, names[:6])) + (", ..." if len(names) > 6 else "")
    return f"{what}: {shown}"
