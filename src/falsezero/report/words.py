"""What was found, in sentences for a domain scientist."""

from __future__ import annotations

from typing import Any

import numpy as np

from falsezero.report.study import Study

__all__ = ["assumptions", "distrust", "summary"]


def count(n: int, one: str, more: str | None = None) -> str:
    """A number and its noun.

    >>> count(1, "zero"), count(4925, "zero")
    ('1 zero', '4,925 zeros')
    """
    return f"{n:,} {one if n == 1 else more or one + 's'}"


def percent(x: float) -> str:
    """A share in words: never 0 % or 100 % where it is not.

    >>> percent(0.004), percent(0.5), percent(0.999)
    ('under 1 %', '50 %', 'over 99 %')
    """
    if 0 < x < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < x < 1 else f"{x:.0%}".replace("%", " %")


def numbers(components: Any) -> str:
    """Components by number, counted from one: "component 1", "components 1 and 4"."""
    names = [str(k + 1) for k in components]
    if len(names) == 1:
        return f"component {names[0]}"
    return f"components {', '.join(names[:-1])} and {names[-1]}"


def make(components: Any) -> str:
    """The verb that goes with `numbers`."""
    return "makes" if len(components) == 1 else "make"


def summary(found: Study) -> list[str]:
    """The answer, in a few sentences."""
    table, phantoms = found.table, found.phantoms
    lines = [
        f"The table has {count(table.shape[0], 'row')} and {count(table.shape[1], 'column')}; "
        f"{percent(table.density)} of the cells that were observed are ones."
    ]
    if table.n_missing:
        lines.append(f"{count(table.n_missing, 'cell was', 'cells were')} not observed.")
    lines.append(
        f"It is described by {count(len(phantoms.kinds), 'component')}: sets of columns that tend "
        "to be one together. Every row is a mixture of them."
    )
    if len(phantoms.white):
        share = percent(float(phantoms.weights[phantoms.white].sum()))
        lines.append(
            f"Of these, {numbers(phantoms.white)} (weight {share}) {make(phantoms.white)} zeros in "
            "nearly every column. That is what omissions look like: things that were there and not "
            f"recorded. Without it, {count(len(found.absences), 'zero is', 'zeros are')} doubtful: "
            "more probably an omission than a true absence."
        )
    if len(phantoms.black):
        lines.append(
            f"{numbers(phantoms.black).capitalize()} {make(phantoms.black)} ones in nearly every "
            "column. That is what additions look like: things recorded that were not there. "
            f"Without it, {count(len(found.presences), 'one is', 'ones are')} doubtful."
        )
    if not len(phantoms.white) and not len(phantoms.black):
        lines.append(
            "None of them looks like noise, so this model gives no reason to doubt any zero. That "
            "does not prove that the zeros are true: omissions that strike all columns and rows "
            "alike leave few traces in a small table."
        )
    return lines


def assumptions(found: Study) -> list[str]:
    """What the answer rests on."""
    lines = [
        "The only evidence is what occurs together. A zero is doubted because rows like it have a "
        "one there, not because anybody looked again. It is no substitute for a repeated survey.",
        "Omissions are taken to strike the columns of a row alike. Where some columns are "
        "recorded worse than others, part of that is mistaken for content.",
        "Rows are taken to be independent of each other, given their mixture.",
        "Every zero of the table counts as looked for and not found, except cells marked as not "
        "observed. Pairs that nobody surveyed should be marked so (`surveyed=` when reading).",
    ]
    if found.table.n_missing:
        lines.append("Cells not observed were left out; that they are missing says nothing itself.")
    return lines


def distrust(found: Study) -> list[str]:
    """What to be careful with, in this very fit; always says something."""
    lines = [*_about_restarts(found), *_about_phantoms(found), *_about_size(found)]
    return lines or ["Nothing stands out: restarts agree and no component is a border case."]


def _about_restarts(found: Study) -> list[str]:
    total, same = len(found.restarts), len(found.as_good)
    lines = []
    if not found.model.converged_:
        lines.append("The fit had not settled when it was stopped; raise max_iter.")
    if total > 1 and same == 1:
        lines.append(
            f"Only one of {total} random starts reached this fit; the others ended lower. A "
            "better one may exist: run more restarts before you rely on single cells."
        )
    elif total > 1 and same < total / 2:
        lines.append(f"Only {same} of {total} random starts reached a fit as good as this one.")
    if np.isfinite(found.agreement) and found.agreement < 0.9:
        lines.append(
            f"Fits of the same quality agree on only {percent(found.agreement)} of the doubtful "
            "zeros. Trust those with full votes in the list below, and be slow with the rest."
        )
    return lines


def _about_phantoms(found: Study) -> list[str]:
    phantoms, lines = found.phantoms, []
    if not len(phantoms.content):
        lines.append("Every component looks like noise: the table may have no structure to find.")
    for k in found.undecided:
        called = "content" if phantoms.kinds[k] == "content" else "noise"
        lines.append(
            f"Component {k + 1} was called {called} by a narrow margin. In the explorer below, "
            "move its slider and see whether the doubtful zeros change."
        )
    return lines


def _about_size(found: Study) -> list[str]:
    n_rows, n_columns = found.table.shape
    n_components = len(found.phantoms.kinds)
    lines = []
    if n_rows < 10 * n_components or n_columns < 5 * n_components:
        lines.append(
            f"With {count(n_rows, 'row')} and {count(n_columns, 'column')}, "
            f"{count(n_components, 'component')} are many: single cells are poorly determined."
        )
    if len(found.absences) > found.table.n_ones:
        lines.append(
            f"There are more doubtful zeros ({len(found.absences):,}) than recorded ones "
            f"({found.table.n_ones:,}): most of what the table should hold would be missing. "
            "Read single cells as hints."
        )
    return lines
