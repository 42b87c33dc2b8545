"""`falsezero topics`: the strongest columns of every component."""

from __future__ import annotations

from typing import Any

import click

from falsezero.cli._common import Whole, load_model, model_argument
from falsezero.cli._describe import describe
from falsezero.cli._output import Target, output_options
from falsezero.cli._table import read_for, table_options


@click.command()
@model_argument
@click.argument("table", required=False, metavar="[TABLE]")
@click.option("-n", "--top", "top", type=Whole(min=1), default=10, show_default=True, metavar="N")
@click.option(
    "--links",
    metavar="FILE",
    help="Links between rows of TABLE, with a column for each end (--link-from, --link-to).",
)
@click.option("--link-from", default="from", show_default=True, metavar="NAME")
@click.option("--link-to", default="to", show_default=True, metavar="NAME")
@output_options
@table_options
def command(
    model: str,
    table: str | None,
    top: int,
    links: str | None,
    link_from: str,
    link_to: str,
    output: str | None,
    force: bool,
    as_json: bool,
    **layout: Any,
) -> None:
    """List the strongest columns of every component.

    They are the words of a topic or the members of a community. One line per component, numbered as
    in `falsezero info`, heaviest first. With TABLE, also the columns that distinguish the
    component (by Bayes factor), and its most typical rows. With --links, also the rows that a
    reader reaches by following links on the topic (topic-specific PageRank).

    \b
    falsezero topics reviews.fz reviews.npz --top 12
    falsezero topics papers.fz papers.csv --links citations.csv --link-from citing --link-to cited
    """
    import falsezero as fz

    if links is not None and table is None:
        raise click.UsageError("--links needs TABLE: links are between its rows.")
    target = Target(output, force, as_json)
    fitted = load_model(model)
    components = describe(fitted, top)["components"]
    for part in components:
        part["strongest"] = ", ".join(member["column"] for member in part["strongest"])
    if table is not None:
        known_rows = read_for(fitted, table, layout)
        _add_from_table(components, fitted, known_rows, top)
        if links is not None:
            edges = fz.read(links, row=link_from, column=link_to)
            _add_from_links(components, fitted, known_rows, edges, top)
    components.sort(key=lambda part: -(part["weight"] or 0))
    known = [name for name in components[0] if components[0][name] is not None]
    target.write_findings(fz.Tidy.from_rows(components, known))


def _add_from_table(components: list[dict[str, Any]], model: Any, table: Any, top: int) -> None:
    from falsezero.analysis.topics import best_rows, distinctive_words

    words, rows = distinctive_words(model, table, top), best_rows(model, table, top)
    for k, part in enumerate(components):
        for name, found, label in (("distinctive", words, "word"), ("rows", rows, "row")):
            part[name] = ", ".join(map(str, found[label][found["component"] == k]))


def _add_from_links(
    components: list[dict[str, Any]], model: Any, table: Any, links: Any, top: int
) -> None:
    from falsezero.analysis.topics import linked_rows

    try:
        found = linked_rows(model, table, links, top)
    except (ImportError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    for k, part in enumerate(components):
        part["linked"] = ", ".join(map(str, found["row"][found["component"] == k]))
