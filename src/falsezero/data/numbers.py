"""Checks of whole numbers that a user gives, such as how many rows to draw."""

from __future__ import annotations

import operator
from typing import Any

__all__ = ["checked_count"]


def checked_count(value: Any, name: str, least: int = 0) -> int:
    """A whole number that is not below `least`, or a sentence that says what was given.

    >>> checked_count(3, "n_samples")
    3
    >>> checked_count(-1, "top", least=1)
    Traceback (most recent call last):
    ValueError: top=-1 was given, but top= needs a whole number from 1 on.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ValueError(
            f"{name}={value!r} was given, but {name}= needs a whole number from {least} on."
        )
    return number
