"""Errors that say in one sentence what is wrong with a table and how to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = [
    "DataError",
    "FileReadError",
    "MissingFileError",
    "MissingPackageError",
    "as_sentence",
    "choices",
    "import_for",
    "quote",
    "suggest",
]


_LONG = 200
_MANY = 20_000


class DataError(ValueError):
    """A table that cannot be read or used; the message is one sentence."""


class FileReadError(DataError, OSError):
    """A file that exists but cannot be read: no permission, damaged, cut off, a folder."""


class MissingFileError(FileReadError, FileNotFoundError):
    """A file that does not exist."""


class MissingPackageError(DataError, ImportError):
    """An optional package that is not installed; the message says how to install it."""


@contextmanager
def import_for(purpose: str, packages: str, install: str) -> Iterator[None]:
    """Around an import of optional packages: where it fails, say what to install.

    >>> with import_for("A spreadsheet", "calamine", "falsezero[excel]"):
    ...     import no_such_package
    Traceback (most recent call last):
    falsezero.data.errors.MissingPackageError: A spreadsheet needs calamine: \
pip install 'falsezero[excel]'.
    """
    try:
        yield
    except ImportError:
        target = f"'{install}'" if "[" in install else install
        raise MissingPackageError(f"{purpose} needs {packages}: pip install {target}.") from None


def as_sentence(problem: object) -> str:
    """An error or warning as one line.

    >>> as_sentence(KeyError("x"))
    "KeyError: 'x'; this is a mistake in falsezero, please report it."
    """
    sentence = " ".join(str(problem).split())
    if isinstance(problem, OSError) and problem.strerror:
        sentence = f"{problem.strerror}: {problem.filename}."
    known = isinstance(problem, (ValueError, OSError, ImportError, Warning, str))
    if isinstance(problem, MemoryError):
        reason = f" ({sentence})" if sentence else ""
        return f"There is not enough memory{reason}."
    if not sentence or not (known or sentence.endswith(".")):
        kind = type(problem).__name__
        return (
            f"{kind}: {sentence or 'no message'}; this is a mistake in falsezero, please report it."
        )
    return sentence


def quote(value: object, limit: int = 80) -> str:
    """A label or another piece of a file as messages show it: quoted, and not too long.

    >>> quote("Sus"), quote(7), quote("a" * 1000, limit=10)
    ("'Sus'", '7', "'aaaaaaa…'")
    """
    text = repr(value[: limit + 1] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= limit else f"{text[: limit - 2]}…{text[0]}"


def choices(option: str, names: Iterable[object]) -> str:
    """How to pass one of several names.

    >>> choices("layer", ["wide", "long"])
    "layer='wide' or layer='long'"
    """
    settings = [f"{option}={quote(str(name))}" for name in names]
    if len(settings) > 6:
        return f"{', '.join(settings[:6])}, ..."
    return " or ".join([", ".join(settings[:-1]), settings[-1]] if settings[1:] else settings)


def suggest(wanted: object, known: Iterable[object], what: str = "known names") -> str:
    """Point from a name that does not exist to those that do.

    >>> suggest("sit", ["site", "genus"])
    "did you mean 'site'?"
    >>> suggest("sit", ["SITE", "GENUS"])
    "did you mean 'SITE'?"
    >>> suggest("x", ["site", "genus"])
    "known names: 'site', 'genus'"
    """
    names = [str(name) for name in known]
    if not names:
        return "there are none."
    # Comparing texts takes time with the square of their length.
    short = [name for name in names[:_MANY] if len(name) <= _LONG]
    text = str(wanted)[:_LONG]
    close = difflib.get_close_matches(text, short, n=3, cutoff=0.6)
    if not close:
        lowered = {name.lower(): name for name in short}
        found = difflib.get_close_matches(text.lower(), lowered, n=3, cutoff=0.6)
        close = [lowered[name] for name in found]
    if close:
        return f"did you mean {' or '.join(map(quote, close))}?"
    shown = ", ".join(map(quote, names[:6])) + (", ..." if len(names) > 6 else "")
    return f"{what}: {shown}"
