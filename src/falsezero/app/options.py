"""What the page may ask of `falsezero.read` and `falsezero.audit`, checked on the way."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from falsezero.data.errors import DataError

__all__ = ["FILES", "audit_options", "read_options", "remedies"]

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


_READ: dict[str, Callable[[Any], Any]] = {
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
    options = _checked({k: v for k, v in given.items() if k not in FILES}, _READ)
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


_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_SETTING = re.compile(
    rf"(?<![\w.])(?P<name>\w+)=(?P<value>{_QUOTED}|\{{(?:{_QUOTED}|[^}}'\"])*\}}"
    rf"|\[(?:{_QUOTED}|[^]'\"])*\]|-?[\d.]+(?<!\.)|True|False)"
)


def remedies(sentence: str) -> list[dict[str, Any]]:
    """Settings that a sentence of the library recommends, each with its own words.

    >>> remedies("t.csv holds 3; pass binarize=0 to make values above it ones, or kind='count'.")
    [{'words': 'binarize=0 to make values above it ones', 'options': {'binarize': 0}}]
    """
    found: list[tuple[str, dict[str, Any]]] = []
    for words in re.split(r", or | or (?=\w+=)|, (?=\w+=)|; pass | pass |, such as ", sentence):
        settings = [(m["name"], m["value"]) for m in _SETTING.finditer(words)]
        if settings and all(name in _READ for name, _ in settings):
            options = {name: ast.literal_eval(value) for name, value in settings}
            meanings = _meanings(options["marks"]) if _OTHERS.search(words) else []
            is_one_of_three = len(options.get("marks", ())) == 1 and bool(meanings)
            found += meanings if is_one_of_three else [(words, options), *meanings]
    return [
        {"words": words.strip().rstrip("."), "options": options} for words, options in found[:8]
    ]


_OTHERS = re.compile(r"\([01]: \w+, (0: absent|None: not observed)\)")
"""What else a mark may mean, after the meaning that is recommended."""


def _meanings(marks: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """A mark that is not known may mean any of three things."""
    meant = {1: "present", 0: "absent", None: "not observed"}
    return [
        (f"{text!r} means {words}", {"marks": {text: value}})
        for text in marks
        for value, words in meant.items()
    ]
