"""The command line: `falsezero COMMAND`. Arguments become public calls; one file per command.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not converged under --strict, 130 interrupted.
Nothing heavy is imported before a command needs it, so that help comes at once.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from falsezero import __version__
from falsezero.cli._words import one_sentence
from falsezero.data.plain_text import printable

__all__ = ["main"]

COMMANDS = (
    "audit",
    "app",
    "demo",
    "select",
    "fit",
    "info",
    "gaps",
    "denoise",
    "impute",
    "explain",
    "topics",
    "compare",
    "explore",
    "report",
    "reproduce",
)
"""Modules of this package, in the order in which people need them."""


class _ReaderLeft(Exception):  # noqa: N818
    """The reader of standard output has closed it."""


class _Commands(click.Group):
    """A group of commands, each imported when it is first used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return import_module(f"falsezero.cli.{cmd_name}").command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # click would turn it into an exit code for failure.
            raise _ReaderLeft from None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        from falsezero.data.errors import suggest

        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            close = suggest(args[0], COMMANDS, "the commands are")
            ctx.fail(f"There is no command {args[0]!r}; {close}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not converged under --strict, "
    "130 interrupted. Begin with: falsezero audit TABLE -o audit.html",
)
@click.version_option(__version__, prog_name="falsezero", message="%(prog)s %(version)s")
@click.option("--traceback", is_flag=True, help="Show where in the code an error comes from.")
def commands(traceback: bool) -> None:
    """Which zeros in your table are real?

    Finds surprising zeros in tables of zeros and ones, with models that explain every cell by a
    few causes and separate noise from content.
    """


def main(args: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors become one sentence on standard error."""
    _open_closed_streams()
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        return _exit_code(list(sys.argv[1:] if args is None else args))


def _exit_code(arguments: list[str]) -> int:
    try:
        code = commands.main(arguments, prog_name="falsezero", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return 130
    except (BrokenPipeError, _ReaderLeft):
        return _stop_quietly()
    except Exception as error:
        from falsezero.cli._common import was_interrupted

        if was_interrupted(error):
            click.echo("Interrupted.", err=True)
            return 130
        if arguments[0] == "--traceback":
            raise
        click.echo(f"Error: {printable(one_sentence(error))}", err=True)
        _flush_or_discard()
        return 1


def _open_closed_streams() -> None:
    """Discard messages if the command was started without standard output or error."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _stop_quietly() -> int:
    """A closed output pipe, as after `head`, is not an error."""
    _discard_output()
    return 0


def _flush_or_discard() -> None:
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _discard_output()


def _discard_output() -> None:
    """Discard the rest of standard output, which Python would otherwise complain about at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Any, category: Any, *where: Any, **more: Any) -> None:
    if not issubclass(category, (DeprecationWarning, FutureWarning)):
        click.echo(f"Warning: {printable(one_sentence(message))}", err=True)
