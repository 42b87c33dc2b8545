"""`falsezero denoise`: the table without its noise."""

from __future__ import annotations

from typing import Any

import click

from falsezero.cli._common import Number, keep_option, keep_weights, load_model, model_argument, say
from falsezero.cli._output import Target, new_file, output_options
from falsezero.cli._table import read_for, table_argument, table_options


@click.command()
@model_argument
@table_argument
@keep_option
@click.option("--probability", is_flag=True, help="Probabilities instead of zeros and ones.")
@click.option("--threshold", type=Number(0, 1), default=0.5, show_default=True)
@click.option(
    "--change-ones/--keep-ones",
    default=None,
    help="Whether a recorded one may become a zero.  [default: if a component is removed]",
)
@output_options
@table_options
def command(
    model: str,
    table: str,
    keep: str | None,
    probability: bool,
    threshold: float,
    change_ones: bool | None,
    output: str | None,
    force: bool,
    as_json: bool,
    **layout: Any,
) -> None:
    """Write the table as it would be without noise.

    The weight of the phantoms goes to the other components, and every cell is recomputed: it
    becomes a one if its probability reaches the threshold. A model without phantoms changes zeros
    only, unless --change-ones is given. Standard error reports what was changed.

    \b
    falsezero denoise finds.fz finds.csv --row site --column genus -o clean.csv
    falsezero denoise cells.fz cells.h5ad -o clean.h5ad
    """
    import falsezero as fz
    from falsezero.io.tables import write_h5ad

    is_annotated = output is not None and output.lower().endswith(".h5ad")
    annotated = new_file(str(output), force) if is_annotated else None
    target = Target(None if is_annotated else output, force, as_json)
    fitted = load_model(model)
    weights = keep_weights(fitted, keep)
    clean = fz.denoise(
        fitted,
        read_for(fitted, table, layout),
        keep=weights,
        threshold=threshold,
        change_ones=change_ones,
    )
    result = clean.probability if probability else clean.binary
    if annotated is None:
        target.write_table(result)
    else:
        write_h5ad(result, annotated)
        say(f"Wrote {annotated}.")
    if not probability:
        say(clean.summary)
