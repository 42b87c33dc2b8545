"""How a model's table was read: stored in the model file, and used for later tables."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

__all__ = ["recall", "remember"]

_DEFAULTS: dict[str, Any] = {"skip": 0, "duplicates": "error", "encoding": "utf-8"}
_OF_VALUES = ("binarize", "marks")
"""What values mean; everything else says where they stand in a file."""
_NEVER = ("max_gigabytes",)


def remember(model: Any, path: str, layout: dict[str, Any]) -> None:
    """Store in a fitted model how its table was read; `save` writes it with the rest."""
    kept: dict[str, Any] = {"file": Path(path).name}
    for name, value in _given(layout).items():
        kept[name] = list(value) if isinstance(value, tuple) else value
    model.reading_ = kept


def recall(model: Any, path: str, layout: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Ways to read a table for a model, most likely first, each with a note for the user.

    Options that were given are obeyed. If none describes the layout of the file, the layout of the
    model's own table is tried first; if none describes values, they are read as in that table.
    """
    known = dict(vars(model).get("reading_", {}))
    known.pop("file", None)
    given = _given(layout)
    if "surveyed" in known and Path(path).name != model.reading_["file"]:
        # A list of what was surveyed belongs to one table.
        known.pop("surveyed")
    of_values = {k: v for k, v in known.items() if k in _OF_VALUES and k not in given}
    placed = {k: v for k, v in known.items() if k not in _OF_VALUES}
    ways = []
    if placed and not any(name not in _OF_VALUES for name in given):
        ways.append({**placed, **of_values})
    ways.append(of_values)
    differing = {k: v for k, v in known.items() if k in given and _plain(given[k]) != _plain(v)}
    return [({**layout, **way}, _notice(path, way, differing)) for way in ways]


def _given(layout: dict[str, Any]) -> dict[str, Any]:
    """Options that differ from their defaults."""
    return {
        name: value
        for name, value in layout.items()
        if name not in _NEVER and not _is_default(name, value)
    }


def _is_default(name: str, value: Any) -> bool:
    # A threshold of 0 is a setting, whereas skipping 0 lines is not.
    is_unset = value is None or value is False or value == () or value == {}
    return is_unset or value == _DEFAULTS.get(name)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _notice(path: str, way: dict[str, Any], differing: dict[str, Any]) -> str:
    sentences = []
    if way:
        sentences.append(f"Read {path} as the model's own table: {_options(way)}.")
    if differing:
        sentences.append(f"Note: the model's own table was read with {_options(differing)}.")
    return " ".join(sentences)


def _options(settings: dict[str, Any]) -> str:
    """Settings as the shell takes them.

    >>> _options({"binarize": 0.0, "marks": {"P": 1.0, "-": None}, "no_index": True})
    '--binarize 0 --mark P=1 --mark -=NA --no-index'
    """
    words = []
    for name, value in settings.items():
        option = "--mark" if name == "marks" else f"--{name.replace('_', '-')}"
        if isinstance(value, dict):
            meanings = {k: "NA" if v is None else f"{v:g}" for k, v in value.items()}
            words += [f"{option} {shlex.quote(f'{k}={v}')}" for k, v in meanings.items()]
        elif isinstance(value, list):
            words += [f"{option} {shlex.quote(str(item))}" for item in value]
        elif value is True:
            words.append(option)
        else:
            shown = f"{value:g}" if isinstance(value, float) else shlex.quote(str(value))
            words.append(f"{option} {shown}")
    return " ".join(words)
