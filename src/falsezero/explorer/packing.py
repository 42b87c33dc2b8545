"""A fit and its table in few bytes: quantised factors, gaps between ones, deflated, as text."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Bundle", "Precision", "dequantise", "gaps_of", "pack", "quantise"]

_PLAIN = bytes.maketrans(b"&<>`", b",./:")


@dataclass(frozen=True)
class Precision:
    """Quantization levels of a page.

    Weights are stored as roots, which makes steps small where weights are small: when a component
    with nearly all of a row's weight is removed, the others are scaled up, and their errors with
    them. Weights below `floor` are dropped; they matter only once nearly everything else of a row
    is removed. Without noise, probabilities are accurate to 1/255 at every precision in use, and to
    2/255 at the coarsest where a row loses its largest component.
    """

    weights: int
    components: int
    floor: float = 0.0
    root: int = 4


@dataclass
class Bundle:
    """A header in JSON, and named arrays of whole numbers."""

    header: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


def quantise(values: np.ndarray, levels: int, power: int = 1) -> tuple[np.ndarray, dict[str, Any]]:
    """Whole numbers up to `levels`, and how to decode them: range (code / levels - shift) ** power.

    >>> codes, how = quantise(np.array([0.0, 0.5, 1.0]), 255)
    >>> codes.tolist(), how
    ([0, 128, 255], {'levels': 255, 'range': 1.0, 'shift': 0.0, 'power': 1})
    """
    size = float(np.abs(values).max(initial=0.0)) or 1.0
    if (values >= 0).all():
        size = 1.0 if size <= 1.0 else size
        codes = np.rint((values / size) ** (1 / power) * levels)
        how = {"levels": levels, "range": size, "shift": 0.0, "power": power}
    else:
        levels -= levels % 2
        codes = np.rint((values / (2 * size) + 0.5) * levels)
        how = {"levels": levels, "range": 2 * size, "shift": 0.5, "power": 1}
    return codes.astype(np.uint32), how


def dequantise(codes: np.ndarray, how: dict[str, Any]) -> np.ndarray:
    """The numbers that the page decodes from the codes of `quantise`."""
    numbers: np.ndarray = how["range"] * (codes / how["levels"] - how["shift"]) ** how["power"]
    return numbers


def gaps_of(cells: np.ndarray) -> np.ndarray:
    """Number of False cells before each True cell, row by row; 255 continues in the next byte.

    >>> cells = np.zeros(400, dtype=bool)
    >>> cells[[1, 2, 300]] = True
    >>> gaps_of(cells).tolist()
    [1, 0, 255, 42]
    """
    at = np.flatnonzero(cells)
    gaps = np.diff(at, prepend=-1) - 1
    jumps = gaps // 255
    codes = np.full(len(gaps) + int(jumps.sum()), 255, dtype=np.uint8)
    codes[np.arange(len(gaps)) + np.cumsum(jumps)] = gaps % 255
    return codes


def pack(bundle: Bundle) -> str:
    """Text for a page: the number of bytes, a space, and the deflated bytes in base 85."""
    sections, parts = [], []
    for name, array in bundle.arrays.items():
        most = int(array.max(initial=0))
        width = 1 if most < 256 else 2 if most < 65536 else 4
        kind = {1: "bytes", 2: "planes2", 4: "planes4"}[width]
        sections.append({"name": name, "type": kind, "count": int(array.size)})
        parts.append(_planes(array.ravel(), width))
    header = json.dumps(
        {**bundle.header, "sections": sections}, ensure_ascii=False, separators=(",", ":")
    ).encode("utf-8", "replace")
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    data = len(header).to_bytes(4, "little") + header + b"".join(parts)
    packed = deflate.compress(data) + deflate.flush()
    padded = packed + bytes(-len(packed) % 4)
    # Characters that would need escaping in HTML are replaced by others that do not.
    return f"{len(packed)} {base64.b85encode(padded).translate(_PLAIN).decode()}"


def _planes(numbers: np.ndarray, width: int) -> bytes:
    """All highest bytes first, then the next: similar bytes side by side compress better."""
    as_bytes = numbers.astype(f">u{width}").view(np.uint8).reshape(-1, width)
    return np.ascontiguousarray(as_bytes.T).tobytes()
