"""Which of several models suits a table, and whether the best is better than the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import ranksums, wilcoxon

from falsezero.analysis.plan import Plan
from falsezero.analysis.protocol import planned, run_plan, summarise
from falsezero.base.capabilities import capabilities_of
from falsezero.data.tidy import Tidy

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`.

    Attributes
    ----------
    best : str
        Name of the best model.
    meaning : str
        What the numbers are: the n of a BIC, how the evidence was taken, what a row score is.
    table : Tidy
        One row per model, best first: model, the criterion, its standard error, seconds, converged.
    p_value : float
        Of the hypothesis that the best two are equally good; NaN where the criterion cannot say.
    test : str
        The test behind it.
    model : estimator
        The best model, fitted to the whole table.
    scores : dict of arrays
        The criterion of every part, by model; the same parts for every model.
    """

    best: str
    criterion: str
    table: Tidy
    p_value: float
    test: str
    model: Any = field(repr=False)
    scores: dict[str, np.ndarray] = field(repr=False)
    meaning: str = ""

    def __repr__(self) -> str:
        names = self.table["model"]
        message = f"{self.best} is best by {self.criterion}"
        if len(names) > 1 and np.isfinite(self.p_value):
            message += f"; against {names[1]}, {self.test} p = {self.p_value:.2g}"
        return f"{message}\n{self.meaning}\n{self.table!r}"


def compare(
    models: Mapping[str, Any] | Sequence[Any],
    table: Any,
    criterion: str = "cells",
    *,
    n_splits: int = 5,
    test: str = "signed-rank",
    n_jobs: int | None = None,
    random_state: Any = None,
    checkpoint: Any = None,
    verbose: int = 0,
) -> Comparison:
    """Compare several models on one table, all in the same way.

    Parameters
    ----------
    models : list of estimators, or dict of name and estimator
    table : Table, array, sparse array, data frame or Shards
        As in `select`; of `Shards` that are not read into memory, differences are taken by file.
    criterion : {"cells", "rows", "completion", "aic", "bic", "evidence"} or a registered name
        As in `select`. Hidden parts are the same for every model. The BIC has one n for all models:
        rows if all models count rows, else observed cells. Models for which the number means
        different things are refused, such as a probability of all cells of a row and one of its
        counts given their total.
    n_splits : int, default=5
    test : {"signed-rank", "rank-sum"}
        How the best two are compared: Wilcoxon's signed-rank test on the differences row by row
        (their hidden cells, or the rows themselves), which treats rows as independent given the
        fits; or his rank-sum test on the parts, as in Bingham et al., section 3.2.1.
    n_jobs, random_state, checkpoint, verbose
        As in `select`.

    Examples
    --------
    >>> import falsezero as fz
    >>> table = fz.datasets.make_aspect_bernoulli(150, 20, 3, random_state=0).table
    >>> found = fz.compare([fz.AspectBernoulli(3, tol=1e-5), fz.BernoulliMixture(3)], table,
    ...                    "rows", random_state=0)
    >>> sorted(found.table["model"].tolist())
    ['AspectBernoulli(3)', 'BernoulliMixture(3)']
    """
    if test not in ("signed-rank", "rank-sum"):
        raise ValueError(f"test={test!r} is not known; choose 'signed-rank' or 'rank-sum'.")
    for model in models.values() if isinstance(models, Mapping) else models:
        capabilities_of(model)
    named = dict(models) if isinstance(models, Mapping) else _named(models)
    if not named:
        raise ValueError("compare() needs at least one model.")
    candidates = list(named.values())
    plan, memory = planned(table, candidates, criterion, n_splits, random_state, checkpoint)
    plan = plan._replace(names=list(named))
    outcomes = run_plan(plan, n_jobs=n_jobs, memory=memory, verbose=verbose)
    rows = summarise(plan, outcomes)
    order = np.argsort([-plan.criterion.sign * row[criterion] for row in rows], kind="stable")
    found = Tidy({"model" if n == "candidate" else n: [rows[i][n] for i in order] for n in rows[0]})
    p_value = _p_value(plan, outcomes, order[:2], test) if len(order) > 1 else float("nan")
    scores = np.array([outcome["score"] for outcome in outcomes]).reshape(len(candidates), -1)
    fitted = memory.finish(plan, int(order[0]))
    by_name = dict(zip(named, scores, strict=True))
    best = plan.names[order[0]]
    return Comparison(best, criterion, found, p_value, test, fitted, by_name, plan.meaning)


def _named(models: Sequence[Any]) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for model in models:
        components = model.get_params().get("n_components")
        name = type(model).__name__ + ("" if components is None else f"({components})")
        unique, number = name, 2
        while unique in names:
            unique, number = f"{name} #{number}", number + 1
        names[unique] = model
    return names


def _p_value(plan: Plan, outcomes: list[dict[str, Any]], pair: np.ndarray, test: str) -> float:
    """p-value of the hypothesis that the best two are equally good."""
    if not plan.criterion.hides_parts:
        return float("nan")
    parts = [
        [o for task, o in zip(plan.tasks, outcomes, strict=True) if task.candidate == candidate]
        for candidate in pair
    ]
    if test == "rank-sum":
        return float(ranksums(*([o["score"] for o in part] for part in parts)).pvalue)
    first, second = (np.sum([o["total"] for o in part], axis=0) for part in parts)
    difference = first - second
    if not np.any(difference):
        return 1.0
    return float(wilcoxon(difference).pvalue)
