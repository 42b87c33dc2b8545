"""`falsezero info`: a saved model in a few lines."""

from __future__ import annotations

import click

from falsezero.cli._common import Whole, load_model, model_argument
from falsezero.cli._describe import describe, show
from falsezero.cli._output import json_option


@click.command()
@model_argument
@click.option("--top", type=Whole(min=1), default=6, show_default=True, metavar="N")
@json_option
def command(model: str, top: int, as_json: bool) -> None:
    """Show a saved model.

    Its size, how well it fits, and every component: its number (from 1, as in --keep), kind
    (content, white phantom: makes zeros, black phantom: makes ones, extinct), mean weight or prior,
    and its N strongest columns.
    """

    show(describe(load_model(model), top), as_json)
