"""Try a file in a process of its own, with limits, before it is read in this one.

Libraries that read files in compiled code can loop for ever on a damaged file, end the process, or
take all memory, with no way to stop them from inside.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from falsezero.data.errors import FileReadError

__all__ = ["probed"]

_FOLDER = Path(__file__).parent
_MEMORY = 4 << 30
_SECONDS, _BYTES_A_SECOND = 60, 10_000_000


def probed(path: Path, script: str, kind: str, *arguments: str) -> dict[str, Any] | None:
    """What a script beside this file says of a file, as JSON; None where it has nothing to say.

    Raises `FileReadError` where the script ends in any other way.
    """
    if not sys.executable:
        return None
    seconds = _SECONDS + path.stat().st_size / _BYTES_A_SECOND
    # Without -P the modules beside the script would be found before the libraries of their names.
    command = [sys.executable, "-P", str(_FOLDER / script), str(_MEMORY), str(path), *arguments]
    try:
        found = subprocess.run(command, capture_output=True, timeout=seconds, check=True)
        answer: dict[str, Any] | None = json.loads(found.stdout)
        return answer
    except (subprocess.SubprocessError, ValueError) as problem:
        if getattr(problem, "returncode", 0) < 0:
            raise FileReadError(
                f"{path} is damaged or asks for too much memory: it cannot be read as a {kind} "
                "file."
            ) from None
        raise FileReadError(
            f"{path} is damaged or cut off: it is not a complete {kind} file."
        ) from None
