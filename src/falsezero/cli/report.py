"""`falsezero report`: from a table to one page that a domain scientist can read."""

from __future__ import annotations

from typing import Any

import click

from falsezero.cli._common import read_table, say, table_argument, table_options
from falsezero.cli._output import force_option, new_file


@click.command()
@table_argument
@click.option("--output", "-o", required=True, metavar="PAGE.html", help="The report to write.")
@force_option
@table_options
def command(table: str, output: str, force: bool, **layout: Any) -> None:
    """Write a report on a table, for people to read.

    How many components it supports, which are noise, which cells to doubt, with pictures; what is
    assumed, and what to distrust.

    \b
    falsezero report finds.csv --row site --column genus -o report.html
    """
    page = new_file(output, force)
    from falsezero.report import write_report

    write_report(read_table(table, layout), page)
    say(f"Wrote {page}; open it in a browser.")
