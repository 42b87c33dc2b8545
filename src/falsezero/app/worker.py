"""The process that reads and audits a table, so that the page stays responsive and can cancel.

Tasks come in as lines of JSON on standard input, answers go out as lines of JSON on standard
output. When standard input ends, the server is gone, and the process exits.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from falsezero.app.options import FILES, audit_options, read_options
from falsezero.app.remedies import remedies, without_remedies
from falsezero.data.errors import as_sentence

__all__ = ["main"]

_LINES, _NAMES, _NAME, _FIELD = 8, 60, 500, 40
_ROWS, _COLUMNS = 12, 24
_MOST_CELLS = 5_000_000
"""Cells up to which whole tables are offered as files."""
_AUDITED_WHOLE = 4e7
"""Cells above which only a part of a table is audited, to limit the waiting time."""

_AFTERWARDS = 2
"""Stages after the last model: the page and the tables."""

_IN, _OUT = Path("..", "in"), Path("..", "out")
"""Where files are dropped in and results are written, seen from the folder to work in."""

Send = Callable[[dict[str, Any]], None]


def look_at(task: dict[str, Any], send: Send) -> dict[str, Any]:
    """The first lines of a file, and the table read from it with the given or guessed options."""
    from falsezero.data.errors import DataError
    from falsezero.data.guess import attempt, guess_layout, preview

    send({"stage": f"Reading {task['file']}"})
    path = _IN / task["file"]
    found = guess_layout(path) if task["options"] is None else attempt(path, _options(task))
    placed = ("skip", "delimiter", "encoding", "layer", "header")
    asked = {name: value for name, value in found.options.items() if name in placed}
    try:
        names, lines = preview(path, _LINES, **asked)
    except DataError:
        names, lines = [], []
    problem = None if found.problem is None else sentence(found.problem)
    notes = [sentence(note) for note in found.warnings]
    ways = [each for text in ([problem] if problem else notes) for each in remedies(text)]
    return {
        "names": [name[:_NAME] for name in names[:_NAMES]],
        "n_names": len(names),
        "lines": [[field[:_FIELD] for field in line[:_NAMES]] for line in lines],
        "options": found.options if task["options"] is None else task["options"],
        "named_by": _label_column(names, found),
        "problem": problem,
        "shown": without_remedies(problem) if problem and ways else problem,
        "notes": [without_remedies(note) for note in notes] if ways and not problem else notes,
        "remedies": ways,
        "table": None if found.table is None else _corner(found.table, task),
    }


def _label_column(names: list[str], found: Any) -> str | None:
    """The column of a wide file that names its rows, which leaves one column less of values."""
    if found.table is None or "row" in found.options or "look" in found.options:
        return None
    kept = [name for name in names if name not in found.options.get("drop", ())]
    if len(kept) != found.table.shape[1] + 1:
        return None
    return str(found.options.get("index") or kept[0])


def sentence(problem: object) -> str:
    """A message of the library, with files under the names that the user gave them."""
    return as_sentence(problem).replace(f"{_IN}{os.sep}", "")


def _options(task: dict[str, Any]) -> dict[str, Any]:
    """Options for `falsezero.read`, with files where they are."""
    files = {name: str(_IN / name) for name in task["files"]}
    options = read_options(task["options"], task["files"])
    return {name: files[value] if name in FILES else value for name, value in options.items()}


def _turned(table: Any, task: dict[str, Any]) -> Any:
    """The table with rows and columns exchanged, if that was asked for."""
    from falsezero.data.errors import DataError
    from falsezero.data.looks import Looks

    if not task["transpose"]:
        return table
    if isinstance(table, Looks):
        raise DataError(
            "Rows and columns of repeated looks cannot be exchanged; choose them again."
        )
    return table.T


def _corner(table: Any, task: dict[str, Any]) -> dict[str, Any]:
    from falsezero.data.looks import Looks

    summary = repr(table).split("\n")[0].split(": ", 1)[-1]
    table = table.union() if isinstance(table, Looks) else _turned(table, task)
    corner = table.values[:_ROWS, :_COLUMNS].toarray()
    return {
        "summary": summary,
        "rows": [str(label)[:_FIELD] for label in table.rows[:_ROWS].tolist()],
        "columns": [str(label)[:_FIELD] for label in table.columns[:_COLUMNS].tolist()],
        "cells": ["".join("?" if v != v else "1" if v else "0" for v in row) for row in corner],
        "more_rows": max(0, table.shape[0] - _ROWS),
        "more_columns": max(0, table.shape[1] - _COLUMNS),
    }


def audit_file(task: dict[str, Any], send: Send) -> dict[str, Any]:
    """Audit a file and write the page and the tables into the folder of results."""
    import falsezero as fz
    from falsezero.data.part import describe_part, part_of
    from falsezero.inference.progress import reporting_to

    def report(stage: str, number: int, total: int) -> None:
        stage = f"Fitting model {number} of {total}: {stage}"
        send({"stage": stage, "done": number - 1, "total": total + _AFTERWARDS})

    title = Path(task["title"]).name.split(".")[0] or "table"
    send({"stage": f"Reading {task['file']}"})
    whole = _turned(fz.read(_IN / task["file"], name=title, **_options(task)), task)
    table = part_of(whole, _AUDITED_WHOLE)
    note = "" if table is whole else describe_part(table, whole)
    send({"stage": "Preparing (compiling, the first time)"})
    with reporting_to(report):
        found = fz.audit(table, **audit_options(task["audit"]), random_state=0, verbose=0)
        send({"stage": "Listing the zeros and drawing the page"})
        found.to_html(_OUT / "audit.html")
    send({"stage": "Writing tables"})
    headline = " ".join(filter(None, [found.sentences_by_weight[0], note]))
    return {"headline": headline, "files": _write_tables(found, _OUT)}


def _write_tables(found: Any, out: Path) -> list[dict[str, Any]]:
    """The list of zeros, the list of ones, and where the table is not too large, whole tables."""
    from falsezero.data.output import write_text
    from falsezero.data.plain_text import separated
    from falsezero.io.tables import table_lines

    title = (
        f"The {len(found.zeros):,} surprising zeros" if found.zeros else "An empty list of zeros"
    )
    files = [("zeros.csv", title, found.zeros.to_csv())]
    if found.ones:
        title = f"The {len(found.ones):,} surprising ones"
        files.append(("ones.csv", title, found.ones.to_csv()))
    if found.table.shape[0] * found.table.shape[1] <= _MOST_CELLS:
        expected = found.expected.to_table()
        if found.zeros:
            words = "Your table with the surprising zeros as ones"
            files.append(("filled.csv", words, separated(table_lines(_filled(found)))))
        words = "How often a one is expected, cell by cell"
        files.append(("expected.csv", words, separated(table_lines(expected))))
    for name, _, text in files:
        write_text(out / name, text)
    return [
        {"name": name, "words": words, "bytes": (out / name).stat().st_size}
        for name, words, _ in files
    ]


def _filled(found: Any) -> Any:
    """The table as recorded, its surprising zeros turned into ones."""
    values = found.table.values.tolil(copy=True)
    rows, columns = found.table._row_lookup, found.table._column_lookup
    for row, column in zip(
        found.zeros["row"].tolist(), found.zeros["column"].tolist(), strict=True
    ):
        values[rows[row], columns[column]] = 1.0
    return found.table.with_values(values.tocsr())


TASKS: dict[str, Callable[[dict[str, Any], Send], dict[str, Any]]] = {
    "look": look_at,
    "audit": audit_file,
}


def main() -> None:
    """Work on one task after the other."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Output of libraries must not mix with the answers.
    os.dup2(2, 1)
    tasks = _tasks()
    while True:
        task = tasks.get()

        def send(message: dict[str, Any], number: int = task["number"]) -> None:
            answers.write(json.dumps({**message, "number": number}) + "\n")
            answers.flush()

        try:
            send({"result": TASKS[task["do"]](task, send)})
        except BaseException as problem:
            send({"problem": sentence(problem)})


def _tasks() -> SimpleQueue[dict[str, Any]]:
    """Tasks from standard input; when it ends, so does the process, whatever it is doing."""
    tasks: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            tasks.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    return tasks


if __name__ == "__main__":
    main()
