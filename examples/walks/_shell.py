"""Commands as people type them, for the walks that need no Python."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from falsezero.cli import main


def shell(folder: Path, line: str) -> None:
    """Run `falsezero ...` in a folder; a walk ends where a command fails."""
    program, *arguments = shlex.split(line)
    before = Path.cwd()
    os.chdir(folder)
    try:
        code = main(arguments)
    finally:
        os.chdir(before)
    if program != "falsezero" or code != 0:
        raise SystemExit(f"{line}: exit code {code}")
