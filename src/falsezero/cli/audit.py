"""`falsezero audit`: which zeros of a table are surprising, and how well that can be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from falsezero.cli._common import Number, Whole, is_watched, say, seed_option, title_option
from falsezero.cli._output import Target, force_option, json_option, new_file, raw_option
from falsezero.cli._table import read_table, read_to_learn, table_argument, table_options

_PAGES = (".html", ".htm")


@click.command()
@table_argument
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="A page (.html), or the list of zeros (.csv, .tsv, .json).",
)
@click.option("-n", type=Whole(min=1), metavar="N", help="List at most N zeros.")
@click.option("--ones", is_flag=True, help="List surprising ones instead of zeros.")
@click.option(
    "--loss",
    type=Number(0, 1),
    metavar="E",
    help="Share of what is there that one look misses, if you know it.",
)
@click.option("--look", metavar="NAME", help="Repeated looks: the column that names the look.")
@click.option("--observer", metavar="NAME", help="Repeated looks: the column that says by whom.")
@click.option(
    "--variable",
    "variables",
    multiple=True,
    metavar="NAME",
    help="Repeated looks: a column of numbers that describe the look; may be repeated.",
)
@click.option("--false-alarms", is_flag=True, help="Looks may record what is not there.")
@seed_option
@title_option
@force_option
@json_option
@raw_option
@table_options
def command(
    table: str,
    output: str | None,
    n: int | None,
    ones: bool,
    loss: float | None,
    look: str | None,
    observer: str | None,
    variables: tuple[str, ...],
    false_alarms: bool,
    seed: int,
    title: str | None,
    force: bool,
    as_json: bool,
    **layout: Any,
) -> None:
    """Name the surprising zeros of a table, and test on the table itself how well that works.

    Many models are averaged; there is nothing to choose. Some of your finds are hidden, and found
    again or not: that is what the first sentence tells.

    \b
    falsezero audit finds.csv --row site --column genus -o audit.html
    falsezero audit finds.csv --row site --column genus -n 20
    falsezero audit visits.csv --row site --column species --look visit --surveyed effort.csv
    """
    import falsezero as fz

    is_page = output is not None and Path(output).suffix.lower() in _PAGES
    target = None if is_page else Target(output, force, as_json)
    page = new_file(str(output), force) if is_page else None
    if look is None and not observer and not variables:
        cells = read_to_learn(table, layout)
    else:
        cells = read_table(
            table, {**layout, "look": look, "observer": observer, "variables": variables}
        )
        say(repr(cells).split("\n")[0])
    found = fz.audit(
        cells,
        loss=loss,
        false_alarms=false_alarms,
        random_state=seed,
        verbose=int(is_watched(False)),
    )
    say(found.summary)
    if page is not None:
        found.to_html(page, title=title)
        say(f"Wrote {page}; open it in a browser.")
    if target is not None:
        listed = found.ones if ones else found.zeros
        target.write_findings(listed if n is None else listed.head(n))
