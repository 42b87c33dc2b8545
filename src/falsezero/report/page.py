"""A table -> one HTML report for a domain scientist, with the explorer inside."""

from __future__ import annotations

import base64
import html
import io
import re
import string
import warnings
from collections import Counter
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from falsezero.analysis.selection import numbers_of, too_many
from falsezero.data.output import check_target, write_atomically
from falsezero.data.read import as_table
from falsezero.data.table import Table
from falsezero.data.tidy import Tidy
from falsezero.explorer.page import explorer_html
from falsezero.models.convex.aspect_bernoulli import AspectBernoulli
from falsezero.plot import (
    ComponentBarsDisplay,
    ComponentImagesDisplay,
    ModelChoiceDisplay,
    OrderedTableDisplay,
    PhantomWeightDisplay,
)
from falsezero.plot._canvas import shorten
from falsezero.plot._images import check_image_shape
from falsezero.report.study import Study, study
from falsezero.report.words import answers, assumptions, count, distrust, percent, varied

__all__ = ["write_report"]

_LISTED = 40
_A_COLUMN = 4
_SURE = 0.999
"""No fit of a table makes a cell certain, whatever rounding says."""

_MOST_EXPLORED = 10_000_000
_MOST_DRAWN = 4_000_000
"""Cells that the explorer, and the picture of the table, can hold; of more, rows are picked."""


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
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Path:
    """Write a report on a table: what it consists of, which zeros to doubt, what to distrust.

    Parameters
    ----------
    table : Table, array, sparse array or data frame of zeros and ones
    path : path of the HTML file to write
    n_components : int or list of int, optional
        How many components, or which numbers to choose from; 2 to 8 (or fewer, for a small table)
        by default.
    model : AspectBernoulli or BinaryICA, optional
        Settings of the model; it is copied, not fitted.
    criterion : {"cells", "rows", "aic", "bic"}
        How `falsezero.select` chooses the number of components.
    n_init : int, default=5
        Random starts whose answers are compared.
    title : str, optional
    image_shape : (height, width), optional
        For tables whose columns are pixels.
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
    found = study(
        labelled,
        AspectBernoulli(tol=1e-6) if model is None else clone(model),
        n_components=numbers,
        criterion=criterion,
        n_init=n_init,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    title = title or f"Which zeros are real? {labelled.name or ''}".strip()
    write_atomically(target, _html(found, title, image_shape).encode())
    return target


def _check(table: Table, numbers: list[int], image_shape: tuple[int, int] | None) -> None:
    """Refuse, before the work, a table on which there is nothing to report."""
    n_rows, n_columns = table.shape
    if min(n_rows, n_columns) < 2:
        raise ValueError(
            f"The table has {count(n_rows, 'row')} and {count(n_columns, 'column')}; a report "
            "needs two of each at least, for it is about what occurs together."
        )
    n_seen = n_rows * n_columns - table.n_missing
    if table.n_ones in (0, n_seen):
        only = "cells not observed" if not n_seen else "ones" if table.n_ones else "zeros"
        raise ValueError(
            f"The table holds nothing but {only}; a report needs ones and zeros to compare."
        )
    if too_many(max(numbers, default=1), table.shape):
        raise ValueError(too_many(max(numbers), table.shape))
    check_image_shape(image_shape, n_columns)


def _candidates(table: Table) -> range:
    """Two components and more, as far as the table can bear."""
    return range(2, min(8, max(2, min(table.shape) // 3)) + 1)


def _html(found: Study, title: str, image_shape: tuple[int, int] | None) -> str:
    template = resources.files("falsezero.report").joinpath("template.html").read_text("utf-8")
    sample = _some_rows(found.table, _MOST_EXPLORED)
    explorer = explorer_html(found.model, sample, title=title, image_shape=image_shape)
    frame = f'<iframe title="Explorer" srcdoc="{html.escape(explorer)}"></iframe>'
    if sample is not found.table:
        frame = f"<p>The explorer holds {count(len(sample), 'row')} of them.</p>{frame}"
    parts = [
        _questions(answers(found)),
        _absences(found),
        _presences(found),
        '<h2 id="distrust">What to distrust</h2>' + _list(distrust(found)),
        _components(found, image_shape),
        _noise(found),
        _ordered(found),
        _choice(found),
        '<h2 id="assumptions">What this rests on</h2>' + _list(assumptions(found)),
    ]
    return string.Template(template).substitute(
        title=html.escape(title), body="\n".join(parts), explorer=frame
    )


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
    best, name = found.selection.best, found.selection.criterion
    held_out = {
        "cells": "Some cells were hidden, and each model was asked to foretell them.",
        "rows": "Some rows were left out, and each model was asked how probable they are.",
    }.get(name, "The fit was weighed against the number of parameters it needs.")
    better, near = "lower is better", "Neighbours that did nearly as well are worth a look:"
    if name in ("cells", "rows"):
        better, near = "higher is better", "Where the error bars overlap, neighbours are as good:"
    text = (
        f"{held_out} {count(best, 'component')} did best. More than needed follow chance; fewer "
        f"blur what is different. {near} ask for one of them with `-k` and see whether the "
        "doubtful zeros stay the same."
    )
    picture = _figure(
        ModelChoiceDisplay.from_selection(found.selection),
        f"How well each number of components did ({better}); the choice, {best}, is ringed.",
    )
    return f"<h2>How many components</h2><p>{_text(text)}</p>{picture}"


def _components(found: Study, image_shape: tuple[int, int] | None) -> str:
    if image_shape is None:
        display: Any = ComponentBarsDisplay.from_estimator(found.model, found.table, n=10)
        text = (
            "The ten columns in which each component most often makes a one, and how often. "
            "Weight: the share of all cells that it is behind. Noise is not blue."
        )
    else:
        display = ComponentImagesDisplay.from_estimator(found.model, image_shape)
        text = (
            "Each component as an image, dark where it makes a one. Weight: the share of all cells "
            "that it is behind. Noise is framed."
        )
    return f"<h2>The components</h2>{_figure(display, text)}"


def _ordered(found: Study) -> str:
    sample = _some_rows(found.table, _MOST_DRAWN)
    display = OrderedTableDisplay.from_estimator(found.model, sample)
    part = "" if sample is found.table else f" ({count(len(sample), 'row')} of it)"
    doubted = (
        "Orange: zeros where a one is expected; purple: ones that are not expected"
        if len(found.phantoms.content) < len(found.phantoms.kinds)
        else "No component is noise here, so the coloured cells are exceptions, not doubtful"
    )
    text = (
        f"The table{part} with rows and columns sorted by their strongest component: as recorded, "
        f"as the components expect it without noise, and that rounded. {doubted}. A one that is "
        "not expected is most often a rare find."
    )
    return f"<h2>The table, sorted</h2>{_figure(display, text)}"


def _noise(found: Study) -> str:
    if not len(found.phantoms.white) and not len(found.phantoms.black):
        return ""
    display = PhantomWeightDisplay.from_estimator(found.model, found.table)
    said = ", ".join(
        f"{r:.2f} (component {k + 1})".replace("-", "\N{MINUS SIGN}")
        for k, r in display.correlations.items()
    )
    text = (
        "If a component stands for omissions, rows with few ones should owe more of their cells to "
        f"it. One dot a row; the correlation is {said}. Near \N{MINUS SIGN}1 speaks for omissions, "
        "near 0 against."
    )
    return f"<h2>Is it noise?</h2>{_figure(display, text)}"


def _absences(found: Study) -> str:
    head = '<h2 id="doubtful">Doubtful zeros</h2>'
    if not found.absences:
        return f"{head}<p>No zero is more probably an omission than true.</p>"
    total, fits = len(found.absences), len(found.as_good)
    shown = found.absences.take(varied(found.absences["column"], _A_COLUMN, _LISTED))
    text = (
        f"{count(total, 'zero is', 'zeros are')} more probably an omission than true"
        f"{f'; the most doubtful, at most {_A_COLUMN} a column' if total > len(shown) else ''}. "
        "<b>Probability</b>: how probable it is that the zero is wrong, because noise made it and "
        "the rest of its row speaks for a one. "
        "<b>Because of</b>: the component that expects the one"
        f"{'' if _is_numbered(found.table) else ', with its strongest columns'}."
    )
    votes = None
    if fits > 1:
        votes = [f"{v} of {fits}" for v in shown["votes"].tolist()]
        text += (
            f" <b>Votes</b>: of {fits} fits that describe the table equally well, how many doubt "
            "this zero."
        )
    return f"{head}<p>{text}</p>{_doubt_table(found, shown, votes)}{_most_missed(found)}"


def _most_missed(found: Study) -> str:
    """Where doubts gather: the columns with most doubtful zeros, beside what was recorded."""
    doubted = Counter(found.absences["column"].tolist()).most_common(10)
    ones = np.asarray((found.table.values == 1).sum(axis=0)).ravel()
    recorded = dict(zip(found.table.columns.tolist(), ones.tolist(), strict=True))
    rows = [(column, recorded[column], n) for column, n in doubted]
    names = ("Column", "Ones recorded", "Zeros doubted")
    return f"<h3>Columns with most doubtful zeros</h3>{_table(names, rows)}"


def _presences(found: Study) -> str:
    if not len(found.phantoms.black) or not found.presences:
        return ""
    shown = found.presences.head(_LISTED // 2)
    text = f"{count(len(found.presences), 'one')} would rather be zeros; the first of them:"
    return f"<h2>Doubtful ones</h2><p>{text}</p>{_doubt_table(found, shown, None)}"


def _doubt_table(found: Study, shown: Tidy, votes: list[str] | None) -> str:
    columns: list[tuple[str, Any]] = [("Row", shown["row"]), ("Column", shown["column"])]
    columns.append(("Probability", [percent(min(p, _SURE)) for p in shown["probability"].tolist()]))
    columns.append(("Because of", [_cause(found, text) for text in shown["causes"].tolist()]))
    if votes is not None:
        columns.append(("Votes", votes))
    names = [name for name, _ in columns]
    return _table(names, zip(*[values for _, values in columns], strict=True))


def _table(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table}</div>'


def _cause(found: Study, text: str) -> str:
    """The first cause of a cell, with what its component is about."""
    number, _, _ = text.partition(" ")
    if not number:
        return ""
    k = int(number)
    if _is_numbered(found.table):
        return f"component {k + 1}"
    best = np.argsort(-found.model.components_[k], kind="stable")[:3]
    return f"component {k + 1}: {', '.join(shorten(found.table.columns[i], 32) for i in best)}"


def _is_numbered(table: Table) -> bool:
    return table.columns.dtype.kind in "iu"


def _questions(said: dict[str, str]) -> str:
    pairs = "".join(f"<dt>{_text(q)}</dt><dd>{_text(a)}</dd>" for q, a in said.items())
    return f'<dl class="answer">{pairs}</dl>'


def _text(line: str) -> str:
    """Plain text as HTML; what stands between backticks is to be typed."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(line))


def _list(lines: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{_text(line)}</li>" for line in lines) + "</ul>"


def _figure(display: Any, caption: str) -> str:
    stream = io.BytesIO()
    with warnings.catch_warnings():
        # A script that the picture's font lacks shows as boxes there, and as itself all around.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        display.figure_.savefig(stream, format="png", dpi=110)
    display.close()
    data = base64.b64encode(stream.getvalue()).decode()
    text = html.escape(caption)
    image = f'<img alt="{text}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{text}</figcaption></figure>"
