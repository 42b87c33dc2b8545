"""`falsezero reproduce`: the tables and figures of a paper, beside ours."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import click

from falsezero.cli._common import say

PAPERS = (
    "aspect-bernoulli",
    "binary-ica",
    "noisy-or",
    "binary-matrix-factorization",
    "discrete-pca",
)


@click.command()
@click.argument("paper", type=click.Choice(PAPERS), metavar="PAPER")
@click.option("--output", "-o", required=True, metavar="FOLDER", help="Where the report goes.")
@click.option("--quick", is_flag=True, help="Smaller and fewer runs: minutes instead of hours.")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
def command(paper: str, output: str, quick: bool, force: bool) -> None:
    """Reproduce the tables and figures of a paper.

    Writes a report that shows ours beside the paper's, and says which of its claims hold.

    PAPER is aspect-bernoulli, binary-ica, noisy-or, binary-matrix-factorization or discrete-pca.
    The data sets are read from the folder that the environment variable FALSEZERO_DATA names.
    """
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise click.ClickException(f"{folder} is a file; name a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise click.ClickException(f"{folder} is not empty; give --force to write into it.")
    if not os.environ.get("FALSEZERO_DATA"):
        raise click.ClickException(
            "The papers' data sets are read below the folder that the environment variable "
            "FALSEZERO_DATA names, but FALSEZERO_DATA is not set."
        )
    experiments = import_module(f"falsezero.experiments.{paper.replace('-', '_')}")
    folder.mkdir(parents=True, exist_ok=True)
    written = experiments.run(folder, quick)
    say(f"Wrote {written or folder}.")
