"""`falsezero compare`: which model suits the table?"""

from __future__ import annotations

import math
from typing import Any

import click

from falsezero.cli._common import (
    build_model,
    components_option,
    fitting_options,
    resumable,
    say,
)
from falsezero.cli._output import Target, output_options
from falsezero.cli._table import read_to_learn, table_argument, table_options
from falsezero.cli.select import criterion_option, pop_judging_options, splits_option
from falsezero.models import MODELS

DEFAULT = ("aspect-bernoulli", "binary-ica", "bernoulli-mixture")


@click.command()
@table_argument
@click.argument("models", nargs=-1, metavar="[MODEL[:K]]...")
@components_option
@criterion_option
@splits_option
@fitting_options
@output_options
@table_options
def command(
    table: str,
    models: tuple[str, ...],
    n_components: int | None,
    criterion: str,
    output: str | None,
    force: bool,
    as_json: bool,
    **rest: Any,
) -> None:
    """Find out which model suits the table.

    Each MODEL may have its own number of components, as in bernoulli-mixture:8; the others use -k.
    Without MODEL, aspect-bernoulli, binary-ica and bernoulli-mixture are compared. All predict the
    same hidden parts, and Wilcoxon's signed-rank test compares the best two.

    \b
    falsezero compare finds.csv --row site --column genus aspect-bernoulli:4 bernoulli-mixture:8
    """
    import falsezero as fz

    target = Target(output, force, as_json)
    judging = pop_judging_options(rest)
    settings = {key: rest.pop(key) for key in ("restarts", "max_iter", "tol")}
    candidates = {
        spec: _candidate(spec, n_components, seed=judging["random_state"], **settings)
        for spec in models or DEFAULT
    }
    kinds = {model.capabilities.table for model in candidates.values()}
    kind = "binary" if "binary" in kinds else kinds.pop()
    cells = read_to_learn(table, rest, kind)
    with resumable(judging["checkpoint"]):
        found = fz.compare(candidates, cells, criterion, **judging)
        target.write_findings(found.table)
    message = f"Best by {criterion}: {found.best}"
    if math.isfinite(found.p_value):
        message += f"; against {found.table['model'][1]}, {found.test} p = {found.p_value:.2g}"
    say(f"{message}.")
    say(f"{criterion}: {found.meaning}.")


def _candidate(spec: str, n_components: int | None, **settings: Any) -> Any:
    from falsezero.data.errors import suggest

    name, colon, number = spec.partition(":")
    if name not in MODELS:
        raise click.UsageError(f"There is no model {name!r}; {suggest(name, MODELS)}")
    if colon and not (number.isdecimal() and int(number) > 0):
        raise click.UsageError(
            f"A number of components must follow the colon, but {spec!r} has none."
        )
    return build_model(
        name, n_components=int(number) if colon else n_components, quiet=True, **settings
    )
