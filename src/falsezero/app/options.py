"""Options of `falsezero.read` and `falsezero.audit` that the page may set, and their checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from falsezero.data.errors import DataError

__all__ = ["FILES", "READ_OPTIONS", "audit_options", "read_options"]

_LONGEST = 500
_MOST = 2000


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ValueError("text")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number")
    return float(value)


def _lines(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 100_000:
        raise ValueError("a whole number from 0 to 100,000")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _share(value: Any) -> float:
    if not 0 <= _number(value) < 1:
        raise ValueError("a number from 0 to 1")
    return float(value)


def _names(value: Any) -> list[str]:
    if not isinstance(value, list) or len(value) > _MOST:
        raise ValueError("a list of names")
    return [_text(name) for name in value]


def _marks(value: Any) -> dict[str, float | None]:
    if not isinstance(value, dict) or len(value) > _MOST:
        raise ValueError("texts and what they mean")
    return {_text(k): None if v is None else _number(v) for k, v in value.items()}


def _index(value: Any) -> str | bool:
    return False if value is False else _text(value)


READ_OPTIONS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("row", "column", "value", "look", "observer"), _text),
    **dict.fromkeys(("layer", "delimiter", "encoding", "duplicates"), _text),
    "index": _index,
    "drop": _names,
    "marks": _marks,
    "binarize": _number,
    "skip": _lines,
    "header": _flag,
}
FILES = ("surveyed", "rows", "columns")
"""Options that name another file: one that was dropped in, and no other."""

_AUDIT: dict[str, Callable[[Any], Any]] = {"loss": _share, "false_alarms": _flag}


def read_options(given: Mapping[str, Any], files: Sequence[str]) -> dict[str, Any]:
    """Options for `falsezero.read`; what names a file must be among `files`.

    >>> read_options({"row": "site", "surveyed": "effort.csv"}, ["effort.csv"])
    {'row': 'site', 'surveyed': 'effort.csv'}
    """
    options = _checked({k: v for k, v in given.items() if k not in FILES}, READ_OPTIONS)
    for name in FILES:
        if given.get(name) is not None:
            if given[name] not in files:
                raise DataError(f"{name}= must be one of the files that were dropped in.")
            options[name] = given[name]
    return options


def audit_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options for `falsezero.audit`."""
    return _checked(given, _AUDIT)


def _checked(given: Mapping[str, Any], known: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    options = {}
    for name, value in given.items():
        if name not in known:
            raise DataError(f"There is no option {name[:40]!r} here.")
        if value is None:
            continue
        try:
            options[name] = known[name](value)
        except ValueError as problem:
            raise DataError(f"{name}= must be {problem}.") from None
    return options
