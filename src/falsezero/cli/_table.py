"""Tables in the shell: options that describe their layout, and how they are read."""

from __future__ import annotations

from typing import Any

import click

from falsezero.cli._common import (
    Number,
    Whole,
    announce_reading,
    is_quiet,
    quiet_option,
    say,
    together,
)
from falsezero.cli._reading import recall
from falsezero.cli._words import one_sentence

__all__ = [
    "ListsFormats",
    "is_pattern",
    "read_for",
    "read_table",
    "read_to_learn",
    "shards_of",
    "table_argument",
    "table_options",
    "warn_of_too_many",
]


class ListsFormats(click.Command):
    """A command in whose help the word FORMATS is replaced by the list of file formats."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the formats only when the help is shown."""
        from falsezero.data.formats import known_formats

        listed = ", ".join(f"{each.name} ({' '.join(each.extensions)})" for each in known_formats())
        written, self.help = self.help, (self.help or "").replace("FORMATS", listed)
        super().format_help_text(ctx, formatter)
        self.help = written


table_argument = click.argument("table", metavar="TABLE")


def _meanings(context: Any, parameter: Any, marks: tuple[str, ...]) -> dict[str, Any]:
    """Texts and their values; None means not observed."""
    meanings: dict[str, Any] = {}
    for mark in marks:
        text, equals, means = mark.rpartition("=")
        is_missing = means.strip().lower() in ("na", "nan", "none")
        try:
            meanings[text] = None if is_missing else float(means)
        except ValueError:
            equals = ""
        if not equals:
            raise click.BadParameter(f"needs TEXT=1, TEXT=0 or TEXT=NA, but is {mark!r}.")
    return meanings


table_options = together(
    click.option("--row", metavar="NAME", help="Long table: the column with the row labels."),
    click.option("--column", metavar="NAME", help="Long table: the column with column labels."),
    click.option("--value", metavar="NAME", help="Long table: the column with values; else ones."),
    click.option(
        "--surveyed",
        metavar="FILE",
        help="File with the pairs that were surveyed; all other cells count as not observed.",
    ),
    click.option("--binarize", type=float, metavar="T", help="Make values above T ones."),
    click.option("--index", metavar="NAME", help="Wide table: the column with the row labels."),
    click.option("--no-index", is_flag=True, help="Wide table: no column holds row labels."),
    click.option(
        "--drop",
        multiple=True,
        metavar="NAME",
        help="A column or row to leave out, such as totals or dates; '' for the lines of a long "
        "table that name none; may be repeated.",
    ),
    click.option(
        "--mark",
        "marks",
        multiple=True,
        metavar="TEXT=MEANING",
        callback=_meanings,
        help="What a text means: P=1, A=0, -9999=NA (not observed), or =0 where an empty cell "
        "means absent; may be repeated.",
    ),
    click.option("--transpose", is_flag=True, help="Exchange rows and columns."),
    click.option(
        "--skip",
        type=Whole(min=0),
        default=0,
        metavar="N",
        help="Number of lines above the table.",
    ),
    click.option("--no-header", is_flag=True, help="Wide table: the first line is data."),
    click.option(
        "--duplicates",
        type=click.Choice(["error", "max", "sum"]),
        default="error",
        help="Long table: what to do with repeated pairs.",
    ),
    click.option(
        "--layer",
        metavar="NAME",
        help="The layer of an AnnData file, sheet of a workbook or file of an archive to use.",
    ),
    click.option("--rows", metavar="FILE", help="Matrix: a file with its row labels."),
    click.option("--columns", metavar="FILE", help="Matrix: a file with its column labels."),
    click.option("--delimiter", metavar="CHAR", help="What separates fields."),
    click.option("--encoding", default="utf-8", help="Encoding of a text file."),
    click.option(
        "--max-gigabytes",
        type=Number(min=0),
        metavar="X",
        help="Largest amount of memory for a file.  [default: 1, or 32 times its size]",
    ),
    quiet_option,
)


def read_table(path: str, layout: dict[str, Any], kind: str = "binary") -> Any:
    """Read the table that the `table_options` describe, for a model of this kind."""
    import falsezero as fz

    announce_reading(path)
    layout = dict(layout)
    transpose = layout.pop("transpose")
    if kind not in ("binary", "count"):
        # The model's own error message is the best.
        kind = "real"
    if layout.pop("no_index"):
        layout["index"] = False
    layout["header"] = not layout.pop("no_header")
    table = fz.read(path, kind=kind, **layout)
    return table.T if transpose else table


def read_to_learn(path: str, layout: dict[str, Any], kind: str = "binary") -> Any:
    """Read a table that a model will be fitted to, and report how it was read."""
    from falsezero.data.show import summary

    table = read_table(path, layout, kind)
    if not is_quiet():
        say(f"Read {path}: {summary(table, labels=True)}.")
    return table


def is_pattern(path: str) -> bool:
    """Whether a name is a pattern for many files, and not a file itself.

    >>> is_pattern("finds/*.parquet"), is_pattern("finds.csv")
    (True, False)
    """
    from pathlib import Path

    return any(sign in path for sign in "*?[") and not Path(path).exists()


def shards_of(pattern: str, layout: dict[str, Any], needs_one: tuple[str, ...] = ()) -> Any:
    """The files that match a pattern, as one table that is never in memory as a whole.

    `needs_one` are further options in `layout` that are for tables in one file only.
    """
    from glob import glob

    import falsezero as fz

    refused = ("value", "surveyed", "binarize", "index", "drop", "marks", "transpose", *needs_one)
    for name in refused:
        given = layout[name]
        if given is not None and given is not False and given not in ((), {}):
            option = name.replace("_", "-").replace("marks", "mark")
            raise click.UsageError(f"--{option} needs one file, not a pattern of files.")
    files = sorted(glob(pattern))
    if not files:
        raise click.ClickException(f"There is no file like {pattern}.")
    shards = fz.Shards(files, row=layout["row"], column=layout["column"])
    say(f"Found {len(files)} files with {shards.shape[0]} rows and {shards.shape[1]} columns.")
    return shards


def warn_of_too_many(n_components: int | None, table: Any) -> None:
    """Warn if the number of components is larger than the table can support."""
    from falsezero.analysis.selection import size_warning

    message = size_warning(n_components or 1, table.shape)
    if message:
        say(f"Warning: {one_sentence(message)}")


def _read_as_remembered(model: Any, path: str, layout: dict[str, Any]) -> Any:
    from falsezero.data.errors import DataError

    first_problem = None
    for way, notice in recall(model, path, layout):
        try:
            table = read_table(path, way, model.capabilities.table)
        except DataError as problem:
            # A table may have another layout than the model's own.
            first_problem = first_problem or problem
            continue
        if notice:
            say(notice)
        return table
    assert first_problem is not None
    raise first_problem


def read_for(model: Any, path: str, layout: dict[str, Any]) -> Any:
    """Read a table for a fitted model, its columns put in the model's order.

    Options that are not given are taken from how the model's own table was read.
    """
    table = _read_as_remembered(model, path, layout)
    names = getattr(model, "feature_names_in_", None)
    if names is None and table.shape[1] != model.n_features_in_:
        raise click.ClickException(
            f"{path} has {table.shape[1]} columns, but the model was fitted on "
            f"{model.n_features_in_}, without names."
        )
    if names is None or list(table.columns) == list(names):
        return table
    known = set(table.columns.tolist())
    lacking = [name for name in names if name not in known]
    if lacking:
        from falsezero.data.errors import suggest

        remedy = suggest(lacking[0], table.columns, "its columns are")
        if set(names) <= set(table.rows.tolist()):
            remedy = "its rows have those names, so give --transpose."
        raise click.ClickException(
            f"{path} has no column {lacking[0]!r}, which the model was fitted on; {remedy}"
        )
    if len(known) > len(names):
        more = len(known) - len(names)
        say(f"Left out {more} column{'s' * (more > 1)} that the model does not know.")
    return table.select(columns=list(names))
