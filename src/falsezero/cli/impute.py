"""`falsezero impute`: predicted values of cells that were not observed."""

from __future__ import annotations

from typing import Any

import click

from falsezero.cli._common import Whole, load_model, model_argument, say
from falsezero.cli._output import Target, output_options
from falsezero.cli._table import read_for, table_argument, table_options


@click.command()
@model_argument
@table_argument
@click.option("-n", type=Whole(min=1), metavar="N", help="List the N most certain cells.")
@output_options
@table_options
def command(
    model: str,
    table: str,
    n: int | None,
    output: str | None,
    force: bool,
    as_json: bool,
    **layout: Any,
) -> None:
    """List what a model expects of the cells that were not observed.

    For each empty cell of TABLE: the probability of a one, judged from the cells of its row that
    were observed.

    \b
    falsezero impute votes.fz votes.csv -o imputed.csv
    """
    import falsezero as fz

    target = Target(output, force, as_json)
    fitted = load_model(model)
    cells = read_for(fitted, table, layout)
    found = fz.impute(fitted, cells, n=n)
    if not found:
        say("Every cell was observed, so there is nothing to predict.")
    target.write_findings(found)
