"""What a paper shows and says: the list that its report has to go through."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["NOT_KNOWN", "Item"]

NOT_KNOWN = "not known"


class Item(NamedTuple):
    """A table, figure or claim of a paper.

    >>> Item("Figure 1", "section 3.1.1", "the table of fossils").untested
    ''
    """

    name: str
    """What claims, figures and tables of a report refer to."""
    where: str
    """Section or slide of the paper."""
    what: str
    untested: str = ""
    """Why it cannot be tested here; empty where a report has to show or judge it."""
    doubt: str = NOT_KNOWN
    """Why we may find something else: our reading, the data at hand, the paper's contradiction."""
    full_only: bool = False
    """Whether the quick form leaves it out."""
