"""`falsezero app`: a page in the browser, for people who do not want a terminal."""

from __future__ import annotations

import click

from falsezero.cli._common import Number, Whole, say


@click.command()
@click.option("--port", type=Whole(0, 65535), default=0, metavar="N", help="A port of your choice.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--max-megabytes",
    type=Number(min=0, min_open=True),
    default=200,
    show_default=True,
    metavar="X",
    help="Largest size of the files of a table.",
)
def command(port: int, no_browser: bool, max_megabytes: float) -> None:
    """Open a page in the browser: drop a table in, get its audit.

    Nothing leaves this computer: the page is served to this computer only, at an address that
    nobody else knows, and files are kept in a temporary folder until you press Ctrl-C here.

    \b
    falsezero app
    """
    from falsezero.app import serve

    try:
        serve(port, open_browser=not no_browser, max_megabytes=max_megabytes, say=say)
    except KeyboardInterrupt:
        say("Stopped; the temporary folder is deleted.")
