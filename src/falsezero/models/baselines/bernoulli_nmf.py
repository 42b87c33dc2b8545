"""Bernoulli NMF: non-negative factors, made a probability by a shifted and rescaled sigmoid.

The model BNMF that Kabán and Bingham (2008) made for comparison, and that Bingham et al. (2009)
name in their conclusions, after D. D. Lee and H. S. Seung (2000).
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from falsezero.base.capabilities import Capabilities
from falsezero.base.criteria import InformationCriteria
from falsezero.base.empirical_bayes import EmpiricalBayes
from falsezero.base.estimator import Interval, OptimisedModel
from falsezero.data.blocks import Block, Blocks
from falsezero.inference import tree
from falsezero.inference.climb import RowTerms, climb_rows, packed_products
from falsezero.inference.contract import Fit, Point
from falsezero.kernels.bernoulli_nmf import tanh_cells
from falsezero.models.convex.family import NEARER, RowWeights, uniform_rows

__all__ = ["BernoulliNMF"]

_FLOOR = 1e-12
_STEEP = 300.0
"""From here on tanh(u / 2) is 1 in double precision, and sinh(u) squared is still finite."""


class Parts(NamedTuple):
    """The shared state: a non-negative rate for each component and column."""

    components: np.ndarray


class _Statistics(NamedTuple):
    """Additive over blocks: numerator and denominator of the components' update."""

    rise: np.ndarray
    fall: np.ndarray
    log_likelihood: float
    weights: float
    """Sum of the weights, for the prior."""


class TanhSteps:
    """Multiplicative updates by minorisation, rows first, then components.

    With u = sum_k w_nk h_kt and p = tanh(u / 2), both log p and log(1 - p) are concave in u, so
    that Jensen's inequality separates the sum over k; `tanh_cells` bounds each term below by
    a log r - b r in the factor r that an entry is multiplied by, and the bound is largest at
    r = (sum of a) / (sum of b). The likelihood therefore cannot fall. The exponential prior with
    rate `shrinkage` adds to b.
    """

    state_params = {"components": None}
    local_params = {"weights": 1}

    def __init__(self, n_components: int, blocks: Blocks, shrinkage: float):
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.dtype = blocks.dtype
        total, observed = blocks.column_counts
        self.column_mean = (total + 0.5) / (observed + 1)

    def init(self, blocks: Blocks, rng: np.random.Generator) -> tuple[Parts, list[RowWeights]]:
        """Uniform weights and components whose expected cells are the column means on average."""
        n_rows, n_columns = blocks.shape
        k = self.n_components
        weights = rng.uniform(0.1, 1.9, (n_rows, k)) / k
        scale = 2 * np.arctanh(np.minimum(self.column_mean, 0.99))
        components = scale * rng.uniform(0.1, 1.9, (k, n_columns))
        local = [RowWeights(weights[b.rows].astype(self.dtype)) for b in blocks]
        return Parts(np.maximum(components, _FLOOR).astype(self.dtype)), local

    def local_step(
        self, block: Block, local: RowWeights, state: Parts, rng: Any
    ) -> tuple[RowWeights, _Statistics]:
        """New weights of the rows of a block, then its share of the components' update."""
        h, new, stats = state.components, [], []
        for tile in block.tiles():
            start = tile.start - block.start
            weights = local.weights[start : start + tile.shape[0]]
            codes = tile.codes
            rise, fall, log_likelihood = _cells(codes, weights, h)
            mass = float(weights.sum(dtype=float))
            weights = self._updated(weights, rise @ h.T, fall @ h.T)
            rise, fall, _ = _cells(codes, weights, h)
            new.append(weights)
            stats.append(_Statistics(weights.T @ rise, weights.T @ fall, log_likelihood, mass))
        return RowWeights(np.concatenate(new)), tree.total(stats)

    def settle(self, block: Block, local: RowWeights, state: Parts) -> RowWeights:
        """Weights at their maximum, components fixed: a concave problem of each row."""
        h, found = state.components.astype(float), []
        for tile in block.tiles():
            start = local.weights[tile.start - block.start :][: tile.shape[0]]
            surface = _TanhSurface(tile.codes, h, self.shrinkage)
            found.append(climb_rows(surface, start, low=_FLOOR))
        return RowWeights(np.concatenate(found).astype(self.dtype))

    def global_step(self, stats: _Statistics, state: Parts, rng: Any) -> Parts:
        """Components times their numerators over their denominators."""
        return Parts(self._updated(state.components, stats.rise, stats.fall))

    def objective(self, stats: _Statistics, state: Parts) -> float:
        """Log likelihood and log prior."""
        return stats.log_likelihood - self.penalty(stats.weights, state)

    def penalty(self, weights: float, state: Parts) -> float:
        """Minus the log prior, up to a constant."""
        return self.shrinkage * (weights + float(state.components.sum(dtype=float)))

    def _updated(self, factor: np.ndarray, rise: np.ndarray, fall: np.ndarray) -> np.ndarray:
        ratio = np.divide(rise, fall + self.shrinkage, dtype=factor.dtype)
        updated: np.ndarray = np.maximum(factor * ratio, _FLOOR)
        return updated

    def project(self, trial: Point, reference: Point) -> Point:
        """Keep everything positive."""
        components = np.maximum(trial.state.components, NEARER * reference.state.components)
        rows = [
            RowWeights(np.maximum(t.weights, NEARER * r.weights))
            for t, r in zip(trial.local, reference.local, strict=True)
        ]
        return Point(Parts(components), rows)


class _TanhSurface:
    """Log likelihood of rows less shrinkage times the sum of their weights."""

    def __init__(self, codes: np.ndarray, components: np.ndarray, shrinkage: float):
        self.codes, self.components, self.shrinkage = codes, components, shrinkage
        self.products = packed_products(components).T

    def __call__(self, rows: np.ndarray, w: np.ndarray) -> RowTerms:
        codes = self.codes[rows]
        u = np.clip(w @ self.components, _FLOOR, _STEEP)
        p = np.tanh(u / 2)
        log_zero = np.log(2.0) - np.logaddexp(0.0, u)
        cells = np.where(codes == 1, np.log(p), np.where(codes == 0, log_zero, 0.0))
        sine, odds = np.sinh(u), expit(u)
        slope = np.where(codes == 1, 1 / sine, np.where(codes == 0, -odds, 0.0))
        of_one, of_zero = np.cosh(u) / np.square(sine), odds * (1 - odds)
        bend = np.where(codes == 1, of_one, np.where(codes == 0, of_zero, 0.0))
        value = cells.sum(axis=1) - self.shrinkage * w.sum(axis=1)
        return value, slope @ self.components.T - self.shrinkage, bend @ self.products


def _cells(codes: np.ndarray, weights: np.ndarray, components: np.ndarray) -> Any:
    rate = np.maximum(weights @ components, _FLOOR)
    rise = -np.expm1(-rate)
    fall = np.empty_like(rate)
    log_likelihood = tanh_cells(codes, rate, rise, fall)
    return rise, fall, log_likelihood


class BernoulliNMF(InformationCriteria, EmpiricalBayes, OptimisedModel):
    """Parts of a table of zeros and ones: non-negative factors that only ever add ones.

    p(one) = tanh(u / 2) = (e^u - 1) / (e^u + 1) with u = sum_k w_nk h_kt, all of it non-negative:
    a sigmoid shifted and rescaled so that no part means no ones. Zeros are the absence of parts and
    have no cause of their own, so no phantom can appear. Maximum likelihood by multiplicative
    updates that cannot lower it.

    Parameters
    ----------
    n_components : int, default=5
        Number of components (parts).
    shrinkage : float, default=1e-3
        Rate of an exponential prior on weights and components. The default is weak: it keeps
        columns and rows of ones finite.
    max_iter, tol : int and float
        Stop after `max_iter` iterations, or when an iteration improves the objective by less than
        the fraction `tol`.
    n_init, acceleration, binarize, checkpoint, callback, n_jobs, random_state, verbose
        As in `AspectBernoulli`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_columns)
        Rates h; most active component first.
    row_weights_ : array of shape (n_rows, n_components)
        Weights w of the training rows.
    log_likelihood_ : float
        Of the training table, at those weights.
    objective_, history_, converged_, n_iter_, n_features_in_, feature_names_in_
        As in `AspectBernoulli`; the objective has the log prior in it.

    Examples
    --------
    >>> import falsezero as fz
    >>> digits = fz.datasets.make_digits_demo().table
    >>> model = BernoulliNMF(n_components=4, random_state=0, tol=1e-4).fit(digits)
    >>> bool((model.components_ >= 0).all()), model.transform(digits).shape
    (True, (1797, 4))
    """

    capabilities = Capabilities(
        table="binary",
        link="tanh",
        row_score="density",
        sample_size="cells",
        distributed=True,
    )
    _parameter_constraints = {
        **OptimisedModel._parameter_constraints,
        "shrinkage": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 5,
        *,
        shrinkage: float = 1e-3,
        max_iter: int = 1000,
        tol: float = 1e-6,
        n_init: int = 1,
        acceleration: str | None = "squarem",
        binarize: float | None = None,
        checkpoint: Any = None,
        callback: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.acceleration = acceleration
        self.binarize = binarize
        self.checkpoint = checkpoint
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _steps(self, blocks: Blocks) -> TanhSteps:
        return TanhSteps(self.n_components, blocks, self.shrinkage)

    def _start_rows(self, blocks: Blocks) -> Point:
        return Point(Parts(self.components_.astype(blocks.dtype)), self._fresh_rows(blocks))

    def _fresh_rows(self, blocks: Blocks) -> list[Any]:
        return list(uniform_rows(blocks, self.n_components))

    def _adopt(self, fit: Fit, blocks: Blocks) -> None:
        weights = np.concatenate([part.weights for part in fit.local])
        order = np.argsort(-weights.sum(axis=0), kind="stable")
        self.components_ = fit.state.components[order]
        self.row_weights_ = weights[:, order]
        penalty = self._steps(blocks).penalty(float(weights.sum(dtype=float)), fit.state)
        self.log_likelihood_ = fit.objective + penalty
        self.n_observed_ = blocks.n_observed

    def _weights(self, local: RowWeights) -> np.ndarray:
        return local.weights

    @property
    def n_parameters_(self) -> int:
        """Free parameters of the fit, (N + T - 1) K: the scale of a component is free to choose."""
        k, n_columns = self.components_.shape
        return (len(self.row_weights_) + n_columns - 1) * k
