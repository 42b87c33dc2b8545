"""The image problem of the noisy-or paper: eight overlapping patterns and a leak."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from falsezero.data.table import Table

__all__ = ["NoisyOrImages", "make_noisy_or_images"]

_PATTERNS = """
........ .XX..... X....... .......X XXXXXXXX ........ ........ ........ X.X.X.X.
XXXXXXXX .XX..... XX...... ......XX X......X ........ ........ ........ ........
XXXXXXXX .XX..... .XX..... .....XX. X......X ..XXXX.. ........ ........ X.X.X.X.
........ .XX..... ..XX.... ....XX.. X......X ..XXXX.. ........ ........ ........
........ .XX..... ...XX... ...XX... X......X ..XXXX.. ........ ....XXXX X.X.X.X.
........ .XX..... ....XX.. ..XX.... X......X ..XXXX.. XXXXXXXX ....XXXX ........
........ .XX..... .....XX. .XX..... X......X ........ XXXXXXXX ....XXXX X.X.X.X.
........ .XX..... ......XX XX...... XXXXXXXX ........ ........ ....XXXX ........
"""


class NoisyOrImages(NamedTuple):
    """Images as rows of a table, and the truth behind them."""

    table: Table
    sources: NDArray[np.float64]
    """Which patterns are on in each image (rows x 8)."""
    loadings: NDArray[np.float64]
    leak: NDArray[np.float64]
    priors: NDArray[np.float64]


def make_noisy_or_images(
    n_rows: int = 1000,
    *,
    loading: float = 0.8,
    leak: float = 0.1,
    prior: float = 0.25,
    random_state: Any = None,
) -> NoisyOrImages:
    """Draw `n_rows` 8 x 8 images from eight patterns that overlap, and a ninth that leaks (Fig. 4).

    A pattern is on with probability `prior`; each of its pixels then lights up with probability
    `loading`. Pixels of the ninth pattern light up by themselves with probability `leak`, all
    others with 0.005.

    >>> images = make_noisy_or_images(5, random_state=0)
    >>> images.table.shape, images.loadings.shape
    ((5, 64), (8, 64))
    """
    generator = np.random.default_rng(random_state)
    lines = [line.split() for line in _PATTERNS.split("\n") if line]
    pixels = np.array([[[c == "X" for c in part] for part in line] for line in lines])
    patterns = pixels.transpose(1, 0, 2).reshape(9, 64).astype(float)
    loadings, leaks = loading * patterns[:8], 0.005 + leak * patterns[8]
    sources = (generator.random((n_rows, 8)) < prior).astype(float)
    # A loading of one would have the logarithm of zero, and no number for a pattern that is off.
    fails = np.maximum(1 - loadings, np.finfo(float).tiny)
    silent = (1 - leaks) * np.exp(sources @ np.log(fails))
    ones = generator.random(silent.shape) >= silent
    table = Table(ones, name="noisy-or images")
    return NoisyOrImages(table, sources, loadings, leaks, np.full(8, prior))
