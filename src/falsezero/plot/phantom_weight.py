"""Weight of the noise component against the number of ones in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from falsezero.analysis.noise import find_phantoms
from falsezero.plot._canvas import COLOURS, KIND_COLOUR, Display, legend_outside

__all__ = ["PhantomWeightDisplay"]

_RINGS = "os^D"


class PhantomWeightDisplay(Display):
    """Is it noise? A component of omissions should have most weight in rows with few ones.

    One dot per row: its number of ones, and the share that the phantom explains (Bingham et al.,
    section 3.2, on the fossil sites). For a black phantom the relation is reversed.

    Parameters
    ----------
    n_ones : array of shape (n_rows,)
    weights : dict of int to array
        Weight of each phantom in each row.
    kinds : dict of int to str
        "white" or "black" for each of them.

    Examples
    --------
    >>> import falsezero as fz
    >>> digits = fz.corrupt(fz.datasets.make_digits_demo().table, omit=0.4, random_state=0)
    >>> model = fz.AspectBernoulli(10, prior=0, tol=1e-4, n_init=4, random_state=0).fit(digits)
    >>> display = PhantomWeightDisplay.from_estimator(model, digits)
    >>> [correlation < -0.5 for correlation in display.correlations.values()]
    [True]
    """

    def __init__(self, n_ones: Any, weights: dict[int, np.ndarray], kinds: dict[int, str]):
        self.n_ones = np.asarray(n_ones)
        self.weights = weights
        self.kinds = kinds

    @classmethod
    def from_estimator(
        cls, model: Any, table: Any, components: Any = None, *, ax: Any = None, **options: Any
    ) -> PhantomWeightDisplay:
        """Draw a fitted model and its table; `components` defaults to the phantoms found."""
        kinds = find_phantoms(model).kinds
        if components is None:
            components = np.flatnonzero(kinds != "content")
        parts = list(model.weights_by_block(table))
        n_ones = np.concatenate([(block.codes == 1).sum(axis=1) for block, _ in parts])
        weights = np.concatenate([weights for _, weights in parts])
        picked = [int(k) for k in components]
        by_component = {k: weights[:, k] for k in picked}
        return cls(n_ones, by_component, {k: str(kinds[k]) for k in picked}).plot(ax, **options)

    @property
    def correlations(self) -> dict[int, float]:
        """Correlation of each component's weight with the number of ones (0 where constant)."""
        if np.ptp(self.n_ones) == 0:
            return dict.fromkeys(self.weights, 0.0)
        return {
            k: float(stats.pearsonr(w, self.n_ones)[0]) if np.ptp(w) > 0 else 0.0
            for k, w in self.weights.items()
        }

    def plot(self, ax: Any = None, marked: Sequence[int] = ()) -> PhantomWeightDisplay:
        """Draw one cloud of dots per component, and rings around the rows in `marked`."""
        ax = self._begin(ax, (5.0, 3.8))
        markers = "osD^v"
        for i, (k, correlation) in enumerate(self.correlations.items()):
            ax.scatter(
                self.n_ones,
                self.weights[k],
                s=14,
                alpha=0.45,
                linewidths=0,
                marker=markers[i % len(markers)],
                color=KIND_COLOUR[self.kinds[k]] if i == 0 else COLOURS[(i + 1) % len(COLOURS)],
                label=f"component {k + 1}, correlation {correlation:.2f}".replace(
                    "-", "\N{MINUS SIGN}"
                ),
            )
            for j, row in enumerate(marked):
                ax.plot(
                    self.n_ones[row], self.weights[k][row], _RINGS[j % len(_RINGS)],
                    ms=9, mfc="none", mec="black", mew=1.3,
                )  # fmt: skip
        noise_only = all(kind != "content" for kind in self.kinds.values())
        if not self.weights:
            ax.text(0.5, 0.5, "no component is noise", transform=ax.transAxes, ha="center")
        else:
            ax.legend(frameon=False, fontsize=8, **legend_outside(len(self.weights)))
        ax.set(
            xlabel="ones in the row",
            ylabel=f"share of the {'noise ' if noise_only else ''}component in the row",
            ylim=(-0.03, 1.03),
        )
        ax.spines[["top", "right"]].set_visible(False)
        return self
