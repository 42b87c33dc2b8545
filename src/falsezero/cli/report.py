"""`falsezero report`: a page about a table, for domain scientists."""

from __future__ import annotations

from typing import Any

import click

from falsezero.cli._common import (
    Whole,
    build_model,
    is_watched,
    jobs_option,
    more_option,
    page_options,
    say,
    seed_option,
)
from falsezero.cli._output import force_option, new_file
from falsezero.cli._table import read_to_learn, table_argument, table_options
from falsezero.cli.select import NumbersOf, criterion_option


@click.command()
@table_argument
@click.option("--output", "-o", required=True, metavar="PAGE.html", help="The report to write.")
@click.option(
    "-k",
    "n_components",
    type=NumbersOf(),
    metavar="1-8",
    help="Numbers of components to choose from, or just one.",
)
@criterion_option
@click.option(
    "--model",
    "name",
    type=click.Choice(["aspect-bernoulli", "binary-ica"]),
    default="aspect-bernoulli",
    show_default=True,
)
@click.option(
    "--restarts",
    type=Whole(min=2),
    default=5,
    show_default=True,
    metavar="N",
    help="Number of random starts, which are compared.",
)
@seed_option
@jobs_option
@more_option
@page_options
@force_option
@table_options
def command(
    table: str,
    output: str,
    n_components: list[int] | None,
    criterion: str,
    name: str,
    restarts: int,
    seed: int,
    jobs: int | None,
    more: tuple[str, ...],
    title: str | None,
    groups: str | None,
    image: tuple[int, int] | None,
    force: bool,
    **layout: Any,
) -> None:
    """Write a report on a table, for people to read.

    How many components it supports, which are noise, which cells to doubt, with pictures; what is
    assumed, and what to distrust.

    \b
    falsezero report finds.csv --row site --column genus -o report.html
    """
    import falsezero as fz

    page = new_file(output, force)
    model = build_model(name, seed=seed, more=more, quiet=True)
    cells = read_to_learn(table, layout)
    say("Fitting; a large table takes minutes ...")
    fz.write_report(
        cells,
        page,
        n_components=n_components,
        model=model,
        criterion=criterion,
        n_init=restarts,
        title=title,
        image_shape=image,
        groups=groups,
        random_state=seed,
        n_jobs=jobs,
        verbose=int(is_watched()),
    )
    say(f"Wrote {page}; open it in a browser.")
