"""`falsezero fit`: learn a model from a table and save it."""

from __future__ import annotations

from typing import Any

import click

from falsezero.cli._cluster import cluster_option, on_cluster
from falsezero.cli._common import (
    build_model,
    components_option,
    fitting_options,
    more_option,
    name_option,
    resumable,
    say,
)
from falsezero.cli._describe import describe, show
from falsezero.cli._output import force_option, json_option, new_file
from falsezero.cli._reading import remember
from falsezero.cli._table import (
    ListsFormats,
    is_pattern,
    read_to_learn,
    shards_of,
    table_argument,
    table_options,
    warn_of_too_many,
)

NOT_CONVERGED = 3
SETTINGS = ("restarts", "seed", "max_iter", "tol", "jobs", "checkpoint", "more")


@click.command(cls=ListsFormats)
@table_argument
@click.option("--output", "-o", required=True, metavar="MODEL.fz", help="The model file to write.")
@components_option
@name_option
@fitting_options
@more_option
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with code 3 if the fit did not converge; it is saved anyway.",
)
@cluster_option
@table_options
@force_option
@json_option
def command(
    table: str,
    output: str,
    n_components: int | None,
    name: str,
    strict: bool,
    cluster: str | None,
    force: bool,
    as_json: bool,
    **rest: Any,
) -> int:
    """Learn a model from a table, save it and show what it found.

    TABLE is a file of zeros and ones (counts for discrete-pca, plsa and unigram-mixture): wide, or
    long with --row and --column. Formats: FORMATS. Empty cells and NA are not observed, and x, +
    and yes are ones; --mark defines other marks. How many components? See `falsezero select`.

    A quoted pattern such as 'finds/*.parquet' names files with some rows each (.parquet, .npz or
    .npy), which are never in memory together; with --cluster its workers must be able to read them.

    \b
    falsezero fit finds.csv -o finds.fz --row site --column genus -k 4 --restarts 15
    falsezero fit 'finds/*.parquet' -o finds.fz -k 20 --cluster tcp://scheduler:8786
    """
    import falsezero as fz

    target = new_file(output, force)
    settings = {key: rest.pop(key) for key in SETTINGS}
    model = build_model(name, n_components=n_components, **settings)
    if is_pattern(table):
        cells = shards_of(table, rest)
    else:
        cells = read_to_learn(table, rest, model.capabilities.table)
    warn_of_too_many(model.get_params().get("n_components"), cells)
    with resumable(settings["checkpoint"]), on_cluster(cluster):
        model.fit(cells)
        remember(model, table, rest)
        fz.save(model.set_params(verbose=0), target)
    show(describe(model), as_json)
    say(f"Wrote {target}.")
    return NOT_CONVERGED if strict and not model.converged_ else 0
