"""`falsezero explore`: a page on which an analyst changes P(u|k) and sees the table change."""

from __future__ import annotations

from typing import Any

import click

from falsezero.cli._common import (
    load_model,
    model_argument,
    page_options,
    say,
    working,
)
from falsezero.cli._output import force_option, new_file
from falsezero.cli._table import read_for, table_argument, table_options


@click.command()
@model_argument
@table_argument
@click.option("--output", "-o", required=True, metavar="PAGE.html", help="The page to write.")
@page_options
@force_option
@table_options
def command(
    model: str,
    table: str,
    output: str,
    title: str | None,
    groups: str | None,
    image: tuple[int, int] | None,
    force: bool,
    **layout: Any,
) -> None:
    """Write a page to explore a model and its table in a browser.

    One file that needs no network: components with a slider each, the table before and after, the
    cells to doubt, and an explanation of any cell at a click.

    \b
    falsezero explore finds.fz finds.csv --row site --column genus -o finds.html
    """
    import falsezero as fz

    page = new_file(output, force)
    fitted = load_model(model)
    cells = read_for(fitted, table, layout)
    with working("writing the page"):
        fz.explore(fitted, cells, page, title=title, image_shape=image, groups=groups)
    say(f"Wrote {page}; open it in a browser.")
