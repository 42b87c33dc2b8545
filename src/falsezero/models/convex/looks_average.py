"""Averaging models of repeated looks.

The number of components is not chosen but averaged over: held-out looks are predicted better by the
average than by the best of its members. Where something is known of the rows, all members use it.

Up to `MOST_DRAWN` looks are averaged over posterior draws, which learn how much detection differs
between the cells of a column. Every other member lets rows differ in how much they show; in the
others detection depends on what is known of the rows, column by column.

More looks are fitted by variational Bayes. The spread of detection is then learnt by draws from
some of the rows, the evidence decides whether rows differ, and, because factorised posteriors are
too sure of absences, the last look at every third row is held out: logit(present) is corrected by
the line a + b logit(present) under which the held-out looks are most likely.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from falsezero.base._sklearn import Estimator, Interval, StrOptions, fit_context
from falsezero.base.estimator import spawn_seeds
from falsezero.data.errors import DataError
from falsezero.data.looks import Looks, as_looks
from falsezero.data.tidy import Tidy
from falsezero.inference.progress import stages
from falsezero.models.convex.look_draws import Answers
from falsezero.models.convex.look_intervals import drawn_intervals, mean_intervals
from falsezero.models.convex.repeated_looks import RepeatedLooks

__all__ = ["HeldOut", "LooksAverage", "hold_out_last_look"]

COMPONENTS = (2, 4, 8, 12)
MOST_DRAWN = 150_000
"""Rows x looks x columns up to which posterior draws take no more than about a minute."""
_DRAWS = 50
_DRAWN_TOL = 1e-4
"""Where a chain starts need not be an optimum."""
_LEAST_GAIN = 0.1
"""Nats a row by which row effects must raise the evidence: two fits may differ by as much because
they ended in different optima."""
_FOLDS = 3
_FEWEST = 50
"""Rows that the spread is learnt from at least."""
_EDGE = 1e-6


class HeldOut(NamedTuple):
    """Looks with the last one removed in some rows: which cells, and what it had recorded."""

    looks: Looks
    rows: np.ndarray
    columns: np.ndarray
    hit: np.ndarray
    next_look: dict[str, np.ndarray]
    """Variables of the last look at each row."""


def hold_out_last_look(looks: Looks, chosen: np.ndarray, rng: np.random.Generator) -> HeldOut:
    """Remove the last look from every cell of the chosen rows that had two or more.

    Where a slot counts several looks, one of them is drawn.

    >>> made = Looks(np.ones((4, 3, 5)))
    >>> held = hold_out_last_look(made, np.array([True, False, False, True]), None)
    >>> len(held.hit), int(held.looks.tries.sum())
    (10, 50)
    """
    held = looks.store.without_last(chosen, rng)
    kept = looks.with_store(held.store)
    return HeldOut(kept, held.rows, held.columns, held.hit, _last_variables(looks))


class LooksAverage(Estimator):
    """An average of `RepeatedLooks` over numbers of components.

    Parameters
    ----------
    n_components : sequence of int, default=(2, 4, 8, 12)
        Numbers of components to average over.
    false_alarms : bool, default=False
        Whether a look may record what is not there.
    inference : {"auto", "gibbs", "vb"}, default="auto"
        "gibbs" averages over posterior draws, "vb" over variational fits, some ten times as fast.
        "auto" draws where rows x looks x columns are no more than 150,000.
    max_rows : int, default=2000
        Rows that "vb" judges row effects by and learns its level from; of more, a random choice.
    tol : float, default=1e-5
        As in `RepeatedLooks` ("vb").
    random_state, n_jobs
        As in `RepeatedLooks`.
    verbose : int, default=0
        1 shows a progress bar on a terminal, 2 a line for every model fitted.

    Attributes
    ----------
    models_ : list of RepeatedLooks
    level_ : array (a, b)
        The correction of logit(present); (0, 1), which is none, with "gibbs".

    Examples
    --------
    >>> import falsezero as fz
    >>> looks = fz.datasets.make_looks(80, 15, 3, 2, random_state=0).looks
    >>> average = LooksAverage((1, 2), random_state=0).fit(looks)
    >>> average.inference_, average.present(looks).shape
    ('gibbs', (80, 15))
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_components": ["array-like"],
        "false_alarms": ["boolean"],
        "inference": [StrOptions({"auto", "gibbs", "vb"})],
        "max_rows": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components: Any = COMPONENTS,
        *,
        false_alarms: bool = False,
        inference: str = "auto",
        max_rows: int = 2000,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.false_alarms = false_alarms
        self.inference = inference
        self.max_rows = max_rows
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, looks: Any) -> LooksAverage:
        """Fit all members."""
        looks = as_looks(looks)
        if int(looks.counts[1].max()) < 2:
            raise DataError(
                "No cell was looked at twice, so detection cannot be measured; state it with "
                "detection=, or audit the single looks as a table."
            )
        is_drawn = self.inference == "gibbs"
        if self.inference == "auto":
            is_drawn = bool(np.prod(looks.shape) <= MOST_DRAWN)
        rng = np.random.default_rng(spawn_seeds(self.random_state, 1)[0])
        self._seed = int(rng.integers(2**31))
        smallest = min(looks.shape[0], looks.shape[2])
        self._sizes = [k for k in self.n_components if k <= smallest] or [1]
        self.level_ = np.array([0.0, 1.0])
        if is_drawn:
            self._fit_draws(looks)
        else:
            self._fit_variational(looks, rng)
        self.n_features_in_ = looks.shape[2]
        return self

    def _fit_draws(self, looks: Looks) -> None:
        with stages(type(self).__name__, self.verbose, len(self._sizes)) as begin:
            self.models_ = []
            for number, size in enumerate(self._sizes):
                begin(_components(size))
                self.models_.append(self._drawn(size, number % 2 == 0).fit(looks))

    def _fit_variational(self, looks: Looks, rng: np.random.Generator) -> None:
        folds = min(_FOLDS, looks.shape[0])
        total = 2 + (folds + 1) * len(self._sizes)
        with stages(type(self).__name__, self.verbose, total) as begin:
            some = _some_rows(looks, self.max_rows, rng)
            begin("how much detection differs between cells")
            few = _some_rows(looks, max(_FEWEST, MOST_DRAWN // np.prod(looks.shape[1:])), rng)
            drawn = self._drawn(self._middle, False, row_variables=[]).fit(few)
            spread = {"heterogeneity": drawn.heterogeneity_, "tol": self.tol}
            begin("whether rows differ")
            self._options = spread | {"row_effects": self._rows_differ(some, spread)}
            self.level_ = self._held_out_level(some, rng, folds, begin)
            self.models_ = self._fitted(looks, begin)

    @property
    def _middle(self) -> int:
        return int(self._sizes[len(self._sizes) // 2])

    def _model(self, size: int, **options: Any) -> RepeatedLooks:
        return RepeatedLooks(
            size,
            false_alarms=self.false_alarms,
            random_state=self._seed,
            n_jobs=self.n_jobs,
            **options,
        )

    def _drawn(self, size: int, row_effects: bool, **options: Any) -> RepeatedLooks:
        return self._model(
            size,
            inference="gibbs",
            heterogeneity="learn",
            row_effects=row_effects,
            row_detection=not row_effects,
            n_draws=_DRAWS,
            tol=_DRAWN_TOL,
            **options,
        )

    def _rows_differ(self, looks: Looks, options: dict[str, Any]) -> bool:
        """Whether the evidence gains by row effects, with a middle number of components."""
        plain, rows = (
            self._model(self._middle, row_effects=differ, row_variables=[], **options).fit(looks)
            for differ in (False, True)
        )
        return bool(rows.objective_ > plain.objective_ + _LEAST_GAIN * looks.shape[0])

    def _fitted(self, looks: Looks, begin: Any) -> list[RepeatedLooks]:
        models = []
        for size in self._sizes:
            begin(_components(size))
            models.append(self._model(size, **self._options).fit(looks))
        return models

    def _held_out_level(
        self, looks: Looks, rng: np.random.Generator, folds: int, begin: Any
    ) -> np.ndarray:
        """The line of the level, by last looks after zeros in every third row in turn."""
        fold = rng.permutation(looks.shape[0]) % folds
        parts = []
        for i in range(folds):
            held = hold_out_last_look(looks, fold == i, rng)
            zero = held.looks.counts[0][held.rows, held.columns] == 0
            at = held.rows[zero], held.columns[zero]
            found = _mean_answers(self._fitted(held.looks, begin), held.looks, held.next_look)
            rate = found.again[at] / np.maximum(found.present[at], _EDGE)
            parts.append((found.present[at], rate, held.hit[zero]))
        return _learn_level(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    # -- answers ----------------------------------------------------------------------------------

    def answers(self, looks: Any, next_look: Mapping[str, Any] | None = None) -> Answers:
        """All that is asked of every cell, from one pass over the models."""
        looks = as_looks(looks)
        found = _mean_answers(self.models_, looks, next_look)
        rate = found.again / np.maximum(found.present, _EDGE)
        ones, tries = looks.counts
        a, b = self.level_
        unseen = (ones == 0) & (tries > 0)
        present = np.where(unseen, expit(a + b * _odds(found.present)), found.present)
        return found._replace(present=present, again=np.clip(present * rate, 0, 1))

    def present(self, looks: Any) -> np.ndarray:
        """Probability that the thing is there, given all looks at the cell."""
        return self.answers(looks).present

    def again(self, looks: Any, next_look: Mapping[str, Any] | None = None) -> np.ndarray:
        """Probability of a one at the next look at the cell.

        `next_look` has variables of that look, as in `RepeatedLooks.again`.
        """
        return self.answers(looks, next_look).again

    def intervals(
        self, looks: Any, level: float = 0.9, by: str = "columns", answers: Any = None
    ) -> Tidy:
        """Intervals for detection and for the number of cells where the thing is there.

        As in `RepeatedLooks`: quantiles of the draws of all members, or, with "vb", the means of
        their intervals. `answers` are those of the same looks, where they are at hand.
        """
        found = self.answers(looks) if answers is None else answers
        if self.inference_ == "gibbs":
            return drawn_intervals(self, looks, found, level, by)
        tables = [model.intervals(looks, level, by) for model in self.models_]
        return mean_intervals(tables, looks, found, by)

    @property
    def inference_(self) -> str:
        """How the members were fitted, "gibbs" or "vb"."""
        return str(self.models_[0].inference)

    @property
    def detection_(self) -> np.ndarray:
        """Mean detection rate of each column over the models."""
        rates = [model.detection_ for model in self.models_]
        return np.asarray(np.mean(rates, axis=0))

    def _is_whole(self) -> bool:
        """Whether what was loaded from a file fits together."""
        agree = [
            isinstance(model, RepeatedLooks) and model.n_features_in_ == self.n_features_in_
            for model in self.models_
        ]
        return np.shape(self.level_) == (2,) and any(agree) and all(agree)

    @property
    def detection_draws_(self) -> np.ndarray:
        """Draws of the detection rates from all models ("gibbs")."""
        return np.concatenate([model.detection_draws_ for model in self.models_])


def _last_variables(looks: Looks) -> dict[str, np.ndarray]:
    """Variables of the last look that took place at each row."""
    took_place: Any = looks.took_place
    last = took_place.shape[1] - 1 - np.argmax(took_place[:, ::-1], axis=1)
    return {name: values[np.arange(len(last)), last] for name, values in looks.variables.items()}


def _components(size: int) -> str:
    return f"{size} component{'s' if size > 1 else ''}"


def _some_rows(looks: Looks, most: int, rng: np.random.Generator) -> Looks:
    """At most so many rows, chosen at random."""
    n_rows = looks.shape[0]
    if n_rows <= most:
        return looks
    return looks.select(rows=np.isin(np.arange(n_rows), rng.choice(n_rows, most, replace=False)))


def _mean_answers(models: list[RepeatedLooks], looks: Looks, next_look: Any = None) -> Answers:
    """Means of the models' probabilities, and the draws of all of them."""
    means = np.zeros((3, looks.shape[0], looks.shape[2]))
    draws: tuple[list[Any], list[Any]] = [], []
    for model in models:
        found = model._answers(looks, next_look)
        for total, part in zip(means, found[:3], strict=True):
            total += part
        for kept, part in zip(draws, found[3:], strict=True):
            kept.append(part)
    means /= len(models)
    return Answers(*means, *(np.concatenate(kept) for kept in draws))


def _learn_level(present: np.ndarray, rate: np.ndarray, hit: np.ndarray) -> np.ndarray:
    """a and b of logit(present) -> a + b logit(present), by held-out looks; (0, 1) a priori."""
    odds = _odds(present)

    def loss(line: np.ndarray) -> float:
        p = np.clip(expit(line[0] + line[1] * odds) * rate, _EDGE, 1 - _EDGE)
        prior = 0.5 * line[0] ** 2 + 2.0 * (line[1] - 1) ** 2
        return float(-np.where(hit, np.log(p), np.log1p(-p)).sum() + prior)

    return np.asarray(minimize(loss, np.array([0.0, 1.0]), method="Nelder-Mead").x)


def _odds(p: np.ndarray) -> np.ndarray:
    return np.asarray(logit(np.clip(p, _EDGE, 1 - _EDGE)))
