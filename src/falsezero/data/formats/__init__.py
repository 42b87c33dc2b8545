"""File formats that `falsezero.read` knows: one module per format, each with its `FORMAT`.

To add a format, put a module here that defines one (or call `register_format` from anywhere else):

    FORMAT = Format("NumPy", (".npy",), reader=read_npy, description="a matrix")
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from falsezero.data.checks import Raw
from falsezero.data.errors import DataError
from falsezero.data.layout import ReadOptions

__all__ = ["FRAME_OPTIONS", "FirstLines", "Format", "format_of", "known_formats", "register_format"]

FRAME_OPTIONS = frozenset({"row", "column", "value", "index", "duplicates", "drop"})
"""Options of formats that hold a wide or a long table."""

_FOR_ALL = {"max_gigabytes"}


FirstLines = tuple[list[str], list[list[str]]]


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    name : str
        As people call it, such as "Parquet".
    extensions : tuple of str
        In lower case, with their dots; ".mtx.gz" is one extension.
    reader : callable
        Takes the path and the `ReadOptions`, returns a `Raw` table. Imports what it needs itself.
    options : set of str
        Names of the `ReadOptions` that the reader obeys; all others are refused.
    description : str, optional
        With an article, for messages; by default "a <name> file".
    first_lines : callable, optional
        Takes the path, the `ReadOptions` and a number n, returns the names of the columns and the
        first n lines as text; for formats that hold lines.
    """

    name: str
    extensions: tuple[str, ...]
    reader: Callable[[Path, ReadOptions], Raw]
    options: frozenset[str] = frozenset()
    description: str = ""
    first_lines: Callable[[Path, ReadOptions, int], FirstLines] | None = None

    def read(self, path: Path, options: ReadOptions) -> Raw:
        """Read a file, after refusing options that mean nothing for this format."""
        unknown = [name for name in options.given() if name not in self.options | _FOR_ALL]
        if unknown:
            raise DataError(self._refusal(path, unknown[0]))
        return self.reader(path, options)

    def _refusal(self, path: Path, option: str) -> str:
        opening = f"{path} is {self.description or f'a {self.name} file'}, but"
        if option in ("row", "column"):
            return f"{opening} row= and column= belong to long tables."
        takers = [each.name for each in known_formats() if option in each.options]
        listed = " and ".join([", ".join(takers[:-1]), takers[-1]] if takers[1:] else takers)
        return f"{opening} {option}= belongs to {listed} files."


_REGISTERED: list[Format] = []


def register_format(new: Format) -> None:
    """Make a format of another package known; it wins over older ones with its extensions.

    >>> register_format(Format("Grid", (".grid",), reader=lambda path, options: Raw([[1, 0]])))
    >>> format_of(Path("finds.grid")).name
    'Grid'
    >>> _REGISTERED.clear()
    """
    _REGISTERED.insert(0, new)


def known_formats() -> list[Format]:
    """All formats, those registered last first."""
    return [*_REGISTERED, *_own_formats()]


@cache
def _own_formats() -> list[Format]:
    found = [part.name for part in iter_modules(__path__) if not part.name.startswith("_")]
    names = sorted(found, key=lambda name: (name != "text", name))
    return [import_module(f"{__name__}.{name}").FORMAT for name in names]


def format_of(path: Path) -> Format:
    """The format of a file by its extension; text if the extension is unknown.

    >>> format_of(Path("counts.MTX.gz")).name, format_of(Path("finds.dat")).name
    ('MatrixMarket', 'text')
    """
    from falsezero.data.formats.text import FORMAT as TEXT

    name = path.name.lower()
    return next((each for each in known_formats() if name.endswith(each.extensions)), TEXT)
