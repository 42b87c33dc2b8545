"""Where results go: standard output, or a file that is never overwritten by accident."""

from __future__ import annotations

import json
import math
import shutil
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import click

from falsezero.cli._common import together

__all__ = [
    "Target",
    "force_option",
    "json_option",
    "listing_options",
    "new_file",
    "output_options",
    "raw_option",
    "write_json",
]

_FORMATS = (".csv", ".tsv", ".json")
_RAW = "falsezero.raw"
_INPUTS = ("table", "model", "surveyed", "groups", "detection", "certain", "revisits")


force_option = click.option("--force", is_flag=True, help="Replace files that exist.")


def _remember_raw(context: click.Context, parameter: Any, raw: bool) -> None:
    context.meta[_RAW] = raw


raw_option = click.option(
    "--raw",
    is_flag=True,
    expose_value=False,
    callback=_remember_raw,
    help="Write labels unchanged, even if a spreadsheet would run them as formulas.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="JSON, for machines.")
listing_options = together(force_option, json_option, raw_option)
output_options = together(
    click.option("--output", "-o", metavar="FILE", help="A .csv, .tsv or .json file to write."),
    listing_options,
)
"""Options of a command whose result is a table."""


def new_file(path: str, force: bool) -> Path:
    """Check that a file may be written, before any work is done for it."""
    from falsezero.data.output import check_target

    target = check_target(path)
    _spare_inputs(target)
    if target.exists() and not force:
        raise click.ClickException(f"{target} exists already; give --force to replace it.")
    return target


def _spare_inputs(target: Path) -> None:
    """Refuse to overwrite an input of the command, even with --force."""
    given = click.get_current_context().params
    inputs = [Path(given[name]) for name in _INPUTS if given.get(name)]
    if target.exists() and any(path.exists() and target.samefile(path) for path in inputs):
        raise click.ClickException(f"{target} is what this command reads; give -o another name.")


def write_json(value: Any) -> str:
    """Write strict JSON, in which NaN becomes null."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


class Target:
    """Where a command's result goes, checked before the work begins.

    Without a file: aligned text on a terminal, CSV into a pipe, JSON with ``--json``.
    """

    def __init__(self, output: str | None, force: bool, as_json: bool):
        self.path = None
        self.format = ".json" if as_json else ".csv"
        if output is None or output == "-":
            return
        extension = Path(output).suffix.lower()
        if not as_json and extension not in _FORMATS:
            raise click.UsageError(
                f"-o needs a name that ends in .csv, .tsv or .json, but is {output!r}."
            )
        self.format = ".json" if as_json else extension
        self.path = new_file(output, force)

    @property
    def is_for_people(self) -> bool:
        """Whether the output goes to a terminal."""
        return self.path is None and self.format == ".csv" and sys.stdout.isatty()

    def write_findings(self, findings: Any) -> None:
        """Write a `Tidy`."""
        if self.is_for_people:
            click.echo(repr(findings))
            if "more rows" in repr(findings).splitlines()[-1]:
                _hint()
        elif self.format == ".json":
            self._write(write_json(findings.to_rows()))
        else:
            from falsezero.io.tables import short_number

            lines = (map(short_number, row.values()) for row in findings.to_rows())
            self._write(self._separated(chain([findings.columns], lines)))

    def write_table(self, table: Any) -> None:
        """Write a `Table`."""
        from falsezero.data.show import as_text

        if self.is_for_people:
            click.echo(as_text(table, width=shutil.get_terminal_size().columns))
            _hint()
        elif self.format == ".json":
            rows, columns = table.rows.tolist(), table.columns.tolist()
            content = {"rows": rows, "columns": columns, "values": table.to_numpy().tolist()}
            self._write(json.dumps(_plain(content), ensure_ascii=False) + "\n")
        else:
            from falsezero.io.tables import table_lines

            self._write(self._separated(table_lines(table)))

    def _separated(self, lines: Any) -> str:
        from falsezero.data.plain_text import separated

        context = click.get_current_context(silent=True)
        raw = context is not None and bool(context.meta.get(_RAW))
        return separated(lines, "\t" if self.format == ".tsv" else ",", raw=raw)

    def _write(self, text: str) -> None:
        if self.path is None:
            click.echo(text.encode("utf-8", "replace").decode(), nl=False)
            return
        from falsezero.data.output import write_text

        write_text(self.path, text)
        click.echo(f"Wrote {self.path}.", err=True)


def _hint() -> None:
    click.echo("Write all of it with -o FILE.csv.", err=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
