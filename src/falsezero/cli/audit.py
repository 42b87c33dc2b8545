"""`falsezero audit`: the surprising zeros of a table, and a test of how well that works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from falsezero.cli._cluster import cluster_option, on_cluster
from falsezero.cli._common import (
    Number,
    Whole,
    groups_option,
    is_watched,
    say,
    seed_option,
    title_option,
    working,
)
from falsezero.cli._knowledge import (
    asked_list,
    calibrated,
    check_questions,
    knowledge_options,
    stated,
)
from falsezero.cli._output import Target, listing_options, new_file
from falsezero.cli._table import (
    is_pattern,
    read_table,
    read_to_learn,
    shards_of,
    table_argument,
    table_options,
)
from falsezero.cli._words import one_sentence

_PAGES = (".html", ".htm")
_KNOWLEDGE = ("loss", "detection", "certain", "revisits", "fdr", "plan", "ranked", "ones", "by")


class _StatedVariable(click.ParamType):
    """A variable and its number, as in date=68."""

    name = "variable"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, float]:
        """Split at the last equals sign."""
        name, _, number = str(value).rpartition("=")
        try:
            return name, float(number)
        except ValueError:
            self.fail(f"{value!r} is not a name and a number, as in date=68.", param, ctx)


@click.command()
@table_argument
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="A page (.html), or the list of zeros (.csv, .tsv, .json).",
)
@click.option("-n", type=Whole(min=1), metavar="N", help="List at most N zeros.")
@knowledge_options
@click.option("--look", metavar="NAME", help="Repeated looks: the column that names the look.")
@click.option("--observer", metavar="NAME", help="Repeated looks: the column that says by whom.")
@click.option(
    "--variable",
    "variables",
    multiple=True,
    metavar="NAME",
    help="Repeated looks: a column of numbers that describe the look; may be repeated.",
)
@click.option(
    "--row-variables",
    metavar="FILE",
    help="Repeated looks: a file with one line per row and columns of numbers that describe it.",
)
@click.option(
    "--next-look",
    type=_StatedVariable(),
    multiple=True,
    metavar="NAME=X",
    help="Repeated looks: a variable of the next look, such as date=68; may be repeated.",
)
@click.option("--false-alarms", is_flag=True, help="Looks may record what is not there.")
@click.option(
    "--most-cells",
    type=Number(min=1),
    metavar="X",
    help="Of a table with more cells, audit some rows and the most frequent columns only.",
)
@cluster_option
@click.option(
    "--parquet",
    metavar="FOLDER",
    help="Of a pattern of files: write zeros, columns and a line for every row there.",
)
@seed_option
@title_option
@groups_option
@listing_options
@table_options
def command(
    table: str,
    output: str | None,
    n: int | None,
    look: str | None,
    observer: str | None,
    variables: tuple[str, ...],
    row_variables: str | None,
    next_look: tuple[tuple[str, float], ...],
    false_alarms: bool,
    most_cells: float | None,
    cluster: str | None,
    parquet: str | None,
    seed: int,
    title: str | None,
    groups: str | None,
    force: bool,
    as_json: bool,
    **more: Any,
) -> None:
    """List the surprising zeros of a table, and test on the table itself how well that works.

    Many models are averaged; there is nothing to choose. Some of your finds are hidden, and the
    first sentence reports how many of them were found again.

    \b
    falsezero audit finds.csv --row site --column genus -o audit.html
    falsezero audit finds.csv --row site --column genus -n 20
    falsezero audit visits.csv --row site --column species --look visit --surveyed effort.csv
    falsezero audit sites.csv --revisits again.csv --plan 20 -o plan.csv

    A quoted pattern such as 'finds/*.npz' names files with some rows each (.parquet, .npz or .npy).
    Above 10^8 cells they are never in memory together; with --cluster its workers read them.

    \b
    falsezero audit 'finds/*.npz' --cluster tcp://scheduler:8786 --parquet audited/ -o audit.html
    """
    import falsezero as fz
    from falsezero.data.groups import row_groups

    known = {name: more.pop(name) for name in _KNOWLEDGE}
    layout = more
    is_page = output is not None and Path(output).suffix.lower() in _PAGES
    check_questions(known, is_page, n)
    target = None if is_page else Target(output, force, as_json)
    page = new_file(str(output), force) if is_page else None
    visits = {"look": look, "observer": observer, "variables": variables}
    visits["row_variables"] = row_variables
    is_filed = is_pattern(table)
    if is_filed:
        cells = _files(
            table, layout, parquet, {**visits, "groups": groups, "most_cells": most_cells}
        )
    elif not any(visits.values()):
        cells = read_to_learn(table, layout)
    else:
        cells = read_table(table, {**layout, **visits})
        say(repr(cells).split("\n")[0])
    if parquet is not None and not is_filed:
        raise click.UsageError("--parquet needs a pattern of files, as in 'finds/*.npz'.")
    cells = _audited_part(cells, most_cells, seed)
    group_of = None if groups is None else row_groups(groups, cells.rows)
    with on_cluster(cluster):
        found = fz.audit(
            cells,
            **stated(known),
            false_alarms=false_alarms,
            next_look=dict(next_look) or None,
            random_state=seed,
            verbose=int(is_watched()),
        )
        found = calibrated(found, known["revisits"], layout)
        with working("looking at every zero"):
            written = [] if parquet is None else found.to_parquet(parquet)
            summary = found.summary
        say(one_sentence(summary))
        if written:
            say(f"Wrote {len(written)} files to {parquet}.")
        if page is not None:
            with working("drawing the page"):
                found.to_html(page, title=title, groups=group_of)
            say(f"Wrote {page}; open it in a browser.")
        if target is not None:
            with working("giving reasons"):
                listed = asked_list(found, known, n)
            target.write_findings(listed if n is None else listed.head(n))


def _files(
    pattern: str, layout: dict[str, Any], parquet: str | None, one_file: dict[str, Any]
) -> Any:
    """The table in files that a pattern names; `one_file` are options that it cannot have."""
    from falsezero.models.average.large import is_large

    one_file["variable"] = one_file.pop("variables")
    cells = shards_of(pattern, {**layout, **one_file}, needs_one=tuple(one_file))
    if parquet is not None and not is_large(cells.shape):
        raise click.UsageError(
            "--parquet is for more than 10^8 cells; give -o a .csv file for the list of zeros."
        )
    return cells


def _audited_part(cells: Any, most_cells: float | None, seed: int) -> Any:
    """The table, or the part of it that the user asked for, and a word on that."""
    from falsezero.data.part import describe_part, part_of

    if most_cells is None:
        return cells
    part = part_of(cells, most_cells, seed)
    if part is not cells:
        say(f"{describe_part(part, cells)} Without --most-cells all of it is.")
    return part
