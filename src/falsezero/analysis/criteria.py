"""Criteria by which candidates are ranked: one record each, in one registry.

`select`, `compare`, the shell and the plots read `CRITERIA`. To add a criterion, call
`register_criterion` with a new record, here or in a module of your own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from falsezero.base.capabilities import Capabilities, capabilities_of

__all__ = [
    "CRITERIA",
    "Convention",
    "Criterion",
    "HiddenPart",
    "RowScores",
    "criterion_named",
    "register_criterion",
]


class Convention(NamedTuple):
    """What all candidates of one comparison share, such as the n of a BIC."""

    label: str = ""
    """In words, for the result."""
    value: Any = None
    """For `evaluate`."""


class HiddenPart(NamedTuple):
    """The data of one evaluation: the table, and which of its `n_parts` parts is hidden."""

    table: Any
    number: int = 0
    n_parts: int = 1
    seed: int = 0
    """The same for all candidates, so that the same cells are hidden and differences are paired."""
    convention: Convention = Convention()


class RowScores(NamedTuple):
    """A score for each row (or file), so that two candidates can be compared row by row."""

    total: Any
    """Sum over the hidden cells (or tokens) of the row."""
    count: Any
    """Number of hidden cells (or tokens) in the row."""

    @property
    def mean(self) -> float:
        """Mean over everything hidden."""
        return float(self.total.sum() / self.count.sum())


def _same_for_all(declared: Capabilities) -> str | None:
    return "the same for every model"


def _no_convention(candidates: Sequence[Any], table: Any) -> Convention:
    return Convention()


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
        Takes an unfitted model and a `HiddenPart`, fits the model, and returns a number or
        `RowScores`.
    hides_parts : bool, default=False
        Whether `evaluate` hides a part of the table; it is then called once for each part.
    meaning : callable
        Takes the `Capabilities` of a model and returns in words what the number means for it, or
        None where the model has no such number. Candidates are only ranked where it means the same.
    refusal : str
        Error message for a model without such a number; ``{model}`` stands for its name.
    agree : callable
        Takes all candidates and the table, and returns the `Convention` that each is judged by.
    in_files : bool, default=False
        Whether the table may be `Shards`.

    Examples
    --------
    >>> CRITERIA["bic"].sign, CRITERIA["cells"].hides_parts
    (-1, True)
    """

    name: str
    sign: int
    label: str
    evaluate: Callable[[Any, HiddenPart], float | RowScores]
    hides_parts: bool = False
    meaning: Callable[[Capabilities], str | None] = _same_for_all
    refusal: str = "{model} cannot be judged by this criterion."
    agree: Callable[[Sequence[Any], Any], Convention] = _no_convention
    in_files: bool = False

    @property
    def direction(self) -> str:
        """Which values are better, in one word."""
        return "higher" if self.sign > 0 else "lower"

    def check(self, candidates: Sequence[Any]) -> None:
        """Refuse candidates that lack this number, or for which it means different things."""
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
    """The criterion of this name; an unknown name is an error that lists the known ones."""
    if name not in CRITERIA:
        known = ", ".join(CRITERIA)
        raise ValueError(f"criterion={name!r} is not known; choose one of {known}.")
    return CRITERIA[name]


def _is_in_files(table: Any) -> bool:
    # Imported late: the shell lists the criteria in its help, which must not need NumPy.
    from falsezero.data.shards import Shards

    return isinstance(table, Shards)


# -- hidden parts -----------------------------------------------------------------------------


def _hidden_cells(model: Any, part: HiddenPart) -> RowScores:
    from falsezero.analysis.heldout import hide_cells, score_cells
    from falsezero.analysis.heldout_files import score_cells_in_files

    if _is_in_files(part.table):
        where = (part.n_parts, part.seed, part.number)
        return RowScores(*score_cells_in_files(model, part.table, *where))
    hidden = hide_cells(part.table, part.n_parts, part.seed, part.number)
    threshold = model.get_params().get("binarize")
    if threshold is not None:
        hidden = hidden._replace(values=(hidden.values > threshold).astype(float))
    is_binary = threshold is not None or part.table.is_binary
    return RowScores(*score_cells(model, hidden, is_binary))


def _hidden_rows(model: Any, part: HiddenPart) -> RowScores:
    from falsezero.analysis.heldout import score_rows, split_rows

    folds = split_rows(part.table, part.n_parts, part.seed)
    return RowScores(*score_rows(model, part.table, folds[part.number]))


def _hidden_tokens(model: Any, part: HiddenPart) -> RowScores:
    from falsezero.analysis.heldout import score_completion, split_rows

    folds = split_rows(part.table, part.n_parts, part.seed)
    return RowScores(*score_completion(model, part.table, folds[part.number]))


_ROW_SCORES: dict[str | None, str] = {
    "density": "log probability of all cells of a row",
    "bound": "log probability of all cells of a row",
    "bag": "log probability of a row's counts given their total",
    "bag by group": "log probability of a row's counts given the total of each group",
}
"""A bound stands for what it bounds: it can only understate a model."""


def _row_score(declared: Capabilities) -> str | None:
    """What a row score means; densities of tables of another kind have another unit."""
    score = _ROW_SCORES.get(declared.row_score)
    kind = f" of a {declared.table} table" if declared.row_score in ("density", "bound") else ""
    return None if score is None else score + kind


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
        in_files=True,
    )
)
register_criterion(
    Criterion(
        "rows",
        1,
        "mean log likelihood of hidden rows",
        _hidden_rows,
        hides_parts=True,
        meaning=_row_score,
        refusal="{model} does not score rows; criterion='cells' asks for single cells instead.",
        agree=lambda candidates, _: Convention(str(_row_score(capabilities_of(candidates[0])))),
    )
)
register_criterion(
    Criterion(
        "completion",
        1,
        "mean log probability of hidden tokens",
        _hidden_tokens,
        hides_parts=True,
        meaning=lambda declared: "completion" if declared.completes_rows else None,
        refusal="criterion='completion' hides half of the tokens of a row of counts, and {model} "
        "cannot complete it; criterion='cells' asks every model that can leave cells out.",
        agree=lambda *_: Convention("half of a hidden row's tokens given the other half"),
    )
)


# -- the whole table --------------------------------------------------------------------------


def _penalised(declared: Capabilities) -> str | None:
    """Likelihoods of tables of another kind have another unit."""
    return None if declared.sample_size is None else f"that of a {declared.table} table"


def _sample_size(candidates: Sequence[Any], table: Any) -> Convention:
    """The n that the models' own BIC counts; observed cells where they differ."""
    sizes = {capabilities_of(candidate).sample_size for candidate in candidates}
    if sizes == {"rows"}:
        return Convention(f"n = {table.shape[0]} rows", table.shape[0])
    if _is_in_files(table):
        n_cells = candidates[0]._blocks(table, reset=True).n_observed
    else:
        n_cells = table.shape[0] * table.shape[1] - table.n_missing
    return Convention(f"n = {n_cells} observed cells", n_cells)


def _bic(model: Any, part: HiddenPart) -> float:
    """-2 L + P log(n), with one n for all candidates."""
    model.fit(part.table)
    penalty = math.log(part.convention.value) - 2
    return float(model.aic() + model.n_parameters_ * penalty)


_NO_LIKELIHOOD = "{model} has no %s; criterion='cells' asks every model that can leave cells out."

register_criterion(
    Criterion(
        "aic",
        -1,
        "AIC",
        lambda model, part: model.fit(part.table).aic(),
        meaning=_penalised,
        refusal=_NO_LIKELIHOOD % "AIC",
        in_files=True,
    )
)
register_criterion(
    Criterion(
        "bic",
        -1,
        "BIC",
        _bic,
        meaning=_penalised,
        refusal=_NO_LIKELIHOOD % "BIC",
        agree=_sample_size,
        in_files=True,
    )
)


# -- the evidence -----------------------------------------------------------------------------

_AFFORDABLE = 1e6
"""Cells times components up to which the evidence is estimated: about half a minute a candidate."""

_ANNEALING = {"n_chains": 4, "n_steps": 300}


def _estimate_or_bound(candidates: Sequence[Any], table: Any) -> Convention:
    """Annealed importance sampling where the largest candidate can afford it, else the bound."""
    most = max(candidate.get_params()["n_components"] for candidate in candidates)
    if table.shape[0] * table.shape[1] * most > _AFFORDABLE:
        return Convention("lower bound of the variational fit")
    chains, steps = _ANNEALING.values()
    return Convention(f"annealed estimate, {chains} chains of {steps} steps", _ANNEALING)


def _evidence(model: Any, part: HiddenPart) -> float:
    from falsezero.analysis.evidence import log_evidence

    model.fit(part.table)
    annealing = part.convention.value
    if annealing is None:
        return float(model.evidence_)
    return log_evidence(model, part.table, random_state=part.seed, **annealing).value


register_criterion(
    Criterion(
        "evidence",
        1,
        "log evidence",
        _evidence,
        meaning=lambda declared: "evidence" if declared.has_evidence else None,
        refusal="{model} has no evidence; BinaryICA(inference='vb') has one, and criterion='cells' "
        "asks every model that can leave cells out.",
        agree=_estimate_or_bound,
        in_files=True,
    )
)
