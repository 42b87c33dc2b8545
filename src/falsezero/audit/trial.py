"""The trial on the user's own table: how many of the finds hidden on purpose are found again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from falsezero.data.tidy import Tidy
from falsezero.models.average.average import POPULARITY, StackedAverage
from falsezero.models.average.stacking import StackingTrial, cross_fit

__all__ = ["AVERAGE", "Trial", "run_trial"]

AVERAGE = "average"
_BOOTSTRAPS = 30
_Z = 2.5
"""Standard errors by which the average must beat popularity: rarely by chance."""
_FEWEST_HIDDEN = 10
"""Finds that must have been hidden, over all trials, for a trial to say anything."""
_MANY_ROWS = 100_000
"""Rows above which only those that a trial looked at are numbered and drawn again."""


@dataclass(frozen=True, repr=False)
class Trial:
    """How well hidden finds came back, method by method.

    Attributes
    ----------
    table : Tidy
        One row for each way of hiding ("cells": every one alike; "rows": some rows lose more) and
        method: recall among the `n_top` zeros doubted most, average precision and AUC with standard
        errors over rows, and `behind`, by how much the method's average precision is below that of
        the average, in standard errors.
    n_hidden, n_zeros, n_top : int
        Ones hidden in a trial, zeros they were hidden among, and zeros looked at (means over
        trials, for the whole table).
    n_tested : int
        Ones hidden in all trials together; on small tables every one is hidden once.
    recall, chance : float
        Share of the hidden finds among those `n_top`, by the average and by chance.
    gain, gain_error : float
        Log loss by which the average beats popularity for each hidden find, and its standard error
        over rows.
    """

    table: Tidy
    n_hidden: int
    n_tested: int
    n_zeros: int
    n_top: int
    recall: float
    chance: float
    gain: float
    gain_error: float
    log_loss: Tidy
    found_by_column: np.ndarray
    hidden_by_column: np.ndarray

    @property
    def is_tested(self) -> bool:
        """Whether enough ones were hidden to say anything."""
        return self.n_tested >= _FEWEST_HIDDEN

    @property
    def beats_popularity(self) -> bool:
        """Whether the average did better than how common each column is, and not by luck."""
        return self.is_tested and self.gain > _Z * self.gain_error

    @property
    def chance_precision(self) -> float:
        """Average precision of a random order: the share of hidden finds among the zeros."""
        return self.n_hidden / max(1, self.n_zeros)

    @property
    def best_single(self) -> dict[str, Any]:
        """The best single method by average precision, of ones hidden alike."""
        rows = [
            r for r in self.table.to_rows() if r["hidden"] == "cells" and r["method"] != AVERAGE
        ]
        return max(rows, key=lambda row: row["average_precision"])

    @property
    def sentences(self) -> list[str]:
        """The trial in words."""
        if not self.is_tested:
            return ["This table has too few ones to hide some of them, so nothing was tested."]
        in_turns = (
            "" if self.n_hidden >= _FEWEST_HIDDEN else f" at a time, {self.n_tested:,} in all"
        )
        lines = [
            f"We hid {self.n_hidden:,} of your finds{in_turns}; {self.recall:.0%} were among the "
            f"{self.n_top:,} zeros we doubted most; by chance {_percent(self.chance)}."
        ]
        if not self.beats_popularity:
            return [*lines, "No method did clearly better than how common each column is."]
        best = self.best_single
        # With one member, beside the average and popularity, there is nothing to compare.
        if best["behind"] < 1 and len(set(self.table["method"])) > 3:
            lines.append(
                f"{best['method']} alone did as well (average precision "
                f"{best['average_precision']:.2f})."
            )
        return lines

    def __repr__(self) -> str:
        return "\n".join([*self.sentences, "", repr(self.table)])

    def _repr_html_(self) -> str:
        text = "".join(f"<p>{sentence}</p>" for sentence in self.sentences)
        return text + self.table._repr_html_()


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else f"{share:.1%}"


def run_trial(model: StackedAverage, shape: tuple[int, int]) -> Trial:
    """Judge a fitted average by its own trials, with weights learnt in other rows."""
    draws, n_rows = model.draws_, shape[0]
    if n_rows > _MANY_ROWS:
        draws, n_rows = _looked_at(draws)
    odds = cross_fit(draws, model.ridge, n_rows, 0)
    common = cross_fit(draws, 1e-3, n_rows, 0, [len(model.feature_names_) - 1])
    rows = []
    for scheme in dict.fromkeys(draw.scheme for draw in draws):
        at = [i for i, draw in enumerate(draws) if draw.scheme == scheme]
        rows += _judge(model, [draws[i] for i in at], [odds[i] for i in at], scheme, n_rows)
    even = [i for i, draw in enumerate(draws) if draw.scheme == "cells"]
    counts = _counts([draws[i] for i in even], [odds[i] for i in even], shape)
    return Trial(
        table=Tidy.from_rows(rows, _COLUMNS),
        **counts,
        **_gain([draws[i] for i in even], [odds[i] for i in even], [common[i] for i in even]),
    )


_COLUMNS = [
    "hidden",
    "method",
    "recall",
    "average_precision",
    "error",
    "auc",
    "behind",
]


def _counts(
    draws: list[StackingTrial], odds: list[np.ndarray], shape: tuple[int, int]
) -> dict[str, Any]:
    """How many finds were hidden, and how many were found again."""
    tried = draws[0].n_tried or len(np.unique(np.concatenate([draw.rows for draw in draws])))
    scale = shape[0] / max(1, tried)
    hidden = float(np.mean([draw.weight[draw.hidden].sum() for draw in draws]))
    zeros = float(np.mean([draw.weight.sum() for draw in draws]))
    n_top = _top(hidden * scale)
    top = n_top / scale
    found, lost = np.zeros(shape[1]), np.zeros(shape[1])
    shares = []
    for draw, own in zip(draws, odds, strict=True):
        inside = _in_top(own, draw.weight, top) & draw.hidden
        shares.append(inside.sum() / max(1, draw.hidden.sum()))
        found += np.bincount(draw.columns[inside], minlength=shape[1])
        lost += np.bincount(draw.columns[draw.hidden], minlength=shape[1])
    return {
        "n_hidden": round(hidden * scale),
        "n_tested": sum(int(draw.hidden.sum()) for draw in draws),
        "n_zeros": round(zeros * scale),
        "n_top": n_top,
        "recall": float(np.mean(shares)),
        "chance": float(top / max(1.0, zeros)),
        "found_by_column": found,
        "hidden_by_column": lost,
    }


def _top(hidden: float) -> int:
    """A round number of zeros to look at: about twice as many as were hidden."""
    wanted = max(10.0, 2 * hidden)
    unit = 10 ** max(1, int(np.log10(wanted)) - 1)
    return int(round(wanted / unit) * unit)


def _in_top(score: np.ndarray, weight: np.ndarray, top: float) -> np.ndarray:
    """The cells of the highest scores that stand for `top` zeros together."""
    order = np.argsort(-score, kind="stable")
    inside = np.zeros(len(score), bool)
    inside[order[np.cumsum(weight[order]) <= top]] = True
    return inside


def _judge(
    model: StackedAverage,
    draws: list[StackingTrial],
    odds: list[np.ndarray],
    scheme: str,
    n_rows: int,
) -> list[dict[str, Any]]:
    """Every method on the trials of one scheme, with errors from drawing rows again."""
    scores = {AVERAGE: odds}
    for m, name in enumerate(model.feature_names_):
        scores[name] = [draw.features[:, m] for draw in draws]
    rng = np.random.default_rng(0)
    again = rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), _BOOTSTRAPS).astype(float)
    judged = {
        name: [_precision(own, draw, again) for own, draw in zip(parts, draws, strict=True)]
        for name, parts in scores.items()
    }
    reference = np.mean([precision for precision, _, _ in judged[AVERAGE]], axis=0)
    found = []
    for name, parts in judged.items():
        precision = np.mean([p for p, _, _ in parts], axis=0)
        gap = reference - precision
        error = float(np.std(gap[1:]))
        found.append(
            {
                "hidden": scheme,
                "method": name,
                "recall": float(np.mean([recall for _, recall, _ in parts])),
                "average_precision": float(precision[0]),
                "error": float(np.std(precision[1:])),
                "auc": float(np.mean([auc for _, _, auc in parts])),
                "behind": float(gap[0] / error) if error > 0 else 0.0,
            }
        )
    return found


def _looked_at(draws: list[StackingTrial]) -> tuple[list[StackingTrial], int]:
    """The same trials with the rows numbered that have any cell in them, and how many have."""
    distinct = np.unique(np.concatenate([draw.rows for draw in draws]))
    return [d._replace(rows=np.searchsorted(distinct, d.rows)) for d in draws], len(distinct)


def _precision(
    score: np.ndarray, draw: StackingTrial, again: np.ndarray
) -> tuple[np.ndarray, float, float]:
    """Average precision (of the sample, then with rows drawn again), recall in the top, AUC."""
    # Equal scores come in random order: a method must not gain from how the table is sorted.
    order = np.lexsort((np.random.default_rng(0).permutation(len(score)), -score))
    hit, rows = draw.hidden[order], draw.rows[order]
    weight = draw.weight[order]
    precisions = []
    for times in [None, *again]:
        w = weight if times is None else weight * times[rows]
        total = np.maximum(np.cumsum(w), 1e-12)
        precision = np.cumsum(w * hit) / total
        precisions.append(float((w * hit) @ precision) / max(float(w @ hit), 1e-12))
    recall = _in_top(score, draw.weight, _top(float(draw.hidden.sum()))) & draw.hidden
    below = np.cumsum((weight * ~hit)[::-1])[::-1]
    zeros = max(float(weight @ ~hit), 1e-12)
    auc = float(below[hit].sum() / zeros) / max(1, int(hit.sum()))
    return np.array(precisions), float(recall.sum() / max(1, draw.hidden.sum())), auc


def _gain(
    draws: list[StackingTrial], odds: list[np.ndarray], common: list[np.ndarray]
) -> dict[str, Any]:
    """Log loss of average and popularity on "hidden or not", and the gain summed by row."""
    n_rows = 1 + max((int(draw.rows.max(initial=0)) for draw in draws), default=0)
    by_row = np.zeros(n_rows)
    losses = {AVERAGE: 0.0, POPULARITY: 0.0}
    hidden = max(1, sum(int(draw.hidden.sum()) for draw in draws))
    for draw, ours, theirs in zip(draws, odds, common, strict=True):
        each = [_log_loss(part, draw) for part in (ours, theirs)]
        by_row += np.bincount(draw.rows, each[1] - each[0], n_rows)
        losses[AVERAGE] += each[0].sum() / hidden
        losses[POPULARITY] += each[1].sum() / hidden
    return {
        "gain": float(by_row.sum() / hidden),
        "gain_error": float(np.sqrt((by_row**2).sum()) / hidden),
        "log_loss": Tidy(method=list(losses), log_loss=list(losses.values())),
    }


def _log_loss(log_odds: np.ndarray, draw: StackingTrial) -> np.ndarray:
    eta = log_odds + np.log(draw.share)
    return np.asarray(draw.weight * (np.logaddexp(0, eta) - draw.hidden * eta))
