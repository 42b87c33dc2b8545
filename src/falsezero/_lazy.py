"""Public names that are imported when they are first used.

The stub file of a package (``__init__.pyi``) is the one list of its public names: type checkers
read it as it stands, and `attach` reads it at run time. `import falsezero` itself costs nothing.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["attach"]


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and the public names of a package, from its stub.

    >>> load, _, names = attach("falsezero.models")
    >>> "AspectBernoulli" in names
    True
    >>> load("AspectBernoulli").__name__
    'AspectBernoulli'
    """
    homes = read_stub(package)
    names = sorted(homes)

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"{package} has no {name!r}")
        home = homes[name]
        is_part = home == package
        value = import_module(f"{home}.{name}") if is_part else getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted({*names, *vars(sys.modules[package])}), names


def read_stub(package: str) -> dict[str, str]:
    """Module of every name that the stub of a package imports.

    ``from package.models import *`` stands for the names in ``__all__`` of that package's stub.
    """
    spec: Any = find_spec(package)
    source = spec.loader.get_data(f"{spec.origin}i")
    homes: dict[str, str] = {}
    exported: list[str] | None = None
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                found = read_stub(node.module) if alias.name == "*" else {alias.name: node.module}
                homes.update(found)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            exported = ast.literal_eval(node.value)
    return homes if exported is None else {name: homes[name] for name in exported}
