"""The items of a reproduced paper as a table: what was run, and what was found."""

import json
from importlib import import_module
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive

_COLUMNS = (
    ("item", 16),
    ("where", 14),
    ("what", 28),
    ("verdict", 12),
    ("reason", 30),
)


def results_of(folder, paper):
    """What the last recorded run found, or None where no run is recorded."""
    file = Path(folder) / "papers" / "results" / f"{paper}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def rows_of(paper, results):
    """One row an item of the list, with the verdict of the recorded run."""
    module = import_module(
        f"falsezero.experiments.{paper.replace('-', '_')}.items"
    )
    found = {row["item"]: row for row in results["items"]} if results else {}
    for item in module.ITEMS:
        run = found.get(item.name, {"verdict": "not run", "reason": ""})
        reason = item.untested or run["reason"]
        yield item.name, item.where, item.what, run["verdict"], reason


class PaperItems(Directive):
    """A sentence on the run, and the table."""

    required_arguments = 1

    def run(self):
        """Build both from the list of items and the recorded run."""
        paper = self.arguments[0]
        environment = self.state.document.settings.env
        results = results_of(environment.srcdir, paper)
        rows = list(rows_of(paper, results))
        return [nodes.paragraph(text=_sentence(rows, results)), _table(rows)]


def _sentence(rows, results):
    if results is None:
        return f"{len(rows)} items; no run is recorded."
    verdicts = [row[3] for row in rows]
    counts = ", ".join(
        f"{verdicts.count(name)} {name}" for name in dict.fromkeys(verdicts)
    )
    return (
        f"{len(rows)} items: {counts}. The {results['form']} form, run on {results['date']} "
        f"({results['machine']}), took {results['minutes']} minutes and "
        f"{results['megabytes']} MB."
    )


def _table(rows):
    table = nodes.table(classes=["paper-items"])
    group = nodes.tgroup(cols=len(_COLUMNS))
    table += group
    for _, width in _COLUMNS:
        group += nodes.colspec(colwidth=width)
    head, body = nodes.thead(), nodes.tbody()
    head += _row(name for name, _ in _COLUMNS)
    for row in rows:
        body += _row(row)
    group += [head, body]
    return table


def _row(texts):
    row = nodes.row()
    for text in texts:
        entry = nodes.entry()
        entry += nodes.paragraph(text=text)
        row += entry
    return row


def setup(app):
    """Offer the directive under the name `paper-items`."""
    app.add_directive("paper-items", PaperItems)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
