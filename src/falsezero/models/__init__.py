"""One file, one model. `MODELS` names them for the command line and for saved files."""

from __future__ import annotations

from collections import ChainMap
from importlib import import_module
from typing import Any

from falsezero._lazy import attach

# The classes are listed in __init__.pyi.
__getattr__, __dir__, __all__ = attach(__name__)

MODELS = {
    "aspect-bernoulli": "falsezero.models.convex.aspect_bernoulli:AspectBernoulli",
    "binary-ica": "falsezero.models.convex.binary_ica:BinaryICA",
    "repeated-looks": "falsezero.models.convex.repeated_looks:RepeatedLooks",
    "noisy-or": "falsezero.models.noisy_or.noisy_or:NoisyOr",
    "bmf": "falsezero.models.bmf.binary_matrix_factorization:BinaryMatrixFactorization",
    "discrete-pca": "falsezero.models.discrete_pca.discrete_pca:DiscretePCA",
    "bernoulli-mixture": "falsezero.models.baselines.bernoulli_mixture:BernoulliMixture",
    "logistic-pca": "falsezero.models.baselines.logistic_pca:LogisticPCA",
    "plsa": "falsezero.models.baselines.plsa:PLSA",
    "bernoulli-nmf": "falsezero.models.baselines.bernoulli_nmf:BernoulliNMF",
    "unigram-mixture": "falsezero.models.baselines.unigram_mixture:UnigramMixture",
}
"""Factor models, for the command line."""

SCORERS = {
    "ease": "falsezero.models.baselines.ease:EASE",
    "row-neighbours": "falsezero.models.baselines.row_neighbours:RowNeighbours",
    "column-neighbours": "falsezero.models.baselines.column_neighbours:ColumnNeighbours",
    "beals": "falsezero.models.baselines.beals:Beals",
    "dark-diversity": "falsezero.models.baselines.dark_diversity:DarkDiversity",
    "implicit-als": "falsezero.models.baselines.implicit_als:ImplicitALS",
    "margins": "falsezero.models.baselines.margins:Margins",
}
"""Models without components, which score cells."""

REGISTRY = ChainMap(MODELS, SCORERS)
"""Everything that is fitted to one table on its own."""

AVERAGES = {
    "stacked-average": "falsezero.models.average.average:StackedAverage",
    "looks-average": "falsezero.models.convex.looks_average:LooksAverage",
}
"""Models made of other models."""

SAVED = ChainMap(MODELS, SCORERS, AVERAGES)
"""A fixed registry: nothing outside this list is ever loaded by name."""


def model_class(name: str) -> Any:
    """The estimator class of a model's short name or class name.

    >>> model_class("aspect-bernoulli").__name__
    'AspectBernoulli'
    """
    for short, home in SAVED.items():
        module, _, class_name = home.partition(":")
        if name in (short, class_name):
            return getattr(import_module(module), class_name)
    raise ValueError(f"There is no model {name!r}; falsezero has {', '.join(REGISTRY)}.")
