"""`falsezero topics`: the strongest columns of every component."""

from __future__ import annotations

import click

from falsezero.cli._common import model_argument
from falsezero.cli._describe import describe
from falsezero.cli._output import Target, output_options


@click.command()
@model_argument
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="N")
@output_options
def command(model: str, top: int, output: str | None, force: bool, as_json: bool) -> None:
    """List the strongest columns of every component.

    They are the words of a topic or the members of a community. One line a component, numbered as
    in `falsezero info`, heaviest first.

    \b
    falsezero topics reviews.fz --top 12
    """
    import falsezero as fz

    target = Target(output, force, as_json)
    components = describe(fz.load(model), top)["components"]
    components.sort(key=lambda part: -(part["weight"] or 0))
    known = [name for name in components[0] if components[0][name] is not None]
    rows = [
        part | {"strongest": ", ".join(member["column"] for member in part["strongest"])}
        for part in components
    ]
    target.write_findings(fz.Tidy.from_rows(rows, known))
