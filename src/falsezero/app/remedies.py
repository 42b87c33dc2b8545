"""Buttons for the settings that an error message of the library recommends."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from falsezero.app.options import READ_OPTIONS

__all__ = ["in_words", "remedies", "without_remedies"]

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_SETTING = re.compile(
    rf"(?<![\w.])(?P<name>\w+)=(?P<value>{_QUOTED}|\{{(?:{_QUOTED}|[^}}'\"])*\}}"
    rf"|\[(?:{_QUOTED}|[^]'\"])*\]|-?[\d.]+(?<!\.)|True|False)"
)


def remedies(sentence: str) -> list[dict[str, Any]]:
    """Settings that an error message recommends, with words for their buttons.

    >>> remedies("t.csv holds 3; pass binarize=0 to make values above it ones, or kind='count'.")
    [{'words': 'Values above 0 are ones', 'options': {'binarize': 0}}]
    """
    found: list[dict[str, Any]] = []
    for words in re.split(r", or | or (?=\w+=)|, (?=\w+=)|; pass | pass |, such as ", sentence):
        settings = [(m["name"], m["value"]) for m in _SETTING.finditer(words)]
        if settings and all(name in READ_OPTIONS for name, _ in settings):
            options = {name: ast.literal_eval(value) for name, value in settings}
            meanings = _meanings(options["marks"]) if _OTHERS.search(words) else []
            is_one_of_three = len(options.get("marks", ())) == 1 and bool(meanings)
            found += meanings if is_one_of_three else [options, *meanings]
    return [{"words": in_words(options), "options": options} for options in found[:8]]


def without_remedies(sentence: str) -> str:
    """The problem without the remedies, which have buttons of their own.

    >>> without_remedies("t.csv line 2 holds 3; pass binarize=0 to make values above it ones.")
    't.csv line 2 holds 3.'
    """
    return (
        re.sub(r"(: |; |, or |,? )pass (?=\w+=).*", "", sentence, flags=re.DOTALL).rstrip(".") + "."
    )


def in_words(options: Mapping[str, Any]) -> str:
    """A plain description of options, for people who do not know them.

    >>> in_words({"index": "site", "drop": ["year", "total"]})
    'The rows are named by site; leave out year, total'
    """
    parts = [
        part for name, value in options.items() if (part := _option_in_words(name, value, options))
    ]
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def _option_in_words(name: str, value: Any, options: Mapping[str, Any]) -> str:
    if name == "marks":
        return ", ".join(
            f"{_mark(text)} means {_MEANT.get(means, means)}" for text, means in value.items()
        )
    if name == "index":
        return f"the rows are named by {value}" if value else "no column names the rows"
    if name == "drop":
        return f"leave out {', '.join([value] if isinstance(value, str) else value)}"
    if name == "skip":
        return f"the names of the columns stand in line {value + 1}"
    if name == "duplicates":
        return {"max": "count a pair once", "sum": "add its values up"}.get(value, str(value))
    if name == "header":
        return "the first line holds values" if value is False else "the first line holds names"
    return _PATTERNS.get(name, "{name}: {value}").format(name=name, value=value, **_pair(options))


_PATTERNS = {
    "row": "every line is one find: {row} × {column}",
    "column": "",
    "binarize": "values above {value} are ones",
    "layer": "read {value}",
    "encoding": "read it as {value}",
    "delimiter": "fields end at {value}",
    "value": "the values stand in {value}",
}


def _pair(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options.get(name, "?") for name in ("row", "column")}


def _mark(text: str) -> str:
    return repr(text) if text else "an empty cell"


_OTHERS = re.compile(r"\([01]: \w+, (0: absent|None: not observed)\)")
"""What else a mark may mean, after the meaning that is recommended."""


_MEANT = {1: "present", 0: "absent", None: "not observed"}


def _meanings(marks: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The three possible meanings of an unknown mark."""
    return [{"marks": {text: value}} for text in marks for value in _MEANT]
