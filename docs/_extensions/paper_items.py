"""The items of a reproduced paper as a table: what was run, and what was found."""

import json
import shutil
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


def report_of(folder, paper):
    """Where the report of the recorded run is kept."""
    return Path(folder) / "papers" / "reports" / f"{paper}.html"


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
        said = nodes.paragraph(text=_sentence(rows, results))
        if report_of(environment.srcdir, paper).exists():
            link = nodes.reference(refuri=f"reports/{paper}.html")
            link += nodes.Text("The whole report, with every table and figure")
            said += [nodes.Text(" "), link, nodes.Text(".")]
        return [said, _table(rows)]


def _sentence(rows, results):
    if results is None:
        return f"{len(rows)} items; no run is recorded."
    verdicts = [row[3] for row in rows]
    counts = ", ".join(
        f"{verdicts.count(name)} {name}" for name in dict.fromkeys(verdicts)
    )
    spent = (
        f"{results['cpu_minutes']} minutes of processor time"
        if "cpu_minutes" in results
        else f"{results['minutes']} minutes"
    )
    return (
        f"{len(rows)} items: {counts}. The {results['form']} form, run on {results['date']} "
        f"({results['machine']}), took {spent} and {results['megabytes']} MB."
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


def _copy_reports(app, error):
    """Put the reports beside the pages that link to them."""
    source = Path(app.srcdir) / "papers" / "reports"
    if error is None and app.builder.format == "html" and source.is_dir():
        target = Path(app.outdir) / "papers" / "reports"
        shutil.copytree(source, target, dirs_exist_ok=True)


def setup(app):
    """Offer the directive under the name `paper-items`; copy the reports once pages are built."""
    app.add_directive("paper-items", PaperItems)
    app.connect("build-finished", _copy_reports)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
