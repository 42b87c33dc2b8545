"""What the user knows beyond the table: rates, checked cells, revisited rows."""

from __future__ import annotations

from typing import Any

import click

from falsezero.cli._common import Number, Whole, say, together
from falsezero.cli._table import read_table

__all__ = ["asked_list", "calibrated", "check_questions", "knowledge_options", "stated"]

knowledge_options = together(
    click.option(
        "--loss",
        type=Number(0, 1),
        metavar="E",
        help="Share of what is present that one look misses, if you know it.",
    ),
    click.option(
        "--detection",
        metavar="FILE",
        help="Known detection rates: a label and a rate for every row, or for every column.",
    ),
    click.option(
        "--certain",
        metavar="FILE",
        help="Cells beyond doubt, such as zeros that were checked: a row and a column label each.",
    ),
    click.option(
        "--revisits",
        metavar="FILE",
        help="Rows that were surveyed again, laid out like TABLE; zeros then get probabilities.",
    ),
    click.option(
        "--fdr",
        type=Number(0, 1),
        metavar="X",
        help="With --revisits: list zeros of which, on average, at most this share are true zeros.",
    ),
    click.option(
        "--plan",
        type=Whole(min=1),
        metavar="N",
        help="List the N rows (see --by) to survey next, by expected new finds.",
    ),
    click.option(
        "--ranked",
        is_flag=True,
        help="List the N (-n) zeros where a one is most expected, surprising or not.",
    ),
    click.option("--ones", is_flag=True, help="List surprising ones instead of zeros."),
    click.option(
        "--by",
        type=click.Choice(["rows", "columns", "cells"]),
        default="rows",
        help="What a plan consists of.",
    ),
)


def check_questions(known: dict[str, Any], is_page: bool, n: int | None) -> None:
    """Refuse at once what cannot be answered, before any model is fitted."""
    if known["ranked"] and n is None:
        raise click.UsageError("--ranked needs -n, the number of zeros to list.")
    if known["fdr"] is not None and known["revisits"] is None:
        raise click.UsageError("--fdr needs --revisits, from which its errors are learnt.")
    asked = [name for name in ("fdr", "plan", "ranked", "ones") if known[name]]
    if len(asked) > 1:
        first, second = asked[:2]
        raise click.UsageError(f"--{first} and --{second} make two lists; ask for one of them.")
    if asked and is_page:
        raise click.UsageError(f"--{asked[0]} makes a list; give -o a .csv, .tsv or .json file.")


def stated(known: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `falsezero.audit`, read from the files given."""
    from falsezero.data.side_files import read_labelled_values, read_pairs

    detection, certain = known["detection"], known["certain"]
    return {
        "loss": known["loss"],
        "detection": None if detection is None else read_labelled_values(detection),
        "certain": None if certain is None else read_pairs(certain),
    }


def calibrated(found: Any, revisits: str | None, layout: dict[str, Any]) -> Any:
    """The audit, calibrated by a second table where there is one."""
    if revisits is None:
        return found
    import falsezero as fz

    second = read_table(revisits, {**layout, "surveyed": None})
    if layout["row"] and not layout["value"]:
        second = _with_absences(second, found.table)
        say(f"Every column counts as looked at again in the {second.shape[0]} rows of {revisits}.")
    return fz.calibrate(found, revisits=second)


def _with_absences(second: Any, table: Any) -> Any:
    """A list of finds as a table, in which whatever was not found in a row is a zero."""
    from falsezero.data.surveyed import pairs_of_list, restrict

    columns = dict.fromkeys([*table.columns.tolist(), *second.columns.tolist()])
    looked = [(row, column) for row in second.rows.tolist() for column in columns]
    return restrict(second, pairs_of_list(looked), grow=True)


def asked_list(found: Any, known: dict[str, Any], n: int | None) -> Any:
    """The list that was asked for: a plan, zeros with errors controlled, zeros in order or ones."""
    if known["plan"] is not None:
        return found.plan(known["plan"], known["by"])
    if known["fdr"] is not None:
        return found.select(known["fdr"])
    if known["ranked"]:
        return found.ranked(n)
    return found.ones if known["ones"] else found.zeros
