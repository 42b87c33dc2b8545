"""An audit as one page: the answer first, then the list, then what it rests on."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import numpy as np

from falsezero.audit import Audit
from falsezero.audit.cells import most_surprising
from falsezero.audit.looks import LooksAudit
from falsezero.data.groups import RowGroups, row_groups
from falsezero.data.output import check_target, write_text
from falsezero.data.rounding import percent
from falsezero.data.tidy import Tidy
from falsezero.models.average.large import is_large
from falsezero.plot import AuditedTableDisplay, TrialDisplay
from falsezero.report.detection import detection_section
from falsezero.report.elements import (
    Column,
    bullet_list,
    data_table,
    document,
    download_link,
    figure,
    inline,
    paragraphs,
)
from falsezero.report.words import count

__all__ = ["audit_sections", "page_title", "subtitle", "write_audit_page"]

_LISTED = 300
_NEAREST = 10
"""Zeros that are listed where none is surprising."""
_MOST_DOWNLOADED = 20_000
_A_SIDE = 12

_SECTIONS = {
    "zeros": "Surprising zeros",
    "map": "The table",
    "trial": "The trial",
    "sides": "Rows and columns",
    "basis": "What this rests on",
}

_ASSUMPTIONS = (
    "Rows that resemble each other are expected to have ones in the same columns. Where they do "
    "not, or where what matters is not in the table, this page cannot know.",
    "`expected` is how often one look at a cell like this records a one, judged from all other "
    "cells. It is not the probability that the zero is false: something that is easily found, and "
    "is not there, leaves the same zero.",
    "Every zero counts as looked for and not found, except cells marked as not observed. Mark the "
    "cells that nobody looked at: leave them empty, or name the pairs that were looked at "
    "(`surveyed=`, `--surveyed`).",
)


_LIMIT_OF_TRIAL = (
    "The trial hides finds at random, or more of them in some rows. It shows how well lost finds "
    "are ranked. It cannot show how many were lost: the table would look the same if no zero at "
    "all were false."
)


def write_audit_page(
    audit: Audit, path: Any, *, title: str | None = None, groups: Any = None
) -> Path:
    """Write an audit as one self-contained page; see `Audit.to_html`."""
    target = check_target(path)
    title = title or page_title(audit)
    sections = _SECTIONS | ({"trial": "Detection"} if isinstance(audit, LooksAudit) else {})
    nav = "".join(f'<a href="#{name}">{text}</a>' for name, text in sections.items())
    body = (
        f"<main>\n<h1>{html.escape(title)}</h1>\n{subtitle(audit)}\n"
        f'<nav aria-label="Sections">{nav}</nav>\n{audit_sections(audit, groups=groups)}\n</main>'
    )
    write_text(target, document(title, body))
    return target


def page_title(audit: Audit) -> str:
    """The question, and the name of the table where it has one."""
    return f"Which zeros are real? {audit.table.name or ''}".strip()


def audit_sections(audit: Audit, *, inside: str = "", groups: Any = None) -> str:
    """Sections of a page: answer, zeros, table, trial, rows and columns, ones, `inside`, basis."""
    parts = [_answer(audit), _zeros(audit), _map(audit, groups), _trial(audit), _sides(audit)]
    if groups is not None:
        parts.append(_groups(audit, row_groups(groups, audit.table.rows)))
    return "\n".join([*parts, _ones(audit), inside, _basis(audit)])


def subtitle(audit: Audit) -> str:
    """The size of the table, in one line."""
    table = audit.table
    rows, columns = table.shape
    text = f"{rows:,} rows × {columns:,} columns, {table.n_ones:,} ones"
    if table.n_missing:
        text += f", {table.n_missing:,} cells not observed"
    return f'<p class="subtitle">{html.escape(text)}</p>'


def _answer(audit: Audit) -> str:
    """The headline is the number of surprising zeros; the trial follows."""
    head, *rest = audit.sentences_by_weight
    return f'<div class="answer"><p class="headline">{inline(head)}</p>{paragraphs(rest)}</div>'


def _zeros(audit: Audit) -> str:
    found = audit.zeros
    heading = '<h2 id="zeros">Surprising zeros</h2>'
    if not found:
        if not audit.is_informative or is_large(audit.table.shape):
            return f"{heading}<p>None is named.</p>"
        found = audit.ranked(_NEAREST)
        heading += "<p>None. These zeros come nearest to it.</p>"
    shown = found.head(_LISTED)
    columns = [Column("Row", shown["row"]), Column("Column", shown["column"])]
    for name, label in (("present", "Present"), ("again", "Again"), ("expected", "Expected")):
        if name in shown.columns:
            columns.append(Column(label, shown[name], "probability"))
    columns.append(Column("Why", shown["why"], "why"))
    return (
        f"{heading}<p>{inline(_legend(found, len(shown)))}</p>"
        f"{_tools('zero-list', len(shown), found)}{data_table(columns, 'zero-list')}"
    )


def _legend(found: Tidy, n_shown: int) -> str:
    """What the columns of the list mean."""
    text = "Best first" if n_shown == len(found) else f"The first {n_shown} of {len(found):,}"
    text += ". Expected: how often a look at a cell like this one records a one."
    if "again" in found.columns:
        text += " Again: the probability of a one if this very cell is looked at again."
    if "present" in found.columns:
        text += " Present: the probability that it is really there."
    return text + " Why: the reasons to expect a one."


def _tools(identifier: str, n_shown: int, found: Tidy) -> str:
    best = found.head(_MOST_DOWNLOADED)
    link = download_link("Download the list as CSV", f"{identifier}.csv", best.to_csv())
    if n_shown < 10:
        return f'<div class="tools">{link}</div>'
    return (
        f'<div class="tools"><label>Find <input type="search" data-filters="{identifier}" '
        f'aria-describedby="{identifier}-count" placeholder="a row or a column"></label>'
        f'<span id="{identifier}-count" role="status"></span>{link}</div>'
    )


def _map(audit: Audit, groups: Any) -> str:
    display = AuditedTableDisplay.from_audit(audit, groups=groups)
    caption = (
        "Left: the table as recorded, with surprising zeros in orange and surprising ones in "
        "purple. Right: what was expected. Rows and columns that resemble each other lie side by "
        f"side (first axis of correspondence analysis).{_drawn_part(display, audit)}"
    )
    return f'<h2 id="map">The table</h2>{figure(display, caption)}'


def _drawn_part(display: AuditedTableDisplay, audit: Audit) -> str:
    """Which rows and columns of a large table are drawn."""
    (drawn_rows, drawn_columns), (rows, columns) = display.recorded.shape, audit.table.shape
    parts = []
    if drawn_rows < rows:
        parts.append(f"{drawn_rows:,} of the {rows:,} rows, evenly spread")
    if drawn_columns < columns:
        parts.append(f"the {drawn_columns:,} most frequent of the {columns:,} columns")
    return f" Drawn are {' and '.join(parts)}." if parts else ""


def _trial(audit: Audit) -> str:
    if isinstance(audit, LooksAudit):
        return detection_section(audit)
    heading = '<h2 id="trial">The trial on this table</h2>'
    trial = audit.trial
    if trial is None:
        return f"{heading}<p>{inline(audit.why_untested)}</p>"
    if not trial.is_tested:
        return heading + paragraphs(trial.sentences)
    text = (
        "A tenth of the ones was turned into zeros, every method was fitted to what was left, and "
        "the zeros were put in order. Average precision is 1 where all hidden finds come first; "
        f"in random order it is about {trial.chance_precision:.2g}."
    )
    caption = (
        "Average precision of each method when every one is equally likely to be hidden. Blue: the "
        "average of all methods, which this page uses. Popularity: how common each column is."
    )
    picture = figure(TrialDisplay.from_trial(trial), caption, has_small_text=True)
    return f"{heading}<p>{inline(text)}</p>{picture}"


def _sides(audit: Audit) -> str:
    """Rows and columns in which surprising zeros gather."""
    halves = []
    columns = audit.columns.take(most_surprising(audit.columns)[:_A_SIDE])
    for title, table, label in (
        ("Rows with the most surprising zeros", audit.top_rows(_A_SIDE), "row"),
        ("Columns with the most surprising zeros", columns, "column"),
    ):
        halves.append(f"<div><h3>{title}</h3>{_side(table, label)}</div>")
    return (
        f'<h2 id="sides">Rows and columns</h2><p>{_side_legend(audit.columns)}</p>'
        f'<div class="columns">{"".join(halves)}</div>'
    )


def _side_legend(table: Tidy) -> str:
    """What the columns of the two tables mean."""
    if "present" in table.columns:
        text = "Missing: how many are there and were not found. Complete: the share that was found."
    elif "again" in table.columns:
        text = "Again: how many zeros would become ones if they were looked at again."
    else:
        text = "Expected: how many ones looks at cells like these zeros would record."
    if "came_back" in table.columns:
        text += " Came back: the share of a column's hidden finds among the zeros doubted most."
    return text


def _groups(audit: Audit, groups: RowGroups) -> str:
    """Groups of rows: what was found in them, and what is missing."""
    sizes, rows = groups.sizes, audit.rows
    label, name = _number_of_ones(rows)
    found, more, surprising = (groups.totals(rows[each]) for each in ("found", name, "surprising"))
    columns = [
        Column("Group", groups.names),
        Column("Rows", [f"{n:,}" for n in sizes], "number"),
        Column("Found a row", [f"{x:.1f}" for x in found / sizes], "number"),
        Column(f"{label} a row", [f"{x:.1f}" for x in more / sizes], "number"),
        Column("Surprising", [f"{int(n):,}" for n in surprising], "number"),
    ]
    return f"<h3>Groups of rows</h3>{data_table(columns)}"


def _number_of_ones(table: Tidy) -> tuple[str, str]:
    """Heading and name of the column that counts ones among the zeros, as far as known."""
    for label, name in (("Missing", "present"), ("Again", "again")):
        if name in table.columns:
            return label, name
    return "Expected", "expected"


def _side(table: Tidy, label: str) -> str:
    heading, name = _number_of_ones(table)
    columns = [
        Column(label.capitalize(), table[label]),
        Column("Found", [f"{int(n):,}" for n in table["found"]], "number"),
        Column(heading, [f"{x:.1f}" for x in table[name]], "number"),
        Column("Surprising", [f"{int(n):,}" for n in table["surprising"]], "number"),
    ]
    if "complete" in table.columns:
        columns.append(Column("Complete", [percent(x) for x in table["complete"]], "number"))
    if "came_back" in table.columns:
        shares = ["" if np.isnan(x) else percent(x) for x in table["came_back"]]
        columns.append(Column("Came back", shares, "number"))
    return data_table(columns)


def _ones(audit: Audit) -> str:
    found = audit.ones
    if not found:
        return ""
    shown = found.head(_A_SIDE * 2)
    columns = [Column("Row", shown["row"]), Column("Column", shown["column"])]
    columns.append(Column("Expected", shown["expected"], "probability"))
    columns.append(Column("In column", shown["rate"], "probability"))
    text = (
        f"{count(len(found), 'one was', 'ones were')} expected less than a tenth as often as "
        "their column has ones; the strangest first. Most are probably true but rare; some may be "
        "recording mistakes. In column: the share of ones in the whole column."
    )
    return f"<h2>Surprising ones</h2><p>{text}</p>{data_table(columns, 'ones')}"


def _basis(audit: Audit) -> str:
    points = list(_ASSUMPTIONS)
    if audit.trial is not None:
        points.append(_LIMIT_OF_TRIAL)
    if audit.detection is not None:
        points.append(f"`again` and `present` rest on {audit.detection.source}.")
    elif audit.calibration is None:
        points.append(
            "To turn surprise into a probability, state a loss rate (`loss=0.2`), give detection "
            "rates (`detection=`), look again at some rows (`fz.calibrate`), or pass repeated "
            "looks (`look=` in `fz.read`)."
        )
    return f'<h2 id="basis">What this rests on</h2>{bullet_list(points)}'
