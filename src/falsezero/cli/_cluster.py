"""The option --cluster: work on a Dask cluster while a command runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

__all__ = ["cluster_option", "on_cluster"]

cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Work on the Dask cluster whose scheduler is here, as in tcp://host:8786.",
)


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Connect to the scheduler at an address during a `with` block; None means no cluster."""
    if address is None:
        yield
        return
    from falsezero.backends.dask import connected

    try:
        client = connected(address)
    except (ImportError, OSError, ValueError) as problem:
        raise click.ClickException(f"--cluster {address}: {problem}") from None
    from falsezero.backends.dask import on_dask

    with client, on_dask(client):
        yield
