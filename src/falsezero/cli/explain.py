"""`falsezero explain`: which cause made which cell."""

from __future__ import annotations

from typing import Any

import click

from falsezero.cli._common import Whole, load_model, model_argument, shown_number
from falsezero.cli._output import Target, output_options
from falsezero.cli._table import read_for, table_argument, table_options


@click.command()
@model_argument
@table_argument
@click.option("--only-row", "only_rows", multiple=True, metavar="LABEL", help="May be repeated.")
@click.option(
    "--only-column", "only_columns", multiple=True, metavar="LABEL", help="May be repeated."
)
@click.option("-n", "--top", "top", type=Whole(min=1), default=3, show_default=True, metavar="N")
@output_options
@table_options
def command(
    model: str,
    table: str,
    only_rows: tuple[str, ...],
    only_columns: tuple[str, ...],
    top: int,
    output: str | None,
    force: bool,
    as_json: bool,
    **layout: Any,
) -> None:
    """List the N components that most probably made each cell.

    Components are numbered as in `falsezero info`. Choose rows and columns by their labels, or get
    every observed cell.

    \b
    falsezero explain finds.fz finds.csv --row site --column genus --only-row Rudabanya
    """
    import falsezero as fz

    target = Target(output, force, as_json)
    fitted = load_model(model)
    cells = read_for(fitted, table, layout)
    causes = fz.explain(
        fitted,
        cells,
        rows=_labels(only_rows, cells.rows, "row", table),
        columns=_labels(only_columns, cells.columns, "column", table),
        n=top,
    )
    target.write_findings(fz.Tidy(dict(causes) | {"component": shown_number(causes["component"])}))


def _labels(wanted: tuple[str, ...], known: Any, axis: str, path: str) -> list[Any] | None:
    """Convert text from the shell into labels of a table, which may be whole numbers."""
    from falsezero.data.errors import suggest

    if not wanted:
        return None
    by_text = {str(label): label for label in known.tolist()}
    for text in wanted:
        if text not in by_text:
            close = suggest(text, by_text, f"its {axis}s are")
            raise click.ClickException(f"{path} has no {axis} {text!r}; {close}")
    return [by_text[text] for text in wanted]
