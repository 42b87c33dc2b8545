"""What was found, in sentences for a domain scientist."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from falsezero.report.study import Study

__all__ = ["answers", "assumptions", "distrust", "varied"]


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


def answers(found: Study) -> dict[str, str]:
    """What a reader asks first, and the answers in a few sentences."""
    return {
        "Which zeros are doubtful?": _which(found),
        "Why?": _why(found),
        "How sure is that?": _how_sure(found),
        "What next?": _what_next(found),
    }


def _which(found: Study) -> str:
    table, total = found.table, len(found.absences)
    n_zeros = table.shape[0] * table.shape[1] - table.n_missing - table.n_ones
    if not total:
        return f"None of the {n_zeros:,}."
    first = found.absences.take(varied(found.absences["column"], 1, 4))
    named = "; ".join(
        f"{column} in row {row}" for row, column in zip(first["row"], first["column"], strict=True)
    )
    return (
        f"{total:,} of {n_zeros:,} ({percent(total / n_zeros)}): each is more probably an omission "
        f"than a true absence. Among the surest: {named}."
    )


def _why(found: Study) -> str:
    phantoms, (n_rows, n_columns) = found.phantoms, found.table.shape
    lines = [
        f"The table ({count(n_rows, 'row')}, {count(n_columns, 'column')}, "
        f"{percent(found.table.density)} ones) is described by "
        f"{count(len(phantoms.kinds), 'component')}: sets of columns that tend to be one together. "
        "Every row is a mixture of them."
    ]
    if len(phantoms.white):
        without = "Without it, the others expect ones where zeros were recorded."
        if not found.absences:
            without = "Yet without it, too, the others nowhere expect a one rather than a zero."
        share = percent(float(phantoms.weights[phantoms.white].sum()))
        lines.append(
            f"But {numbers(phantoms.white)}, behind {share} of all cells, {make(phantoms.white)} "
            "zeros in nearly every column. That is what omissions look like: things that were "
            f"there and not recorded. {without}"
        )
    if len(phantoms.black):
        lines.append(
            f"{numbers(phantoms.black).capitalize()} {make(phantoms.black)} ones in nearly every "
            "column. That is what false entries look like: things recorded that were not there. "
            f"Without it, {count(len(found.presences), 'one is', 'ones are')} doubtful."
        )
    if not len(phantoms.white) and not len(phantoms.black):
        lines.append("None of them makes nothing but zeros, as omissions would.")
    return " ".join(lines)


def _how_sure(found: Study) -> str:
    fits, total = len(found.as_good), len(found.absences)
    if not total:
        return (
            "This model gives no reason to doubt any zero. That does not prove that they are true: "
            "omissions that strike all columns and rows alike leave few traces in a small table."
        )
    lines = []
    if fits > 1:
        full = int((found.absences["votes"] == fits).sum())
        lines.append(
            f"The search was begun anew {len(found.restarts)} times, and {fits} of the fits are as "
            f"good as the best. All of these doubt {full:,} of the {total:,}: begin with those."
        )
    elif len(found.restarts) > 1:
        lines.append(
            f"The search was begun anew {len(found.restarts)} times and reached a fit as good as "
            "this one only once, so there is no second opinion on its cells."
        )
    if total > found.table.n_ones / 2:
        lines.append(
            f"Of a single cell, not very sure: {count(total, 'doubtful zero')} stand against "
            f"{count(found.table.n_ones, 'recorded one')}."
        )
    lines.append("The probabilities hold if the components are right, and no further.")
    return " ".join(lines)


def _what_next(found: Study) -> str:
    if not found.absences:
        return (
            "If you know of omissions, try more components (`-k`): noise often shows as a "
            "component of its own. In the explorer, set a component that you take for noise to 0 %."
        )
    return (
        "Look again, where you can, at the zeros listed below: they deserve a second look, not a "
        "correction. Read what to distrust. The explorer at the end gives the reason for any cell, "
        "and the whole list as a CSV file. Mark what was never looked for as not observed, and "
        "run this once more."
    )


def varied(columns: np.ndarray, a_column: int, most: int) -> list[int]:
    """Positions of the first entries, no column more than a few times.

    >>> varied(np.array(["a", "a", "b", "a", "c"]), 1, 2)
    [0, 2]
    """
    seen: Counter[Any] = Counter()
    chosen = []
    for i, column in enumerate(columns.tolist()):
        seen[column] += 1
        if seen[column] <= a_column:
            chosen.append(i)
    return chosen[:most]


def assumptions(found: Study) -> list[str]:
    """What the answer rests on."""
    lines = [
        "The only evidence is what occurs together. A zero is doubted because rows like it have a "
        "one there, not because anybody looked again. It is no substitute for a repeated survey.",
        "Omissions are taken to strike the columns of a row alike. Where some columns are "
        "recorded worse than others, part of that is mistaken for content.",
        "Rows are taken to be independent: two rows are alike only because they mix the same "
        "components, not because one was copied from the other.",
        "Every zero of the table counts as looked for and not found, except cells marked as not "
        "observed. Pairs that nobody looked at should be marked so: leave those cells empty, or "
        "name the pairs that were looked at (`--surveyed`).",
    ]
    if found.table.n_missing:
        lines.append("Cells not observed were left out; that they are missing says nothing itself.")
    return lines


def distrust(found: Study) -> list[str]:
    """What to be careful with, in this very fit; always says something."""
    lines = [
        *_about_restarts(found),
        *_about_phantoms(found),
        *_about_choice(found),
        *_about_size(found),
    ]
    return lines or ["Nothing stands out: random starts agree and no component is a border case."]


def _about_restarts(found: Study) -> list[str]:
    total, same = len(found.restarts), len(found.as_good)
    lines = []
    if not found.model.converged_:
        lines.append(
            "The fit had not settled when it was stopped; give it more iterations "
            "(`--option max_iter=5000`)."
        )
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
            "zeros. Trust those with full votes in the list above, and be slow with the rest."
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


def _about_choice(found: Study) -> list[str]:
    """A best number at the edge of what was tried says little about what lies beyond."""
    if found.selection is None:
        return []
    tried, best = np.asarray(found.selection.table["n_components"]), found.selection.best
    for edge, word in ((tried.max(), "largest"), (tried.min(), "smallest")):
        if best == edge and best > 2:
            wider = f"{max(1, best - 3)}-{best + 6}"
            return [
                f"The best number of components, {best}, is the {word} that was tried, so a better "
                f"one may lie beyond: try `-k {wider}`."
            ]
    return []


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
