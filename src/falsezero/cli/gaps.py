"""`falsezero gaps`: the zeros (or ones) to doubt."""

from __future__ import annotations

import re
from typing import Any

import click

from falsezero.cli._common import (
    Number,
    Whole,
    keep_option,
    keep_weights,
    model_argument,
    phantoms_of,
    say,
    shown_number,
)
from falsezero.cli._output import Target, output_options
from falsezero.cli._table import read_for, table_argument, table_options


@click.command()
@model_argument
@table_argument
@click.option("-n", type=Whole(min=1), metavar="N", help="List at most N cells.")
@click.option("--presences", is_flag=True, help="List ones that are probably additions instead.")
@click.option("--min-probability", type=Number(0, 1), default=0.5, show_default=True, metavar="P")
@keep_option
@output_options
@table_options
def command(
    model: str,
    table: str,
    n: int | None,
    presences: bool,
    min_probability: float,
    keep: str | None,
    output: str | None,
    force: bool,
    as_json: bool,
    **layout: Any,
) -> None:
    """List the zeros that are probably omissions, the surest first.

    For each cell: the probability that it is false, the probability of a one by the content of its
    row, the probability that noise made this zero, and the components that speak for it (their
    numbers as in `falsezero info`, with their shares).

    \b
    falsezero gaps finds.fz finds.csv --row site --column genus -n 20
    """
    import falsezero as fz

    target = Target(output, force, as_json)
    fitted = fz.load(model)
    ask = fz.false_presences if presences else fz.false_absences
    found = ask(
        fitted,
        read_for(fitted, table, layout),
        keep=keep_weights(fitted, keep),
        n=n,
        min_probability=min_probability,
    )
    if not found:
        what = "ones" if presences else "zeros"
        say(
            f"No {what} are false with probability {min_probability:g} or more{_why(fitted, keep)}."
        )
    causes = [_counted_from_one(text) for text in found["causes"].tolist()]
    target.write_findings(fz.Tidy(dict(found) | {"causes": causes}))


def _why(model: Any, keep: str | None) -> str:
    """Without a component that makes noise there is nothing to blame."""
    if keep is None and len(phantoms_of(model).content) == len(model.components_):
        return ": no component of this model is noise, unless you say so with --keep"
    return ""


def _counted_from_one(causes: str) -> str:
    """Component numbers as people read them.

    >>> _counted_from_one("3 (0.92), 0 (0.07)")
    '4 (0.92), 1 (0.07)'
    """
    return re.sub(r"\d+(?= \()", lambda number: str(shown_number(int(number[0]))), causes)
