"""A test for row-wise losses: does a phantom explain more than chance?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from falsezero.backends import map_blocks
from falsezero.base.estimator import spawn_seeds
from falsezero.data.arrays import as_dense
from falsezero.data.blocks import Blocks
from falsezero.data.validate import check_table
from falsezero.inference.engine import optimise
from falsezero.models.convex.aspect_bernoulli import AspectBernoulli, ExactSteps
from falsezero.models.convex.family import Components, RowWeights, cut_rows

__all__ = ["PhantomTest", "phantom_test"]

_BOOTSTRAPS, _ROUGHLY = 24, 5
_MOST_CELLS = 40_000
_GAIN_Z = 4.0
"""Standard deviations beyond the bootstrap; bootstrap tables resemble the null only roughly."""
_FREE_Z = 5.0
"""A free component that carries information gains more than this."""
_MOST_COMPONENTS = 6
_SMOOTHING = 1.0
"""Prior of the fit that bootstrap tables come from: maximum likelihood fits have weights nearer
to the edge than the table's own, and a phantom gains less in tables drawn from them."""
_START = 0.1
"""Weight that an added component has at the start."""
_WARM: dict[str, Any] = {"max_iter": 200, "tol": 1e-6}
"""Settings of fits that begin near their optimum."""
_COLD: dict[str, Any] = {"n_init": 3, "max_iter": 300, "tol": 1e-6, "solver": "exact"}
"""Settings of fits that begin at random."""


class _Start(NamedTuple):
    """Where a fit begins: components and row weights."""

    components: np.ndarray
    weights: np.ndarray

    def with_component(self, component: np.ndarray) -> _Start:
        """One more component at the end, with a little of every row's weight."""
        added = np.full((len(self.weights), 1), _START)
        return _Start(
            np.vstack([self.components, component]),
            np.hstack([(1 - _START) * self.weights, added]),
        )


class _Steps(ExactSteps):
    """EM for the Aspect Bernoulli model from a given start; the last component may be pinned."""

    def __init__(self, blocks: Blocks, start: _Start, pinned: float | None, prior: float):
        super().__init__(len(start.components), blocks, prior)
        self.start = start
        self.pinned = pinned

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Components, list[RowWeights]]:
        """The given start, away from the edge that multiplicative updates cannot leave."""
        weights = np.maximum(self.start.weights, 1e-4)
        weights /= weights.sum(axis=1, keepdims=True)
        inside = np.clip(self.start.components, 1e-4, 1 - 1e-4)
        return self.clip(inside), cut_rows(weights, blocks)

    def clip(self, components: np.ndarray) -> Components:
        """Components inside their range, the last one where it is pinned."""
        clipped = super().clip(components).components
        if self.pinned is not None:
            clipped[-1] = np.clip(self.pinned, self.floor, 1 - self.floor)
        return Components(clipped)


class _Fitted(NamedTuple):
    log_likelihood: float
    start: _Start

    @property
    def expected(self) -> np.ndarray:
        expected: np.ndarray = self.start.weights @ self.start.components
        return expected


def _height(fit: _Fitted) -> float:
    return fit.log_likelihood


def _fit(
    values: np.ndarray, start: _Start, pinned: float | None = None, prior: float = 0.0
) -> _Fitted:
    blocks = Blocks.cut(values)
    steps = _Steps(blocks, start, pinned, prior)
    seeds = [np.random.SeedSequence(0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = optimise(steps, blocks, seeds, map_blocks, **_WARM)
    weights = np.concatenate([part.weights for part in found.local])
    return _Fitted(found.objective, _Start(found.state.components, weights))


@dataclass(frozen=True)
class PhantomTest:
    """The result of `phantom_test`.

    Attributes
    ----------
    found : bool
        Whether there is such a phantom.
    kind : str
        "white" (row-wise losses) or "black" (row-wise additions).
    n_content : int
        Components besides the phantom.
    gain_z : float
        Standard deviations by which a phantom raises the log likelihood more than it does in tables
        drawn from a fit without one.
    free_z : float
        The same of a free component in its place, in tables drawn from the fit with the phantom;
        small for a real phantom, which needs no columns of its own.
    row_rates : array
        Share of each row that the phantom leaves alone: the detection rate of a row, if white.
    column_most : array
        The largest rate of ones that any content component has in a column.
    """

    found: bool
    kind: str
    n_content: int
    gain_z: float
    free_z: float
    row_rates: np.ndarray = field(repr=False)
    column_most: np.ndarray = field(repr=False)

    @property
    def sentence(self) -> str:
        """The finding in words."""
        what = "losses" if self.kind == "white" else "additions"
        if self.found:
            mean = 1 - float(self.row_rates.mean())
            return f"Rows differ in their {what}: about {mean:.0%} on average."
        return f"Nothing shows that rows differ in their {what}."


def phantom_test(
    table: Any,
    n_components: int | None = None,
    *,
    kind: str = "white",
    random_state: Any = None,
) -> PhantomTest:
    """Test whether a table has row-wise losses (a white phantom) or additions (a black one).

    Nested Aspect Bernoulli fits are compared by their log likelihoods: K content components; the
    same and one pinned to make zeros only (ones only); and K + 1 free ones. How much the likelihood
    rises by chance is learnt from tables drawn from the smaller fit (a parametric bootstrap), since
    weights at the edge of the simplex follow no textbook distribution. There is a phantom where the
    pinned component raises it by more than chance, and setting it free does not.

    Parameters
    ----------
    table : Table, array, sparse array or data frame
    n_components : int, optional
        Components, phantom included. By default the smallest number, up to 6, for which a free
        component in the phantom's place gains nothing.
    kind : {"white", "black"}, default="white"
    random_state : int, Generator, RandomState or None

    Returns
    -------
    PhantomTest

    Examples
    --------
    >>> import falsezero as fz
    >>> clean = fz.datasets.make_aspect_bernoulli(
    ...     300, 30, 3, concentration=0.1, shape=(0.2, 0.3), random_state=0
    ... ).table
    >>> fz.phantom_test(clean, 4, random_state=0).found
    False
    >>> fz.phantom_test(fz.corrupt(clean, omit=0.7, random_state=0), 4, random_state=0).found
    True
    """
    if kind not in ("white", "black"):
        raise ValueError(f'kind={kind!r} must be "white" or "black".')
    if n_components is not None and n_components < 2:
        raise ValueError(f"n_components={n_components} must be two or more, phantom included.")
    values = _dense(table)
    rng = np.random.default_rng(spawn_seeds(random_state, 1)[0])
    some = values[_tested_rows(values, rng)]
    pinned = 0.0 if kind == "white" else 1.0
    fits = _Fits(some, pinned, rng)
    content = n_components - 1 if n_components is not None else fits.enough()
    phantom = fits.phantom(content)
    gain_z = fits.gain_z(content)
    free_z = fits.free_z(content) if gain_z > _GAIN_Z else 0.0
    rates = 1 - _all_rows(values, phantom, pinned).start.weights[:, -1]
    found = gain_z > _GAIN_Z and free_z < _FREE_Z
    most = phantom.start.components[:-1].max(axis=0)
    return PhantomTest(bool(found), kind, content, gain_z, free_z, rates, most)


def _dense(table: Any) -> np.ndarray:
    return np.asarray(as_dense(check_table(AspectBernoulli(), table)), dtype=float)


def _tested_rows(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """All rows, or a sample small enough to be tested quickly."""
    n_rows, n_columns = values.shape
    most = max(50, _MOST_CELLS // n_columns)
    return np.arange(n_rows) if n_rows <= most else np.sort(rng.choice(n_rows, most, False))


class _Fits:
    """Fits of one table with and without a phantom, each computed once."""

    def __init__(self, values: np.ndarray, pinned: float, rng: np.random.Generator):
        self.values, self.pinned, self.rng = values, pinned, rng
        self._plain: dict[int, _Fitted] = {}
        self._phantom: dict[int, _Fitted] = {}

    def plain(self, content: int) -> _Fitted:
        """Content components only."""
        if content not in self._plain:
            self._plain[content] = _cold(self.values, content, self.rng)
        return self._plain[content]

    def phantom(self, content: int) -> _Fitted:
        """The same and a phantom."""
        if content not in self._phantom:
            found = _add(self.values, self.plain(content), self.pinned)
            self._phantom[content] = found
            # The fit with the phantom may have found components that improve the plain fit, too.
            start = _Start(found.start.components[:-1], found.start.weights[:, :-1])
            self._plain[content] = max(self.plain(content), _fit(self.values, start), key=_height)
        return self._phantom[content]

    def gain_z(self, content: int) -> float:
        """Gain by the phantom, standardised by its gains in tables without one."""
        phantom = self.phantom(content)
        plain = self.plain(content)
        gain = phantom.log_likelihood - plain.log_likelihood
        smooth = _fit(self.values, plain.start, None, _SMOOTHING)
        chance = [_gain(self.values, smooth, self.pinned, self.rng) for _ in range(_BOOTSTRAPS)]
        return _standardised(gain, chance)

    def free_z(self, content: int) -> float:
        """Gain by setting the phantom free, standardised likewise."""
        phantom = self.phantom(content)
        # A fit with one more free component may have found a better optimum.
        free = max(_height(_free(self.values, phantom)), _height(self.plain(content + 1)))
        freed = free - phantom.log_likelihood
        smooth = _fit(self.values, phantom.start, self.pinned, _SMOOTHING)
        chance = [_freed(self.values, smooth, self.pinned, self.rng) for _ in range(_ROUGHLY)]
        return _standardised(freed, chance)

    def enough(self) -> int:
        """The smallest number of content components beside which a phantom need not be free."""
        most = min(_MOST_COMPONENTS, min(self.values.shape)) - 1
        sizes = range(1, max(2, most))
        return next((k for k in sizes if self.free_z(k) < _FREE_Z), max(1, most))


def _cold(values: np.ndarray, size: int, rng: np.random.Generator) -> _Fitted:
    """The best fit of several random starts."""
    model = AspectBernoulli(size, **_COLD, random_state=rng.spawn(1)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(values)
    return _fit(values, _Start(model.components_, model.row_weights_))


def _add(values: np.ndarray, plain: _Fitted, pinned: float) -> _Fitted:
    component = np.full(values.shape[1], pinned)
    return _fit(values, plain.start.with_component(component), pinned)


def _drawn(values: np.ndarray, fit: _Fitted, rng: np.random.Generator) -> np.ndarray:
    """A table drawn from a fit, with the same unobserved cells."""
    drawn = (rng.random(values.shape) < fit.expected).astype(float)
    return np.where(np.isnan(values), np.nan, drawn)


def _gain(values: np.ndarray, plain: _Fitted, pinned: float, rng: np.random.Generator) -> float:
    """Gain by a phantom in a simulated table without one."""
    table = _drawn(values, plain, rng)
    again = _fit(table, plain.start)
    return _add(table, again, pinned).log_likelihood - again.log_likelihood


def _freed(values: np.ndarray, phantom: _Fitted, pinned: float, rng: np.random.Generator) -> float:
    """Gain by a free component over the phantom in a simulated table with a phantom."""
    table = _drawn(values, phantom, rng)
    again = _fit(table, phantom.start, pinned)
    return _free(table, again).log_likelihood - again.log_likelihood


def _free(values: np.ndarray, phantom: _Fitted) -> _Fitted:
    """A fit with the phantom set free, started half-way to the column means.

    At the edge itself multiplicative updates would hardly move it.
    """
    components = phantom.start.components.copy()
    components[-1] = (components[-1] + np.nanmean(values, axis=0)) / 2
    return _fit(values, _Start(components, phantom.start.weights))


def _standardised(gain: float, chance: list[float]) -> float:
    spread = max(float(np.std(chance, ddof=1)), 1e-9)
    return float((gain - np.mean(chance)) / spread)


def _all_rows(values: np.ndarray, phantom: _Fitted, pinned: float) -> _Fitted:
    """The phantom's weight in every row, where only some were tested."""
    if len(values) == len(phantom.start.weights):
        return phantom
    mean = phantom.start.weights.mean(axis=0)
    return _fit(values, _Start(phantom.start.components, np.tile(mean, (len(values), 1))), pinned)
