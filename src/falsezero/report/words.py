"""The findings in sentences for a domain scientist."""

from __future__ import annotations

import re
from typing import Any

from falsezero.analysis.selection import edge_warning
from falsezero.data.rounding import percent
from falsezero.report.study import Study

__all__ = ["caveats", "count", "describe_components", "numbers"]


def count(n: int, one: str, more: str | None = None) -> str:
    """A number and its noun.

    >>> count(1, "zero"), count(4925, "zero")
    ('1 zero', '4,925 zeros')
    """
    return f"{n:,} {one if n == 1 else more or one + 's'}"


def numbers(components: Any) -> str:
    """Components by number, counted from one: "component 1", "components 1 and 4"."""
    names = [str(k + 1) for k in components]
    if len(names) == 1:
        return f"component {names[0]}"
    return f"components {', '.join(names[:-1])} and {names[-1]}"


def make_or_makes(components: Any) -> str:
    """The verb that goes with `numbers`."""
    return "makes" if len(components) == 1 else "make"


def describe_components(found: Study) -> str:
    """What the table consists of, according to the fit."""
    phantoms, (n_rows, n_columns) = found.phantoms, found.table.shape
    lines = [
        f"One model of the table ({count(n_rows, 'row')}, {count(n_columns, 'column')}, "
        f"{percent(found.table.density)} ones) with {count(len(phantoms.kinds), 'component')}: "
        "sets of columns that tend to be one together. Every row is a mixture of them."
    ]
    if len(phantoms.white):
        share = percent(float(phantoms.weights[phantoms.white].sum()))
        lines.append(
            f"{numbers(phantoms.white).capitalize()}, with {share} of all cells, "
            f"{make_or_makes(phantoms.white)} zeros in nearly every column, like omissions that "
            "affect all columns of a row alike."
        )
    if len(phantoms.black):
        lines.append(
            f"{numbers(phantoms.black).capitalize()} {make_or_makes(phantoms.black)} ones in "
            "nearly every column, like false entries."
        )
    return " ".join(lines)


def caveats(found: Study) -> list[str]:
    """What to be careful with in this fit; never empty."""
    lines = [
        *_about_restarts(found),
        *_about_phantoms(found),
        *_about_choice(found),
        *_about_size(found),
    ]
    return lines or ["Nothing stands out: random starts agree, no component is a borderline case."]


def _about_restarts(found: Study) -> list[str]:
    total, same = len(found.objectives), len(found.as_good)
    lines = []
    if not found.model.converged_:
        lines.append(
            "The fit stopped before it converged; allow more iterations (`--option max_iter=5000`)."
        )
    if total > 1 and same == 1:
        lines.append(
            f"Only one of {total} random starts reached this fit; the others ended lower. A "
            "better one may exist: run more restarts before you rely on its components."
        )
    elif total > 1 and same < total / 2:
        lines.append(f"Only {same} of {total} random starts reached a fit as good as this one.")
    return lines


def _about_phantoms(found: Study) -> list[str]:
    phantoms, lines = found.phantoms, []
    if not len(phantoms.content):
        lines.append("Every component looks like noise: the table may have no structure to find.")
    for k in found.undecided:
        called = "content" if phantoms.kinds[k] == "content" else "noise"
        lines.append(
            f"Component {k + 1} was classified as {called} by a narrow margin. In the explorer "
            "below, move its slider and watch the table."
        )
    return lines


def _about_choice(found: Study) -> list[str]:
    """A warning where the best number is the largest or smallest that was tried."""
    if found.selection is None:
        return []
    tried, best = found.selection.table["n_components"].tolist(), found.selection.best
    advice = edge_warning(best, tried)
    return [re.sub(r"n_components=range\((\d+), (\d+)\)", _as_option, advice)] if advice else []


def _as_option(found: re.Match[str]) -> str:
    """A range of numbers in the form of the command line."""
    return f"`-k {found[1]}-{int(found[2]) - 1}`"


def _about_size(found: Study) -> list[str]:
    n_rows, n_columns = found.table.shape
    n_components = len(found.phantoms.kinds)
    lines = []
    if n_rows < 10 * n_components or n_columns < 5 * n_components:
        lines.append(
            f"With {count(n_rows, 'row')} and {count(n_columns, 'column')}, "
            f"{count(n_components, 'component')} are many: single cells are poorly determined."
        )
    return lines
