"""What candidates are judged by: one record a criterion, in one registry.

`select`, `compare`, the shell and the plots read `CRITERIA`. To add a criterion, call
`register_criterion` with a new record, here or in a module of your own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from falsezero.base.capabilities import Capabilities, capabilities_of

__all__ = ["CRITERIA", "Criterion", "Part", "RowScores", "criterion_named", "register_criterion"]


class Part(NamedTuple):
    """What one fit is judged on: the table, and which of its `n_parts` parts is hidden."""

    table: Any
    number: int = 0
    n_parts: int = 1
    seed: int = 0
    """The same for all candidates, so that the same cells are hidden and differences are paired."""


class RowScores(NamedTuple):
    """A score for each row, so that two candidates can be compared row by row."""

    total: Any
    """Sum over what was hidden in the row."""
    count: Any
    """How much was hidden in the row."""

    @property
    def mean(self) -> float:
        """Mean over everything hidden."""
        return float(self.total.sum() / self.count.sum())


def _always(declared: Capabilities) -> str | None:
    return "the same for every model"


@dataclass(frozen=True)
class Criterion:
    """A number by which candidates are ranked.

    Parameters
    ----------
    name : str
    sign : {1, -1}
        1 where larger is better, -1 where smaller is.
    label : str
        What the number is, for axes and help.
    evaluate : callable
        Takes an unfitted model and a `Part`, fits the model, and returns a number or `RowScores`.
    hides_parts : bool, default=False
        Whether `evaluate` hides a part of the table and is asked once for each of them.
    meaning : callable
        Takes the `Capabilities` of a model and returns in words what the number means for it, or
        None where the model has no such number. Candidates are only ranked where it means the same.
    refusal : str
        What to say of a model without such a number; ``{model}`` stands for its name.

    Examples
    --------
    >>> CRITERIA["bic"].sign, CRITERIA["cells"].hides_parts
    (-1, True)
    """

    name: str
    sign: int
    label: str
    evaluate: Callable[[Any, Part], float | RowScores]
    hides_parts: bool = False
    meaning: Callable[[Capabilities], str | None] = _always
    refusal: str = "{model} cannot be judged by this criterion."

    @property
    def direction(self) -> str:
        """Which values are better, in one word."""
        return "higher" if self.sign > 0 else "lower"

    def check(self, candidates: Sequence[Any]) -> None:
        """Refuse candidates that have no such number, or numbers with different meanings."""
        meanings: dict[str, str] = {}
        for candidate in candidates:
            name, meaning = type(candidate).__name__, self.meaning(capabilities_of(candidate))
            if meaning is None:
                raise ValueError(self.refusal.format(model=name))
            meanings.setdefault(meaning, name)
        if len(meanings) > 1:
            listed = ", ".join(f"{meaning} for {name}" for meaning, name in meanings.items())
            raise ValueError(
                f"criterion={self.name!r} means different things for these models ({listed}), so "
                "they cannot be ranked by it; compare models that agree, or choose "
                "criterion='cells'."
            )


CRITERIA: dict[str, Criterion] = {}
"""Known criteria by name."""


def register_criterion(criterion: Criterion) -> Criterion:
    """Make a criterion known to `select`, `compare`, the shell and the plots."""
    CRITERIA[criterion.name] = criterion
    return criterion


def criterion_named(name: str) -> Criterion:
    """The criterion of a name, or a sentence with those that are known."""
    if name not in CRITERIA:
        known = ", ".join(CRITERIA)
        raise ValueError(f"criterion={name!r} is not known; choose one of {known}.")
    return CRITERIA[name]


# -- hidden parts -----------------------------------------------------------------------------


def _hidden_cells(model: Any, part: Part) -> RowScores:
    from falsezero.analysis.heldout import hide_cells, score_cells

    hidden = hide_cells(part.table, part.n_parts, part.seed, part.number)
    threshold = model.get_params().get("binarize")
    if threshold is not None:
        hidden = hidden._replace(values=(hidden.values > threshold).astype(float))
    is_binary = threshold is not None or part.table.is_binary
    return RowScores(*score_cells(model, hidden, is_binary))


def _hidden_rows(model: Any, part: Part) -> RowScores:
    from falsezero.analysis.heldout import score_rows, split_rows

    folds = split_rows(part.table, part.n_parts, part.seed)
    return RowScores(*score_rows(model, part.table, folds[part.number]))


_ROW_SCORES: dict[str | None, str] = {
    "density": "log probability of a row",
    "bound": "log probability of a row",
    "tokens": "log probability of a row's tokens",
    "completion": "log probability of half a row given the other half",
    "conditional": "log probability of a row given weights inferred from it",
}
"""A bound stands for what it bounds: it can only understate a model."""

register_criterion(
    Criterion(
        "cells",
        1,
        "mean log probability of hidden cells",
        _hidden_cells,
        hides_parts=True,
        meaning=lambda declared: "cells" if declared.leaves_cells_out else None,
        refusal="criterion='cells' hides cells, and {model} cannot be fitted without them; "
        "criterion='rows' leaves out whole rows instead.",
    )
)
register_criterion(
    Criterion(
        "rows",
        1,
        "mean log likelihood of hidden rows",
        _hidden_rows,
        hides_parts=True,
        meaning=lambda declared: _ROW_SCORES.get(declared.row_score),
        refusal="{model} does not score rows; criterion='cells' asks for single cells instead.",
    )
)


# -- the whole table --------------------------------------------------------------------------


def _penalised(declared: Capabilities, size: str | None = None) -> str | None:
    """Likelihoods of tables of another kind have another unit; so have BICs that count other n."""
    if declared.sample_size is None:
        return None
    counted = f" with n = {declared.sample_size}" if size else ""
    return f"that of a {declared.table} table{counted}"


_NO_LIKELIHOOD = "{model} has no %s; criterion='cells' asks every model that can leave cells out."

register_criterion(
    Criterion(
        "aic",
        -1,
        "AIC",
        lambda model, part: model.fit(part.table).aic(),
        meaning=_penalised,
        refusal=_NO_LIKELIHOOD % "AIC",
    )
)
register_criterion(
    Criterion(
        "bic",
        -1,
        "BIC",
        lambda model, part: model.fit(part.table).bic(),
        meaning=lambda declared: _penalised(declared, declared.sample_size),
        refusal=_NO_LIKELIHOOD % "BIC",
    )
)
register_criterion(
    Criterion(
        "evidence",
        1,
        "bound on the log evidence",
        lambda model, part: model.fit(part.table).evidence_,
        meaning=lambda declared: "evidence" if declared.has_evidence else None,
        refusal="{model} has no evidence; BinaryICA(inference='vb') has one, and criterion='cells' "
        "asks every model that can leave cells out.",
    )
)
