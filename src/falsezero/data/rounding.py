"""Numbers as people read them: rounding never turns nearly certain into certain."""

from __future__ import annotations

__all__ = ["PROBABILITIES", "percent", "probability", "significant"]

PROBABILITIES = frozenset({"again", "expected", "noise", "posterior", "present", "probability"})
"""Columns of results that hold probabilities, estimated ones, so that none of them is 1."""


def probability(value: float) -> str:
    """A probability in two digits that never claims certainty.

    >>> probability(0.874), probability(0.9993), probability(0.001), probability(0.0)
    ('0.87', '0.99+', '<0.01', '<0.01')
    """
    if value > 0.99:
        return "0.99+"
    return "<0.01" if value < 0.01 else f"{value:.2f}"


def percent(share: float) -> str:
    """A share in per cent: all or nothing only where it is.

    >>> percent(0.25), percent(0.9993), percent(1.0), percent(0.004)
    ('25%', '>99%', '100%', '<1%')
    """
    if 0.99 < share < 1:
        return ">99%"
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def significant(value: float, digits: int, *, is_probability: bool = False) -> str:
    """So many significant digits, except that a number below one is not rounded up to it.

    >>> significant(0.87444, 4), significant(0.99999, 4), significant(1.0, 4)
    ('0.8744', '0.9999', '1')
    >>> significant(1.0, 4, is_probability=True), significant(2e-5, 4, is_probability=True)
    ('0.9999+', '2e-05')
    """
    text = f"{value:.{digits}g}"
    if text != "1" or (value >= 1 and not is_probability):
        return text
    return f"0.{'9' * digits}{'+' * is_probability}"
