"""Guess the layout of a file from its first lines, before it is read."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from falsezero.data.errors import DataError
from falsezero.data.files import find_file
from falsezero.data.formats import FirstLines, format_of
from falsezero.data.layout import ReadOptions
from falsezero.data.read import read
from falsezero.data.roles import long_roles

__all__ = ["Guess", "guess_layout", "preview"]

_SAMPLE = 200


class Guess(NamedTuple):
    """Options for `falsezero.read`, and what it answers to them."""

    options: dict[str, Any]
    table: Any
    problem: DataError | None
    warnings: list[str]


def preview(path: Any, n: int = 12, **options: Any) -> FirstLines:
    """Names of the columns of a file and its first lines as text; empty for a matrix."""
    file = find_file(path)
    shown = format_of(file).first_lines
    return ([], []) if shown is None else shown(file, ReadOptions(**options), n)


def attempt(path: Any, options: dict[str, Any]) -> Guess:
    """Read a file with these options, and keep the error and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            table, problem = read(path, **options), None
        except DataError as error:
            table, problem = None, error
    return Guess(options, table, problem, [str(each.message) for each in caught])


def guess_layout(path: Any) -> Guess:
    """Find out how a file is laid out: wide if `read` takes it for that, else long.

    A file is long if it has a column of row names and one of column names. If it still cannot be
    read, `problem` names the option that helps.
    """
    wide = attempt(path, {})
    # Without the right header, roles of columns cannot be guessed.
    if wide.problem is None or "skip=" in str(wide.problem):
        return wide
    try:
        roles = long_roles(*preview(path, _SAMPLE))
    except DataError:
        return wide
    return attempt(path, roles) if roles else wide
