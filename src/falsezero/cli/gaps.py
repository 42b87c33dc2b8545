"""`falsezero gaps`: the zeros (or ones) that a saved model finds surprising."""

from __future__ import annotations

import re
from typing import Any

import click

from falsezero.cli._common import (
    Number,
    Whole,
    is_watched,
    keep_option,
    keep_weights,
    load_model,
    model_argument,
    say,
    shown_number,
)
from falsezero.cli._output import Target, output_options
from falsezero.cli._table import read_for, table_argument, table_options


@click.command()
@model_argument
@table_argument
@click.option("-n", type=Whole(min=1), metavar="N", help="List at most N cells.")
@click.option("--ones", is_flag=True, help="List surprising ones instead.")
@click.option(
    "--min-expected",
    type=Number(0, 1),
    default=0.5,
    show_default=True,
    metavar="P",
    help="List zeros where a one was expected with at least this probability.",
)
@keep_option
@output_options
@table_options
def command(
    model: str,
    table: str,
    n: int | None,
    ones: bool,
    min_expected: float,
    keep: str | None,
    output: str | None,
    force: bool,
    as_json: bool,
    **layout: Any,
) -> None:
    """List the zeros where a saved model expected a one, the most expected first.

    For each cell: the probability of a one by the components kept, the components that support it
    (numbered as in `falsezero info`, with their shares), and, if a component counts as noise, the
    probability that it made this zero. One look per cell cannot tell how many such zeros are false;
    `falsezero audit` tests on the table itself how well they are ranked.

    \b
    falsezero gaps finds.fz finds.csv -n 20
    """
    import falsezero as fz

    target = Target(output, force, as_json)
    fitted = load_model(model)
    cells, weights = read_for(fitted, table, layout), keep_weights(fitted, keep)
    if ones:
        found = fz.surprising_ones(fitted, cells, keep=weights, n=n)
    else:
        found = fz.surprising_zeros(
            fitted,
            cells,
            keep=weights,
            n=n,
            min_expected=min_expected,
            verbose=int(is_watched()),
        )
    if not found:
        say(_empty_message(ones, min_expected))
    causes = [_counted_from_one(text) for text in found["causes"].tolist()]
    target.write_findings(fz.Tidy(dict(found) | {"causes": causes}))


def _empty_message(ones: bool, least: float) -> str:
    if ones:
        return (
            "No one is surprising: each was expected more than a tenth as often as its column has "
            "ones."
        )
    return f"No zero is surprising: nowhere was a one expected with probability {least:g} or more."


def _counted_from_one(causes: str) -> str:
    """Component numbers counted from 1.

    >>> _counted_from_one("3 (0.92), 0 (0.07)")
    '4 (0.92), 1 (0.07)'
    """
    return re.sub(r"\d+(?= \()", lambda number: str(shown_number(int(number[0]))), causes)
