"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

``make test-oldest`` installs exactly these and runs the tests. Listed is what ``.[dev]`` installs;
other extras, such as zarr, whose readers need newer versions of the same packages, are tested with
the newest versions only.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
TOOLS = {"ruff", "mypy", "playwright"}
"""Tools that the tests run but do not import; any version will do."""

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[\w,]+)\])?(?:>=(?P<lowest>[\w.]+))?")


def lowest_versions() -> dict[str, str]:
    """Lowest version of everything that the library or its tests import, by name."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    requirements, found = [*project["dependencies"], "falsezero[dev]"], {}
    for requirement in requirements:
        parts = _REQUIREMENT.fullmatch(requirement)
        if parts is None:
            raise ValueError(f"{requirement!r} in pyproject.toml is not of the form name>=version.")
        if parts["name"] == project["name"]:
            for extra in parts["extras"].split(","):
                requirements += project["optional-dependencies"][extra]
        elif parts["name"] not in TOOLS:
            found[parts["name"]] = parts["lowest"]
    return found


if __name__ == "__main__":
    for name, version in sorted(lowest_versions().items()):
        print(f"{name}=={version}")
