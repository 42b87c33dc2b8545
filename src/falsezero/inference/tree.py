"""Arithmetic on nested NamedTuples of arrays, the form of states and statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def add(left: Any, right: Any) -> Any:
    """Add two statistics field by field.

    >>> from typing import NamedTuple
    >>> class Stats(NamedTuple):
    ...     count: int
    ...     total: float
    >>> add(Stats(1, 2.0), Stats(3, 4.0))
    Stats(count=4, total=6.0)
    """
    return type(left)(*(None if a is None else a + b for a, b in zip(left, right, strict=True)))


def total(statistics: Sequence[Any]) -> Any:
    """Sum of statistics, neighbours first, then neighbouring pairs, and so on.

    Any cut into groups of 2, 4, 8, ... gives the same bits: the sum of their sums.
    """
    sums = list(statistics)
    while len(sums) > 1:
        pairs = [add(*pair) for pair in zip(sums[::2], sums[1::2], strict=False)]
        sums = pairs + sums[2 * len(pairs) :]
    return sums[0]


def flatten(node: Any) -> list[np.ndarray]:
    """The arrays of a nested structure of tuples and lists, depth first; None is skipped."""
    if node is None:
        return []
    if isinstance(node, (tuple, list)):
        return [leaf for child in node for leaf in flatten(child)]
    return [np.asarray(node)]


def unflatten(template: Any, leaves: list[np.ndarray]) -> Any:
    """Put arrays from `flatten` back into a structure like `template`."""
    return _rebuild(template, iter(leaves))


def _rebuild(template: Any, leaves: Any) -> Any:
    if template is None:
        return None
    if isinstance(template, tuple) and hasattr(template, "_fields"):
        return type(template)(*(_rebuild(child, leaves) for child in template))
    if isinstance(template, (tuple, list)):
        return type(template)(_rebuild(child, leaves) for child in template)
    leaf = next(leaves)
    return leaf if isinstance(template, np.ndarray) else type(template)(leaf.item())
