"""The report on a table: its audit, a look inside one model, and the explorer."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from falsezero.analysis.criteria import criterion_named
from falsezero.analysis.selection import numbers_of, size_warning
from falsezero.analysis.surprising import surprising_zeros
from falsezero.audit.audit import Audit
from falsezero.audit.run import audit
from falsezero.data.groups import RowGroups, row_groups
from falsezero.data.output import check_target, write_text
from falsezero.data.read import as_table
from falsezero.data.table import Table
from falsezero.explorer.page import explorer_html
from falsezero.models.convex.aspect_bernoulli import AspectBernoulli
from falsezero.plot import (
    ComponentBarsDisplay,
    ComponentImagesDisplay,
    ModelChoiceDisplay,
    PhantomWeightDisplay,
)
from falsezero.plot._images import check_image_shape
from falsezero.report.audit_page import audit_sections, page_title, subtitle
from falsezero.report.elements import bullet_list, document, figure, inline
from falsezero.report.study import Study, study
from falsezero.report.words import caveats, count, describe_components

__all__ = ["write_report"]

_MOST_EXPLORED = 10_000_000
"""Most cells in the explorer; of larger tables, evenly spread rows are shown."""

_SECTIONS = {
    "zeros": "Surprising zeros",
    "trial": "The trial",
    "inside": "Look inside",
    "basis": "What this rests on",
    "explorer": "Explorer",
}


_PENALISED = "The fit was weighed against the number of parameters it needs."
_JUDGED_BY = {
    "cells": "Some cells were hidden, and each model was asked to predict them.",
    "rows": "Some rows were left out, and each model was asked how probable they are.",
    "aic": _PENALISED,
    "bic": _PENALISED,
}


def write_report(
    table: Any,
    path: Any,
    *,
    n_components: Any = None,
    model: Any = None,
    criterion: str = "cells",
    n_init: int = 5,
    title: str | None = None,
    image_shape: tuple[int, int] | None = None,
    groups: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Path:
    """Write a report on a table: its audit, a look inside one model, and the explorer.

    Parameters
    ----------
    table : Table, array, sparse array or data frame of zeros and ones
    path : path of the HTML file to write
    n_components : int or list of int, optional
        Number of components, or numbers to choose from; by default 1 to 8, fewer for small tables.
    model : AspectBernoulli or BinaryICA, optional
        Settings of the model; it is copied, not fitted.
    criterion : str, default="cells"
        How the number of components is chosen; as for `falsezero.select`.
    n_init : int, default=5
        Number of random starts, which are compared.
    title : str, optional
    image_shape : (height, width), optional
        For tables whose columns are pixels.
    groups : sequence, dict, Series or path, optional
        A group for each row, as in `explore`.
    random_state, n_jobs, verbose
        As for `falsezero.select`.

    Returns
    -------
    Path of the file written

    Examples
    --------
    >>> import tempfile, falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(60, 12, 2, random_state=0).table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(table, f"{folder}/report.html", n_components=2, n_init=2).name
    'report.html'
    """
    target = check_target(path)
    labelled = table if isinstance(table, Table) else as_table(table)
    numbers = _candidates(labelled) if n_components is None else n_components
    numbers = numbers_of(numbers)
    _check(labelled, numbers, image_shape)
    known = None if groups is None else row_groups(groups, labelled.rows)
    found = study(
        labelled,
        AspectBernoulli() if model is None else clone(model),
        n_components=numbers,
        criterion=criterion,
        n_init=n_init,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    answer = audit(labelled, random_state=random_state, verbose=verbose)
    page = _html(answer, found, title or page_title(answer), image_shape, known)
    write_text(target, page)
    return target


def _check(table: Table, numbers: list[int], image_shape: tuple[int, int] | None) -> None:
    """Refuse a table without anything to report before any work is done."""
    n_rows, n_columns = table.shape
    if min(n_rows, n_columns) < 2:
        raise ValueError(
            f"The table has {count(n_rows, 'row')} and {count(n_columns, 'column')}; a report "
            "needs at least two of each, because it is about what occurs together."
        )
    n_seen = n_rows * n_columns - table.n_missing
    if table.n_ones in (0, n_seen):
        only = "cells not observed" if not n_seen else "ones" if table.n_ones else "zeros"
        raise ValueError(f"The table holds only {only}; a report needs both ones and zeros.")
    if size_warning(max(numbers, default=1), table.shape):
        raise ValueError(size_warning(max(numbers), table.shape))
    check_image_shape(image_shape, n_columns)


def _candidates(table: Table) -> range:
    """Numbers of components to try: from one to as many as the table supports."""
    return range(1, min(8, max(2, min(table.shape) // 3)) + 1)


def _html(
    answer: Any,
    found: Study,
    title: str,
    image_shape: tuple[int, int] | None,
    groups: RowGroups | None,
) -> str:
    sample = _some_rows(found.table, _MOST_EXPLORED)
    shown = groups
    if groups is not None:
        shown = groups.of_rows(np.array([found.table.row(label) for label in sample.rows]))
    explorer = explorer_html(
        found.model, sample, title=title, image_shape=image_shape, groups=shown
    )
    nav = "".join(f'<a href="#{name}">{text}</a>' for name, text in _SECTIONS.items())
    body = (
        f"<main>\n<h1>{html.escape(title)}</h1>\n{subtitle(answer)}\n"
        f'<nav aria-label="Sections">{nav}</nav>\n'
        f"{audit_sections(answer, inside=_inside(found, image_shape), groups=groups)}\n</main>\n"
        f"{_explorer(explorer, found, sample, answer)}"
    )
    return document(title, body, inner_pages=[explorer])


def _explorer(page: str, found: Study, sample: Table, answer: Audit) -> str:
    """The explorer in a frame, at the page's full width."""
    part = "" if sample is found.table else f" It holds {count(len(sample), 'row')} of the table."
    return (
        '<section id="explorer" class="wide" aria-label="Explorer"><h2>Explorer</h2>'
        "<p>Move a slider to remove a component or bring it back, and watch the table follow. "
        f"Click a cell to see which components support it.{part}</p>"
        f"<p>{_two_counts(found, sample, answer)}</p>"
        f'<iframe title="Explorer" srcdoc="{html.escape(page)}"></iframe></section>'
    )


def _two_counts(found: Study, sample: Table, answer: Audit) -> str:
    """Why the explorer counts other surprising zeros than the headline."""
    here = len(surprising_zeros(found.model, sample))
    n_components = count(found.model.n_components, "component")
    advice = ""
    if answer.trial is not None:
        advice = " Where the two differ, rely on the audit: the trial tested it."
    return (
        f"The explorer judges every cell by one model of {n_components}, which finds "
        f"{count(here, 'surprising zero')}; components recognised as noise are left out at first, "
        "and the number follows the sliders. The audit above averages many models and names "
        f"{len(answer.zeros):,}.{advice}"
    )


def _inside(found: Study, image_shape: tuple[int, int] | None) -> str:
    """The section about one model of the table."""
    parts = [
        f'<h2 id="inside">Look inside</h2><p>{inline(describe_components(found))}</p>',
        _components(found, image_shape),
        _noise(found),
        _choice(found),
        "<h3>What to distrust in it</h3>" + bullet_list(caveats(found)),
    ]
    return "\n".join(parts)


def _some_rows(table: Table, most_cells: int) -> Table:
    """The table, or evenly spread rows of it where it is too large to be drawn."""
    n_rows = max(1, most_cells // table.shape[1])
    if table.shape[0] <= n_rows:
        return table
    picked = np.zeros(table.shape[0], dtype=bool)
    picked[np.linspace(0, table.shape[0] - 1, n_rows).astype(int)] = True
    return table.select(rows=picked)


def _choice(found: Study) -> str:
    if found.selection is None:
        return ""
    best, criterion = found.selection.best, criterion_named(found.selection.criterion)
    near = "Numbers that did nearly as well are worth a look:"
    if criterion.hides_parts:
        near = "Where error bars overlap, other numbers are as good:"
    how = _JUDGED_BY.get(criterion.name, f"Models were ranked by {criterion.label}.")
    text = (
        f"{how} {count(best, 'component')} did best. Too many components follow chance, too "
        f"few blur real differences. {near} choose one of them with `-k`."
    )
    picture = figure(
        ModelChoiceDisplay.from_selection(found.selection),
        f"How well each number of components did ({criterion.direction} is better); the chosen "
        f"one, {best}, is circled.",
    )
    return f"<h3>How many components</h3><p>{inline(text)}</p>{picture}"


def _components(found: Study, image_shape: tuple[int, int] | None) -> str:
    if image_shape is None:
        display: Any = ComponentBarsDisplay.from_estimator(found.model, found.table, n=10)
        text = (
            "The ten columns in which each component most often makes a one, and how often. "
            "Weight: the share of all cells that it explains. Noise is not blue."
        )
    else:
        display = ComponentImagesDisplay.from_estimator(found.model, image_shape)
        text = (
            "Each component as an image, dark where it makes a one. Weight: the share of all cells "
            "that it explains. Noise is framed."
        )
    return figure(display, text)


def _noise(found: Study) -> str:
    if not len(found.phantoms.white) and not len(found.phantoms.black):
        return ""
    display = PhantomWeightDisplay.from_estimator(found.model, found.table)
    correlations = ", ".join(
        f"{r:.2f} (component {k + 1})".replace("-", "\N{MINUS SIGN}")
        for k, r in display.correlations.items()
    )
    text = (
        "If a component stands for omissions, rows with few ones should owe more of their cells to "
        f"it. One dot per row; the correlation is {correlations}. A value near \N{MINUS SIGN}1 "
        "suggests omissions, a value near 0 does not."
    )
    return f"<h3>Is it noise?</h3>{figure(display, text)}"
