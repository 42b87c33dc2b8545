"""Averaging models of repeated looks.

The number of components is not chosen but averaged over, and where something is known of the rows,
models that use it are averaged with models that do not: held-out looks are predicted better by such
averages than by the best of their members. Whether rows differ in detection is decided by the
evidence.

Members are fitted by variational Bayes, or averaged over posterior draws ("gibbs"), the spread of
detection between the cells of a column among what is drawn. Variational fits learn the spread from
three looks or more; with two a wide one is assumed. Because closure, interchangeable looks and the
factors are never quite true, the last look at every third row is held out, and their logit(present)
is corrected by the line a + b logit(present) under which the held-out looks are most likely.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from falsezero.base._sklearn import Estimator, Interval, StrOptions, fit_context
from falsezero.base.estimator import spawn_seeds
from falsezero.data.errors import DataError
from falsezero.data.looks import Looks, as_looks
from falsezero.models.convex.repeated_looks import RepeatedLooks

__all__ = ["HeldOut", "LooksAverage", "hold_out_last_look"]

COMPONENTS = (2, 4, 8)
_DRAWS = 100
ASSUMED_SPREAD = 2.0
"""On the logit scale, where two looks and no draws are to tell: a rate of one half is then spread
nearly evenly over (0, 1)."""
_LEAST_GAIN = 0.1
"""Nats a row by which row effects must raise the evidence: two fits may differ by as much because
they ended in different optima."""
_FOLDS = 3
_EDGE = 1e-6


class HeldOut(NamedTuple):
    """Looks with the last one removed in some rows: which cells, and what it had recorded."""

    looks: Looks
    rows: np.ndarray
    columns: np.ndarray
    hit: np.ndarray


def hold_out_last_look(looks: Looks, chosen: np.ndarray, rng: np.random.Generator) -> HeldOut:
    """Remove the last look from every cell of the chosen rows that had two or more.

    Where a slot counts several looks, one of them is drawn.

    >>> made = Looks(np.ones((4, 3, 5)))
    >>> held = hold_out_last_look(made, np.array([True, False, False, True]), None)
    >>> len(held.hit), int(held.looks.tries.sum())
    (10, 50)
    """
    tries = looks.tries.astype(int)
    rows, columns = np.nonzero((tries.sum(axis=1) >= 2) & chosen[:, None])
    took_place = tries[rows, :, columns] > 0
    slot = took_place.shape[1] - 1 - np.argmax(took_place[:, ::-1], axis=1)
    at = (rows, slot, columns)
    ones = looks.ones.astype(int)
    drawn = 0.5 * tries[at] if rng is None else rng.random(len(rows)) * tries[at]
    hit = drawn < ones[at]
    ones[at] -= hit
    tries[at] -= 1
    kept = Looks(
        ones,
        tries,
        rows=looks.rows,
        looks=looks.looks,
        columns=looks.columns,
        observers=looks.observers,
        variables=looks.variables,
        row_variables=looks.row_variables,
        name=looks.name,
    )
    return HeldOut(kept, rows, columns, hit)


class LooksAverage(Estimator):
    """An average of `RepeatedLooks` over numbers of components, with and without row variables.

    Parameters
    ----------
    n_components : sequence of int, default=(2, 4, 8)
        Numbers of components to average over.
    false_alarms : bool, default=False
        Whether a look may record what is not there.
    inference : {"vb", "gibbs"}, default="vb"
        Variational Bayes, or posterior draws, which take some ten times as long.
    max_rows : int, default=2000
        Rows that row effects are judged by and the level is learnt from; of more, a random choice.
    tol, random_state, n_jobs
        As in `RepeatedLooks`.

    Attributes
    ----------
    models_ : list of RepeatedLooks
    level_ : array (a, b)
        The correction of logit(present); (0, 1), which is none, with "gibbs".
    row_effects_ : bool
        Whether rows differ in detection, by the evidence.

    Examples
    --------
    >>> import falsezero as fz
    >>> looks = fz.datasets.make_looks(80, 15, 3, 2, random_state=0).looks
    >>> average = LooksAverage((1, 2), random_state=0).fit(looks)
    >>> average.present(looks).shape
    (80, 15)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_components": ["array-like"],
        "false_alarms": ["boolean"],
        "inference": [StrOptions({"vb", "gibbs"})],
        "max_rows": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components: Any = COMPONENTS,
        *,
        false_alarms: bool = False,
        inference: str = "vb",
        max_rows: int = 2000,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_components = n_components
        self.false_alarms = false_alarms
        self.inference = inference
        self.max_rows = max_rows
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, looks: Any) -> LooksAverage:
        """Decide about row effects, learn the level from held-out looks, and fit all looks."""
        looks = as_looks(looks)
        most = int(looks.counts[1].max())
        if most < 2:
            raise DataError(
                "No cell was looked at twice, so detection cannot be measured; state it with "
                "detection=, or audit the single looks as a table."
            )
        rng = np.random.default_rng(spawn_seeds(self.random_state, 1)[0])
        self._seed = int(rng.integers(2**31))
        smallest = min(looks.shape[0], looks.shape[2])
        self._sizes = [k for k in self.n_components if k <= smallest] or [1]
        some = looks
        if looks.shape[0] > self.max_rows:
            picked = np.isin(
                np.arange(looks.shape[0]), rng.choice(looks.shape[0], self.max_rows, replace=False)
            )
            some = looks.select(rows=picked)
        self._options: dict[str, Any] = {
            "inference": "gibbs",
            "heterogeneity": "learn",
            "n_draws": _DRAWS,
        }
        spread = "learn" if most > 2 else ASSUMED_SPREAD
        variational: dict[str, Any] = {"inference": "vb", "heterogeneity": spread}
        self.row_effects_ = self._rows_differ(some, variational)
        self.level_ = np.array([0.0, 1.0])
        if self.inference == "vb":
            self._options = variational
            self.level_ = self._held_out_level(some, rng)
        self.models_ = self._fitted(looks)
        self.n_features_in_ = looks.shape[2]
        return self

    def _model(self, size: int, row_effects: bool, **options: Any) -> RepeatedLooks:
        return RepeatedLooks(
            size,
            row_effects=row_effects,
            false_alarms=self.false_alarms,
            tol=self.tol,
            random_state=self._seed,
            n_jobs=self.n_jobs,
            **options,
        )

    def _rows_differ(self, looks: Looks, options: dict[str, Any]) -> bool:
        """Whether the evidence gains by row effects, with a middle number of components."""
        size = self._sizes[len(self._sizes) // 2]
        plain, rows = (
            self._model(size, differ, row_variables=[], **options).fit(looks)
            for differ in (False, True)
        )
        return bool(rows.objective_ > plain.objective_ + _LEAST_GAIN * looks.shape[0])

    def _fitted(self, looks: Looks) -> list[RepeatedLooks]:
        known: list[Any] = [[], "all"] if looks.row_variables else [[]]
        return [
            self._model(size, self.row_effects_, row_variables=names, **self._options).fit(looks)
            for size in self._sizes
            for names in known
        ]

    def _held_out_level(self, looks: Looks, rng: np.random.Generator) -> np.ndarray:
        """The line of the level, by last looks after zeros in every third row in turn."""
        fold = rng.permutation(looks.shape[0]) % min(_FOLDS, looks.shape[0])
        parts = []
        for i in range(int(fold.max()) + 1):
            held = hold_out_last_look(looks, fold == i, rng)
            zero = held.looks.counts[0][held.rows, held.columns] == 0
            at = held.rows[zero], held.columns[zero]
            present, again = _mean_answers(self._fitted(held.looks), held.looks)
            rate = again[at] / np.maximum(present[at], _EDGE)
            parts.append((present[at], rate, held.hit[zero]))
        return _learn_level(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def answers(self, looks: Any) -> tuple[np.ndarray, np.ndarray]:
        """`present` and `again` of every cell, from one pass over the models."""
        looks = as_looks(looks)
        present, again = _mean_answers(self.models_, looks)
        rate = again / np.maximum(present, _EDGE)
        ones, tries = looks.counts
        a, b = self.level_
        corrected = np.where((ones == 0) & (tries > 0), expit(a + b * _odds(present)), present)
        return corrected, np.clip(corrected * rate, 0, 1)

    def present(self, looks: Any) -> np.ndarray:
        """Probability that the thing is there, given all looks at the cell."""
        return self.answers(looks)[0]

    def again(self, looks: Any) -> np.ndarray:
        """Probability of a one at the next look at the cell."""
        return self.answers(looks)[1]

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


def _mean_answers(models: list[RepeatedLooks], looks: Looks) -> tuple[np.ndarray, np.ndarray]:
    answers = [model._cell_answers(looks) for model in models]
    present, again = (
        np.mean([np.asarray(answer[i]) for answer in answers], axis=0) for i in range(2)
    )
    return present, again


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
