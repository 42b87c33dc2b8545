"""How many components does the table support?"""

from __future__ import annotations

import html
import operator
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from falsezero.analysis.criteria import CRITERIA
from falsezero.analysis.protocol import planned, run_plan, summarise
from falsezero.base.capabilities import capabilities_of
from falsezero.data.tidy import Tidy

__all__ = ["Selection", "edge_warning", "numbers_of", "select", "size_warning"]


@dataclass(frozen=True)
class Selection:
    """The result of `select`.

    Attributes
    ----------
    best : int
        The number of components that the criterion prefers.
    model : estimator
        The model with that many components, fitted to the whole table.
    criterion : str
    meaning : str
        What its numbers are: the n of a BIC, how the evidence was taken, what a row score is.
    table : Tidy
        One row a candidate: n_components, the criterion, its standard error over the parts (or the
        log likelihood, for criteria of the whole table), seconds, converged, phantoms (components
        that `find_phantoms` calls noise, on average over the parts), is_best.
    scores : array of shape (n_candidates, n_splits)
        The criterion of every part, the same parts for every candidate.
    """

    best: int
    criterion: str
    table: Tidy
    model: Any = field(repr=False)
    scores: np.ndarray = field(repr=False)
    meaning: str = ""

    def plot(self, **options: Any) -> Any:
        """The criterion against the number of components, with error bars."""
        from falsezero.plot import ModelChoiceDisplay

        return ModelChoiceDisplay.from_selection(self, **options)

    def _repr_html_(self) -> str:
        head, _, _ = repr(self).partition("\n")
        return f"<p>{html.escape(head)}</p>{self.table._repr_html_()}"

    def __repr__(self) -> str:
        better = "lowest" if CRITERIA[self.criterion].sign < 0 else "highest"
        noun = "component" if self.best == 1 else "components"
        head = f"Best: {self.best} {noun} of {type(self.model).__name__}"
        return f"{head} ({better} {self.criterion})\n{self.meaning}\n{self.table!r}"


def select(
    model: Any,
    table: Any,
    n_components: int | Iterable[int] = range(1, 9),
    criterion: str = "cells",
    *,
    n_init: int | None = None,
    n_splits: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
    checkpoint: Any = None,
    verbose: int = 0,
) -> Selection:
    """Choose the number of components of a model for a table.

    Parameters
    ----------
    model : estimator
        With the settings that all candidates share; it is copied, not fitted.
    table : Table, array, sparse array, data frame or Shards
        `Shards` of more than five million cells are judged by "cells", "aic", "bic" or "evidence",
        and never in memory together; smaller ones are read into memory.
    n_components : int or iterable of int
        The candidates.
    criterion : {"cells", "rows", "completion", "aic", "bic", "evidence"} or a registered name
        "cells", the default, hides some of the observed cells at a time and takes the mean log
        probability of the hidden ones, with row weights inferred from the visible cells. "rows"
        leaves out whole rows and takes their mean log likelihood (`score_samples`). "completion"
        leaves out whole rows of counts, shows half of their tokens and takes the mean log
        probability of the other half. "aic" and "bic" penalise the likelihood of the whole table
        (Bingham et al., eqs. 25-27; smaller is better). "evidence" is an annealed estimate of the
        log evidence (`log_evidence`) where the table is small enough, else the bound of a
        variational fit. The result's `meaning` says which number was used.
    n_init : int, optional
        Random starts of every fit; the model's own number by default.
    n_splits : int, default=5
        In how many parts cells or rows are hidden, each once.
    n_jobs : int, optional
        Processes over candidates and parts; the answer does not depend on it.
    random_state : int, Generator, RandomState or None
        By default that of the model.
    checkpoint : path, optional
        A JSON file that keeps finished fits, so that an interrupted run can be resumed.
    verbose : int
        1 reports every fit on standard error.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(150, 20, 2, random_state=0).table
    >>> choice = fz.select(fz.AspectBernoulli(tol=1e-5), table, range(1, 4), "aic",
    ...                    n_init=3, random_state=0)
    >>> choice.best, choice.model.n_components, choice.table.columns[:2]
    (2, 2, ['n_components', 'aic'])
    """
    candidates = _candidates(model, n_components, n_init)
    plan, memory = planned(table, candidates, criterion, n_splits, random_state, checkpoint)
    numbers = [candidate.n_components for candidate in candidates]
    if size_warning(max(numbers), plan.table.shape):
        warnings.warn(size_warning(max(numbers), plan.table.shape), stacklevel=2)
    plan = plan._replace(names=[f"{number} components" for number in numbers])
    outcomes = run_plan(plan, n_jobs=n_jobs, memory=memory, verbose=verbose)
    rows = summarise(plan, outcomes)
    values = np.array([row[criterion] for row in rows])
    best = int(np.nanargmax(plan.criterion.sign * values))
    per_candidate = len(outcomes) // len(candidates)
    for i, row in enumerate(rows):
        row["candidate"] = numbers[i]
        own = outcomes[i * per_candidate : (i + 1) * per_candidate]
        phantoms = [outcome["phantoms"] for outcome in own if outcome.get("phantoms") is not None]
        if phantoms:
            row["phantoms"] = float(np.mean(phantoms))
        row["is_best"] = i == best
    beyond = edge_warning(numbers[best], numbers)
    if beyond:
        warnings.warn(beyond, stacklevel=2)
    found = Tidy({"n_components" if n == "candidate" else n: [r[n] for r in rows] for n in rows[0]})
    scores = np.array([outcome["score"] for outcome in outcomes]).reshape(len(candidates), -1)
    fitted = memory.finish(plan, best)
    return Selection(numbers[best], criterion, found, fitted, scores, plan.meaning)


def edge_warning(best: int, tried: list[int]) -> str:
    """Warning that the best number is at the edge of those tried; empty if it is inside.

    >>> edge_warning(8, [2, 4, 8])
    'The best number of components, 8, is the largest that was tried, so a better one may lie \
beyond; try n_components=range(5, 15).'
    >>> edge_warning(4, [2, 4, 8]), edge_warning(1, [1, 2])
    ('', '')
    """
    for edge, word in ((max(tried), "largest"), (min(tried), "smallest")):
        if best == edge > 1 and len(set(tried)) > 1:
            wider = f"range({max(1, best - 3)}, {best + 7})"
            return (
                f"The best number of components, {best}, is the {word} that was tried, so a "
                f"better one may lie beyond; try n_components={wider}."
            )
    return ""


def size_warning(n_components: int, shape: tuple[int, int]) -> str:
    """Warning of more components than a table can tell apart; empty for fewer.

    A table of products of weights and components has at most the rank of its shorter side: from
    there on a component can serve a single row, or a single column.

    >>> size_warning(600, (40, 12))
    '600 components are more than a table of 40 × 12 cells can tell apart; n_components= should be \
12 at most, and preferably far fewer.'
    >>> size_warning(3, (40, 12))
    ''
    """
    if n_components <= min(shape):
        return ""
    return (
        f"{n_components} components are more than a table of {shape[0]} × {shape[1]} cells can "
        f"tell apart; n_components= should be {min(shape)} at most, and preferably far fewer."
    )


def _candidates(model: Any, n_components: int | Iterable[int], n_init: int | None) -> list[Any]:
    capabilities_of(model)
    params = model.get_params()
    if "n_components" not in params:
        raise ValueError(
            f"{type(model).__name__} has no n_components to choose; compare models with compare()."
        )
    restarts = {} if n_init is None or "n_init" not in params else {"n_init": n_init}
    numbers = numbers_of(n_components)
    return [clone(model).set_params(n_components=number, **restarts) for number in numbers]


def numbers_of(n_components: Any) -> list[int]:
    """Numbers of components to choose from, one or several.

    >>> numbers_of(3), numbers_of(range(2, 5))
    ([3], [2, 3, 4])
    """
    several = n_components if isinstance(n_components, Iterable) else [n_components]
    try:
        numbers = [operator.index(number) for number in several]
    except TypeError:
        numbers = []
    if not numbers:
        raise ValueError(
            f"n_components={n_components!r} names no candidate; give whole numbers, as in "
            "range(2, 9)."
        )
    return numbers
