"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

``make test-oldest`` installs exactly these and runs the tests.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
NOT_TESTED = {"docs", "bench"}
TOOLS = {"ruff", "mypy", "playwright"}


def lowest_versions() -> dict[str, str]:
    """Lowest version of everything that the library or its tests import, by name."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    groups = [project["dependencies"], *(extras[name] for name in extras.keys() - NOT_TESTED)]
    found = {}
    for requirement in (line for group in groups for line in group):
        parts = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", requirement)
        if parts and parts[1] not in TOOLS:
            found[parts[1]] = parts[2]
    return found


if __name__ == "__main__":
    for name, version in sorted(lowest_versions().items()):
        print(f"{name}=={version}")
