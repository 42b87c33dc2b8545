"""`falsezero select`: how many components does the table support?"""

from __future__ import annotations

from typing import Any

import click

from falsezero.analysis.criteria import CRITERIA
from falsezero.cli._cluster import cluster_option, on_cluster
from falsezero.cli._common import (
    Registered,
    Whole,
    build_model,
    fitting_options,
    is_watched,
    more_option,
    name_option,
    resumable,
    say,
)
from falsezero.cli._output import Target, listing_options, new_file
from falsezero.cli._reading import remember
from falsezero.cli._table import (
    is_pattern,
    read_to_learn,
    shards_of,
    table_argument,
    table_options,
)

criterion_option = click.option(
    "--criterion",
    type=Registered("criterion", CRITERIA),
    default="cells",
    show_default=True,
    help="Criterion: hidden cells, rows or tokens, AIC, BIC, or the evidence.",
)
splits_option = click.option(
    "--splits",
    type=Whole(min=2),
    default=5,
    show_default=True,
    metavar="N",
    help="Number of parts of cells or rows, each hidden once.",
)


def pop_judging_options(options: dict[str, Any]) -> dict[str, Any]:
    """Arguments that `select` and `compare` share, taken out of the options of a command."""
    return {
        "n_splits": options.pop("splits"),
        "n_jobs": options.pop("jobs"),
        "random_state": options.pop("seed"),
        "checkpoint": options.pop("checkpoint"),
        "verbose": int(is_watched()),
    }


class NumbersOf(click.ParamType):
    """Numbers as people write them: 2-8, or 2,4,8."""

    name = "numbers"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[int]:
        """The numbers, sorted and without repetition.

        >>> NumbersOf().convert("2-4,8", None, None)
        [2, 3, 4, 8]
        """
        if isinstance(value, list):
            return value
        found: set[int] = set()
        try:
            for piece in str(value).split(","):
                first, _, last = piece.partition("-")
                found |= set(range(int(first), int(last or first) + 1))
        except ValueError:
            found = set()
        if not found or min(found) < 1:
            self.fail(f"needs numbers such as 2-8 or 2,4,8, but is {value!r}.", param, ctx)
        return sorted(found)


@click.command()
@table_argument
@click.option(
    "-k",
    "n_components",
    type=NumbersOf(),
    default="1-8",
    show_default=True,
    metavar="1-8",
    help="Which numbers of components to try.",
)
@criterion_option
@splits_option
@name_option
@fitting_options
@more_option
@click.option("--output", "-o", metavar="MODEL.fz", help="Save the best model here.")
@cluster_option
@listing_options
@table_options
def command(
    table: str,
    n_components: list[int],
    criterion: str,
    name: str,
    output: str | None,
    cluster: str | None,
    force: bool,
    as_json: bool,
    **rest: Any,
) -> None:
    """Find out how many components the table supports.

    Every number is tried and judged by the criterion, with standard errors where parts are hidden.
    The table of candidates goes to standard output.

    \b
    falsezero select finds.csv --row site --column genus -k 2-8 --criterion aic --restarts 15
    falsezero select 'finds/*.npz' -k 5,10,20 --cluster tcp://scheduler:8786
    """
    import falsezero as fz

    target = None if output is None else new_file(output, force)
    judging = pop_judging_options(rest)
    fitting = {key: rest.pop(key) for key in ("restarts", "max_iter", "tol", "more")}
    model = build_model(name, seed=judging["random_state"], quiet=True, **fitting)
    if is_pattern(table):
        cells = shards_of(table, rest)
    else:
        cells = read_to_learn(table, rest, model.capabilities.table)
    with resumable(judging["checkpoint"]), on_cluster(cluster):
        choice = fz.select(model, cells, n_components, criterion, **judging)
        Target(None, force, as_json).write_findings(choice.table)
        say(f"Best: {_in_words(choice.best)} by {criterion}.{_about_one(choice.best)}")
        say(f"{criterion}: {choice.meaning}.")
        if target is not None:
            remember(choice.model, table, rest)
            fz.save(choice.model, target)
            say(f"Wrote {target}.")


def _in_words(n_components: int) -> str:
    return "1 component" if n_components == 1 else f"{n_components} components"


def _about_one(n_components: int) -> str:
    """What it means that one component is enough."""
    if n_components > 1:
        return ""
    return (
        " The table shows no groups: how common each column is predicts as well as any model here."
    )
