"""The record in which each model declares what it supports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Capabilities", "capabilities_of"]

TableKind = Literal["binary", "count", "weight", "real"]
LinkName = Literal["convex", "linear", "noisy-or", "logistic", "tanh"]
RowScore = Literal["density", "bound", "bag", "bag by group"]


@dataclass(frozen=True)
class Capabilities:
    """What a model supports, for `analysis`, `plot`, `explorer` and the shell to read.

    Every model has one as its attribute `capabilities`; no code probes for methods instead.

    Parameters
    ----------
    table : {"binary", "count", "weight", "real"}
        Values that the model can be fitted to: zeros and ones, non-negative integers, non-negative
        numbers, any numbers.
    link : {"convex", "linear", "noisy-or", "logistic", "tanh"} or None
        How row weights and `components_` become the expected table; see `falsezero.base.links`.
        None where the expected table needs more than these two, such as row totals.
    row_score : {"density", "bound", "bag", "bag by group"} or None
        What `score_samples` returns for a row, with its weights integrated out; None for models
        without it. "density": log probability of all its observed cells. "bound": a lower bound on
        that. "bag": log probability of its counts given their total. "bag by group": the same given
        the total of each group of columns. Scores with different meanings are never compared.
    completes_rows : bool, default=False
        Whether `completion_samples` gives the log probability of half of a row's tokens given the
        other half.
    sample_size : {"rows", "cells"} or None
        What n counts in the model's BIC; None for models without `aic` and `bic`.
    has_evidence : bool, default=False
        Whether `evidence_`, a bound on the log evidence, can judge the number of components.
    cell_has_cause : bool, default=False
        Whether each cell was made by exactly one component, so that `cell_posterior` can tell which
        and a component can be classified as noise.
    leaves_cells_out : bool, default=True
        Whether unobserved cells (NaN) are left out of the likelihood.
    sparse : bool, default=False
        Whether a sparse table is fitted without visiting each of its zeros.
    distributed : bool, default=False
        Whether the model can be fitted to `falsezero.Shards`, tables larger than memory.

    Examples
    --------
    >>> import falsezero as fz
    >>> fz.AspectBernoulli().capabilities.link
    'convex'
    """

    table: TableKind
    link: LinkName | None
    row_score: RowScore | None
    sample_size: Literal["rows", "cells"] | None = None
    has_evidence: bool = False
    cell_has_cause: bool = False
    leaves_cells_out: bool = True
    sparse: bool = False
    distributed: bool = False
    completes_rows: bool = False


def capabilities_of(model: Any) -> Capabilities:
    """The capabilities of a model; a TypeError for anything but a falsezero model.

    >>> import falsezero as fz
    >>> capabilities_of(fz.PLSA()).table
    'weight'
    """
    declared = getattr(model, "capabilities", None)
    if isinstance(model, type) or not isinstance(declared, Capabilities):
        given = f"the class {model.__name__}" if isinstance(model, type) else repr(model)
        raise TypeError(
            f"A model of falsezero is needed, such as AspectBernoulli(), but {given} was given."
        )
    return declared
