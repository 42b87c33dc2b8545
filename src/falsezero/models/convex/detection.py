"""How looks depend on what is there: rates on the logit scale, with Gaussian effects.

A look j at row n and column t records a one with probability sigma(eta), where

    eta = b_t . c_nj + r_n + w_o(nj) + s u,      u ~ N(0, 1) for each cell,

b_t is the column's effect on the look's variables c (the first of them 1), r_n the row's, w the
observer's, and s u the cell's own (abundance, distance), integrated by Gauss-Hermite quadrature.
Effects have Gaussian priors with learnt centres and widths and Gaussian posteriors: with
xi^2 = E[eta]^2 + Var[eta],

    E[log p(x of n looks)] >= (x - n/2) E[eta] - n log 2 cosh(xi / 2)            (1)

(Jaakkola and Jordan 2000), an equality where effects are known exactly. Given the probabilities
that the thing is there, (1) is quadratic in the effects with curvature n tanh(xi/2) / (2 xi), so
that their posteriors come in closed form and the bound cannot fall.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from falsezero.data.look_blocks import Patterns
from falsezero.kernels.look_nodes import (
    CurvatureSums,
    drawn_sums,
    expected_sums,
    node_evidence,
)

SWEEPS = 3
NODES = 9
FIRST_SPREAD = 1.5
"""Spread between cells that its search starts from."""


class Effects(NamedTuple):
    """Posterior of the effects but for the columns' means, and the priors learnt with it."""

    covariance: np.ndarray
    centre: np.ndarray
    width2: np.ndarray
    observer_mean: np.ndarray
    observer_variance: np.ndarray
    observer_width2: np.ndarray
    row_width2: np.ndarray
    spread: np.ndarray


class Prior(NamedTuple):
    """What is believed before any look: of the general level, and of how much things differ."""

    level: float
    level_width: float
    width: float
    is_learnt: bool


class RowEffects(NamedTuple):
    """Gaussian posterior of the effects of a block's rows; None where rows have none."""

    mean: np.ndarray | None
    variance: np.ndarray | None


class PatternEvidence(NamedTuple):
    """Log evidence of each pattern and column, and what it was taken at."""

    posterior: np.ndarray
    """Shares of the nodes of the cell effect, patterns x columns x nodes."""
    log_total: np.ndarray
    base: np.ndarray
    variance: np.ndarray
    """Mean and variance of eta without the cell effect, patterns x looks x columns."""
    shifts: np.ndarray
    """The cell effect at its nodes."""


class LookRates:
    """The rates of one kind of look, detections or false alarms: evidence, statistics, learning."""

    def __init__(
        self,
        shape: tuple[int, int, int],
        prior: Prior,
        *,
        has_rows: bool = False,
        spread: float | None = 0.0,
    ):
        self.n_columns, self.n_terms, self.n_observers = shape
        self.prior = prior
        self.has_rows = has_rows
        self.learns_spread = spread is None
        self.first_spread = FIRST_SPREAD if spread is None else float(spread)
        is_spread = self.learns_spread or self.first_spread > 0
        self.nodes, weights = (
            np.polynomial.hermite_e.hermegauss(NODES) if is_spread else (np.zeros(1), np.ones(1))
        )
        self.log_weights = np.log(weights / weights.sum())
        t, d, o = shape
        sizes = {"hessian": (t, d, d), "linear": (t, d), "with_spread": (t, d), "totals": (4,)}
        sizes |= {"observers": (3, o), "crossed": (t, d, o)}
        self.sizes = sizes

    # -- the state --------------------------------------------------------------------------------

    def start(self) -> tuple[np.ndarray, Effects]:
        """Every column at the expected level."""
        t, d, o = self.n_columns, self.n_terms, self.n_observers
        mean = np.zeros((t, d))
        mean[:, 0] = self.prior.level
        certain = 0.0 if not self.prior.is_learnt else 0.1
        width2 = self.prior.width**2
        return mean, Effects(
            np.tile(certain * np.eye(d), (t, 1, 1)),
            mean[0].copy(),
            np.full(d, width2),
            np.zeros(o),
            np.full(o, certain),
            np.array(width2),
            np.array(0.25),
            np.array(self.first_spread),
        )

    def start_rows(self, n_rows: int) -> RowEffects:
        """Rows that differ in nothing yet."""
        if not self.has_rows:
            return RowEffects(None, None)
        return RowEffects(np.zeros((n_rows, 1)), np.full((n_rows, 1), 0.1))

    # -- looks given the state --------------------------------------------------------------------

    def evidence(
        self, patterns: Patterns, mean: np.ndarray, effects: Effects, rows: RowEffects
    ) -> PatternEvidence:
        """Bound (1) for every pattern, column and node of the cell effect."""
        base, variance = self.predictor(patterns.design, patterns.observers, mean, effects, rows)
        shifts, weights = effects.spread * self.nodes, np.exp(self.log_weights)
        found = node_evidence(base, variance, shifts, weights, patterns.ones, patterns.tries)
        return PatternEvidence(*found, base, variance, shifts)

    def predictor(
        self,
        design: np.ndarray,
        observers: np.ndarray,
        mean: np.ndarray,
        effects: Effects,
        rows: RowEffects,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of eta without the cell effect, patterns x looks x columns."""
        eta = design @ mean.T
        variance = _quadratic(design, effects.covariance)
        if self.n_observers:
            known = observers >= 0
            eta = eta + np.where(known, effects.observer_mean[observers], 0.0)[..., None]
            spread = np.where(known, effects.observer_variance[observers], effects.observer_width2)
            variance = variance + spread[..., None]
        if rows.mean is not None and rows.variance is not None:
            eta = eta + rows.mean[:, :, None]
            variance = variance + rows.variance[:, :, None]
        return eta, variance

    def rate(self, evidence: PatternEvidence, eta: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """E[sigma(eta)] at another look, given the looks so far: patterns x columns.

        MacKay's approximation of the Gaussian integral; the cell effect by its posterior.
        """
        rates = expit(eta / np.sqrt(1 + np.pi * variance / 8)[..., None])
        return np.asarray((evidence.posterior * rates).sum(axis=2))

    # -- learning ---------------------------------------------------------------------------------

    def statistics(
        self,
        patterns: Patterns,
        present: np.ndarray,
        found: PatternEvidence,
        effects: Effects,
        rows: RowEffects,
        rng: Any = None,
    ) -> tuple[RowEffects, np.ndarray]:
        """New row effects, and the sums that all other effects are learnt from, as one vector.

        With `rng`, `present` counts drawn presences; cell effects, curvatures and row effects are
        drawn as well, and the variance of a row's effect is 0.
        """
        sums = self._curvatures(patterns, present, found, rng)
        half, curve, curve_u = patterns.ones - 0.5 * patterns.tries, sums.curve, sums.curve_u
        linear, linear_u = half * present[:, None], half * sums.share_u[:, None]
        rows = self._learn_rows(rows, found, sums, linear, effects, rng)
        if rows.mean is not None:
            linear = linear - curve * rows.mean[:, :, None]
            linear_u = linear_u - curve_u * rows.mean[:, :, None]
        parts = self._sums(patterns, curve, curve_u, linear)
        totals = [sums.curve_uu, float(linear_u.sum()), 0.0, 0.0]
        if rows.mean is not None and rows.variance is not None:
            totals[2:] = [float((rows.mean**2 + rows.variance).sum()), float(len(rows.mean))]
        parts["totals"] = np.array(totals)
        return rows, np.concatenate([parts[name].ravel() for name in self.sizes])

    def _curvatures(
        self, patterns: Patterns, present: np.ndarray, found: PatternEvidence, rng: Any
    ) -> CurvatureSums:
        shared = (found.shifts, self.nodes, found.posterior, present, patterns.tries)
        if rng is None:
            return expected_sums(found.base, found.variance, *shared)
        return drawn_sums(found.base, *shared, rng)

    def _learn_rows(
        self,
        rows: RowEffects,
        found: PatternEvidence,
        sums: CurvatureSums,
        linear: np.ndarray,
        effects: Effects,
        rng: Any,
    ) -> RowEffects:
        if rows.mean is None:
            return rows
        explained = sums.curve * (found.base - rows.mean[:, :, None])
        explained += float(effects.spread) * sums.curve_u
        precision = 1 / effects.row_width2 + sums.curve.sum(axis=(1, 2))
        mean = (linear - explained).sum(axis=(1, 2)) / precision
        variance = 1 / precision
        if rng is not None:
            mean = mean + np.sqrt(variance) * rng.standard_normal(len(mean))
            variance = np.zeros_like(variance)
        return RowEffects(mean[:, None], variance[:, None])

    def _sums(
        self, patterns: Patterns, curve: np.ndarray, curve_u: np.ndarray, linear: np.ndarray
    ) -> dict[str, np.ndarray]:
        c = patterns.design.reshape(-1, self.n_terms)
        squares = (c[:, :, None] * c[:, None, :]).reshape(len(c), -1)
        by_column = [part.reshape(len(c), -1).T for part in (curve, curve_u, linear)]
        sums = {
            "hessian": (by_column[0] @ squares).reshape(-1, self.n_terms, self.n_terms),
            "linear": by_column[2] @ c,
            "with_spread": by_column[1] @ c,
            "observers": np.zeros((3, self.n_observers)),
            "crossed": np.zeros((self.n_columns, self.n_terms, self.n_observers)),
        }
        if self.n_observers:
            who = (patterns.observers[..., None] == np.arange(self.n_observers)).astype(float)
            by_look = np.stack([curve.sum(axis=2), linear.sum(axis=2), curve_u.sum(axis=2)])
            sums["observers"] = np.einsum("spj,pjo->so", by_look, who, optimize=True)
            sums["crossed"] = np.einsum(
                "pjt,pjd,pjo->tdo", curve, patterns.design, who, optimize=True
            )
        return sums

    def learn(
        self, vector: np.ndarray, mean: np.ndarray, effects: Effects
    ) -> tuple[np.ndarray, Effects]:
        """Posteriors and priors from the sums of all blocks, each block of unknowns in turn."""
        sums = self._unpacked(vector)
        precision = np.eye(self.n_terms) / effects.width2
        covariance = np.linalg.inv(sums["hessian"] + precision)
        observers, spread = effects.observer_mean, float(effects.spread)
        who = 1 / (sums["observers"][0] + 1 / effects.observer_width2)
        curved, pulled, _, _ = sums["totals"]
        for _ in range(SWEEPS):
            pull = sums["linear"] + effects.centre / effects.width2
            pull = pull - spread * sums["with_spread"] - sums["crossed"] @ observers
            mean = np.einsum("tde,te->td", covariance, pull)
            crossed = np.einsum("tdo,td->o", sums["crossed"], mean)
            observers = who * (sums["observers"][1] - crossed - spread * sums["observers"][2])
            if self.learns_spread:
                rest = (sums["with_spread"] * mean).sum() + sums["observers"][2] @ observers
                spread = max((pulled - rest) / max(curved, 1e-12), 1e-3)
        effects = effects._replace(observer_mean=observers, spread=np.array(spread))
        if not self.prior.is_learnt:
            return mean, effects
        effects = effects._replace(covariance=covariance, observer_variance=who)
        return mean, self._learn_priors(mean, effects, sums["totals"])

    def _learn_priors(self, mean: np.ndarray, effects: Effects, totals: np.ndarray) -> Effects:
        """Centres and widths; one pseudo-observation keeps a width from collapsing."""
        prior, variance = self.prior, np.einsum("tdd->td", effects.covariance)
        level = np.where(np.arange(self.n_terms) == 0, prior.level, 0.0)
        pull = mean.sum(axis=0) / effects.width2 + level / prior.level_width**2
        centre = pull / (len(mean) / effects.width2 + 1 / prior.level_width**2)
        squares = ((mean - centre) ** 2 + variance).sum(axis=0)
        known = (effects.observer_mean**2 + effects.observer_variance).sum()
        return effects._replace(
            centre=centre,
            width2=(squares + prior.width**2) / (len(mean) + 1),
            observer_width2=np.array((known + prior.width**2) / (self.n_observers + 1)),
            row_width2=np.array((totals[2] + 0.25) / (totals[3] + 1)),
        )

    def divergence(self, mean: np.ndarray, effects: Effects) -> float:
        """KL(posterior || prior) of columns and observers, less the log prior of the priors."""
        variance = np.einsum("tdd->td", effects.covariance)
        squares = (((mean - effects.centre) ** 2 + variance) / effects.width2).sum()
        known = (effects.observer_mean**2 + effects.observer_variance).sum()
        total = 0.5 * (squares + known / effects.observer_width2)
        if not self.prior.is_learnt:
            return float(total)
        total += 0.5 * len(mean) * np.log(effects.width2).sum() - 0.5 * mean.size
        total -= 0.5 * np.linalg.slogdet(effects.covariance)[1].sum()
        ratio = effects.observer_variance / effects.observer_width2
        total -= 0.5 * (1 + np.log(ratio)).sum()
        return float(total) + self._hyper(effects)

    def _hyper(self, effects: Effects) -> float:
        prior = self.prior
        level = np.where(np.arange(self.n_terms) == 0, prior.level, 0.0)
        total = 0.5 * (((effects.centre - level) / prior.level_width) ** 2).sum()
        for width2, usual in (
            (effects.width2, prior.width**2),
            (effects.observer_width2, prior.width**2),
            (effects.row_width2, 0.25),
        ):
            total += 0.5 * np.sum(np.log(width2) + usual / width2)
        return float(total)

    def row_divergence(self, rows: RowEffects, effects: Effects) -> float:
        """KL(posterior || prior) of the effects of some rows."""
        if rows.mean is None or rows.variance is None:
            return 0.0
        ratio = (rows.mean**2 + rows.variance) / effects.row_width2
        return float(0.5 * (ratio - 1 - np.log(rows.variance / effects.row_width2)).sum())

    def _unpacked(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        sums, start = {}, 0
        for name, shape in self.sizes.items():
            size = int(np.prod(shape))
            sums[name] = vector[start : start + size].reshape(shape)
            start += size
        return sums


def _quadratic(design: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """c' C c for every look and column."""
    if not covariance.any():
        return np.zeros((*design.shape[:2], len(covariance)))
    return np.asarray(np.einsum("pjd,tde,pje->pjt", design, covariance, design, optimize=True))


def look_up(patterns: Patterns, log_one: np.ndarray, log_zero: np.ndarray) -> Any:
    """Evidence as the kernel wants it: scaled, and L1 < 0 where nobody looked."""
    nobody = np.broadcast_to(patterns.tries.sum(axis=1) == 0, log_one.shape)
    scale = np.maximum(np.maximum(log_one, log_zero), -1e300)
    one = np.where(nobody, -1.0, np.exp(log_one - scale))
    return one, np.exp(log_zero - scale), np.where(nobody, 0.0, scale)
