"""What a fit of repeated looks is asked: is it there, will it be seen, how good are observers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from falsezero.data.tidy import Tidy
from falsezero.models.convex.detection import LookRates, Prior, RowEffects
from falsezero.models.convex.look_draws import Answers, drawn_answers
from falsezero.models.convex.look_intervals import (
    averaged_over_rates,
    cell_scores,
    check_interval,
    drawn_intervals,
    look_intervals,
)

_NO_PRIOR = Prior(0.0, 1.0, 1.0, False)

_ALIKE = 0.5
"""Spread between cells from which on `present` is not averaged over a column's rate: the evidence
of a cell then averages over rates already, and Louis's formula for one rate per column is wrong."""


class LookAnswers:
    """`present`, `again` and tables of rates for a model with `state_` and `row_weights_`."""

    def present(self: Any, X: Any) -> Any:
        """Probability that the thing is there, given all looks at the cell.

        Returns
        -------
        array of shape (n_rows, n_columns), or a `Table` for `Looks` and tables
            Where nobody looked, what the row's other cells suggest.
        """
        return self._cell_answers(X)[0]

    def again(self: Any, X: Any, next_look: Mapping[str, Any] | None = None) -> Any:
        """Probability of a one at the next look at the same cell.

        The next look is by an observer like any other.

        Parameters
        ----------
        X : looks
        next_look : dict, optional
            Variables of the next look, such as its date: one number, or one per row. Those that
            are left out, or NaN, are at their mean over all looks.

        Examples
        --------
        >>> import numpy as np, falsezero as fz
        >>> rng = np.random.default_rng(0)
        >>> dates = rng.uniform(0, 60, size=(80, 2))
        >>> sung = rng.random((80, 2, 6)) < (dates / 60)[:, :, None]
        >>> looks = fz.Looks(sung.astype(float), variables={"date": dates})
        >>> model = fz.RepeatedLooks(1, random_state=0).fit(looks)
        >>> early, late = (model.again(looks, {"date": date}).to_numpy() for date in (5, 55))
        >>> bool((early < late).all())
        True
        """
        return self._cell_answers(X, next_look)[1]

    def intervals(self: Any, X: Any, level: float = 0.9, by: str = "columns") -> Tidy:
        """Intervals for detection and for the number of cells where the thing is there.

        Parameters
        ----------
        X : looks that the model was fitted to
        level : float in (0, 1), default=0.9
            Probability of the intervals.
        by : {"columns", "rows"}

        Returns
        -------
        Tidy
            ``seen`` counts cells with a one, ``occupied`` what is there with its interval; by
            columns, ``detection`` with its own. With "gibbs" they are quantiles of the draws,
            otherwise rest on the information left by unknown presences.
        """
        check_interval(level, by)
        if self.inference == "gibbs":
            return drawn_intervals(self, X, self._answers(X), level, by)
        return look_intervals(self, X, level, by)

    def misses(self: Any, n_looks: int) -> np.ndarray:
        """Probability of missing what is there on 0, 1, ..., `n_looks` looks in a row.

        Returns
        -------
        array of shape (n_looks + 1, n_columns)
            For looks under average conditions; cells of a column differ by `heterogeneity_`.
        """
        check_is_fitted(self)
        if self.state_.seen is None:
            return (1 - self.detection_) ** np.arange(n_looks + 1)[:, None]
        states = [self.state_]
        if self.inference == "gibbs":
            states = [self.draws_.at(i).drawn for i in range(len(self.draws_))]
        return np.mean([_misses(state, n_looks, self.usual_terms_) for state in states], axis=0)

    def _cell_answers(self: Any, X: Any, next_look: Any = None) -> tuple[Any, Any]:
        found = self._answers(X, next_look)
        columns = getattr(X, "columns", None)
        return tuple(self._labelled(part, X, columns) for part in found[:2])  # type: ignore[return-value]

    def _answers(self: Any, X: Any, next_look: Mapping[str, Any] | None = None) -> Answers:
        """All that is asked of every cell."""
        blocks = self._blocks(X, reset=False)
        design = self._next_design(next_look, blocks)
        parts = self._settled(blocks)
        if self.inference == "gibbs":
            return drawn_answers(self, blocks, parts, design)
        steps = self._steps(blocks)
        found = [
            (
                *self._block_answers(steps, block, local, design),
                self._expected(self._weights(local)),
            )
            for block, local in zip(blocks, parts, strict=True)
        ]
        cells = (np.concatenate(part) for part in zip(*found, strict=True))
        none = (np.zeros((0, size), dtype=int) for size in blocks.shape[::-1])
        return Answers(*cells, *none)

    def _block_answers(
        self: Any, steps: Any, block: Any, local: Any, design: Any
    ) -> tuple[Any, Any]:
        """Present and again, averaged over what is uncertain about detection and content."""
        present, hit, alarm = self._answers_at(steps, block, local, self.state_, design)
        if self.heterogeneity_ < _ALIKE:
            score, covariance = cell_scores(self, block), self.rate_covariance_
            variance = np.einsum("int,tij,jnt->nt", score, covariance, score, optimize=True)
            present = averaged_over_rates(present, np.where(block.is_observed, variance, 0.0))
        return present, present * hit + (1 - present) * alarm

    def _answers_at(
        self: Any, steps: Any, block: Any, local: Any, state: Any, design: Any
    ) -> tuple[np.ndarray, Any, Any]:
        """Present, and the rates of the next look if it is there and if not, at a state."""
        rows = RowEffects(local.effect, local.effect_variance)
        present, found_one, found_zero = self._plain_present(steps, block, local, state)
        hit = self._next_rate(
            steps.seen, block, found_one, state.seen_mean, state.seen, rows, design
        )
        nothing = RowEffects(None, None)
        alarm = self._next_rate(
            steps.alarm, block, found_zero, state.alarm_mean, state.alarm, nothing, design
        )
        hit = self.detection_ if hit is None else hit
        return present, hit, 0.0 if alarm is None else alarm

    def _plain_present(
        self: Any, steps: Any, block: Any, local: Any, state: Any
    ) -> tuple[Any, Any, Any]:
        """Bayes' rule at the means, and the evidence of the looks behind it."""
        rows = RowEffects(local.effect, local.effect_variance)
        found_one, found_zero, evidence = steps.evidence(block.patterns, state, rows)
        one, zero, _ = (block.cells(part) for part in evidence)
        unknown, content = one < 0, self._content(local, state)
        total = np.where(unknown, 1.0, content * one + (1 - content) * zero)
        return np.where(unknown, content, content * one / total), found_one, found_zero

    def _content(self: Any, local: Any, state: Any) -> np.ndarray:
        """pi of every cell at the means."""
        components = state.alpha / (state.alpha + state.beta)
        return np.clip(self._weights(local) @ components, 0, 1)

    def _next_rate(
        self: Any,
        rates: LookRates | None,
        block: Any,
        found: Any,
        mean: Any,
        effects: Any,
        rows: Any,
        design: np.ndarray | None,
    ) -> np.ndarray | None:
        """Rate at the next look for every cell, under average conditions without `design`."""
        if rates is None or found is None:
            return None
        n_patterns = len(block.patterns.ones)
        if design is None:
            terms = np.zeros((n_patterns, 1, rates.n_terms))
            terms[..., 0] = 1.0
        else:  # Looks with variables have one pattern per row.
            terms = design[block.rows, None]
        nobody = np.full((n_patterns, 1), -1)
        eta, variance = rates.predictor(terms, nobody, mean, effects, rows)
        eta = eta[:, 0, :, None] + effects.spread * rates.nodes
        return block.cells(rates.rate(found, eta, variance[:, 0]))

    def _adopt_rates(self: Any, steps: Any) -> None:
        """Rates of each column, and of each observer, from the state."""
        state = self.state_
        self.heterogeneity_ = 0.0
        if steps.seen is None:
            self.detection_ = steps.detection
        else:
            self.detection_ = column_rates(
                steps.seen, state.seen_mean, state.seen, self.usual_terms_
            )
            self.heterogeneity_ = float(state.seen.spread)
        self.__dict__.pop("false_alarm_", None)
        if steps.alarm is not None:
            self.false_alarm_ = column_rates(steps.alarm, state.alarm_mean, state.alarm)
        self.observers_ = self._observer_table(steps)

    def _observer_table(self: Any, steps: Any) -> Tidy | None:
        labels = self.observer_labels_
        if labels is None or steps.seen is None:
            return None
        state = self.state_
        table = {"observer": labels}
        table["detection"] = _observer_rates(state.seen_mean, state.seen)
        skill = table["detection"]
        if steps.alarm is not None:
            table["false_alarms"] = _observer_rates(state.alarm_mean, state.alarm)
            skill = skill - table["false_alarms"]
        order = np.argsort(-skill, kind="stable")
        return Tidy({name: np.asarray(values)[order] for name, values in table.items()})


def column_rates(
    rates: LookRates, mean: np.ndarray, effects: Any, usual: np.ndarray | None = None
) -> np.ndarray:
    """E[sigma(eta)] of each column over cells, for an average observer at an average look.

    `usual` holds the terms of each column's usual look, columns x terms; by default one and zeros.
    """
    level, variance = mean[:, 0], effects.covariance[:, 0, 0]
    if usual is not None:
        level = (usual * mean).sum(axis=1)
        variance = np.einsum("td,tde,te->t", usual, effects.covariance, usual)
    if rates.n_observers:
        variance = variance + effects.observer_width2
    eta = level[:, None] + effects.spread * rates.nodes
    return expit(eta / np.sqrt(1 + np.pi * variance / 8)[:, None]) @ np.exp(rates.log_weights)


def _misses(state: Any, n_looks: int, usual: np.ndarray | None) -> np.ndarray:
    """Probability of so many misses in a row, by column."""
    level = state.seen_mean[:, 0] if usual is None else (usual * state.seen_mean).sum(axis=1)
    shape, spread = (*state.seen_mean.shape, 0), float(state.seen.spread)
    rates = LookRates(shape, _NO_PRIOR, spread=spread)
    missed = expit(-(level[:, None] + spread * rates.nodes))
    return (missed ** np.arange(n_looks + 1)[:, None, None]) @ np.exp(rates.log_weights)


def _observer_rates(mean: np.ndarray, effects: Any) -> np.ndarray:
    """Mean rate of each observer over the columns."""
    eta = mean[:, 0, None] + effects.observer_mean
    variance = effects.covariance[:, 0, 0, None] + effects.observer_variance
    return expit(eta / np.sqrt(1 + np.pi * variance / 8)).mean(axis=0)
