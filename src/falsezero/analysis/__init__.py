"""Questions asked of a fit: numbers and tidy tables."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

_PARTS = sorted(part.name for part in iter_modules(__path__) if not part.name.startswith("_"))

__all__ = list(_PARTS)


def __getattr__(name: str) -> Any:
    """Import a part when it is first used, so that ``fz.analysis.metrics`` works by itself."""
    if name not in _PARTS:
        raise AttributeError(f"falsezero.analysis has no {name!r}")
    return import_module(f"{__name__}.{name}")
