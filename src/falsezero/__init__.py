"""falsezero: which zeros in your table are real?

Multiple-cause factor models for tables of zeros and ones, and counts: they separate noise from
content, fill the gaps, explain every cell, and say how many causes the data supports.

>>> import falsezero as fz
>>> table = fz.datasets.make_aspect_bernoulli(100, 20, 2, random_state=0).table
>>> model = fz.AspectBernoulli(n_components=2, random_state=0).fit(table)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "falsezero.backends.dask": ["on_dask"],
    "falsezero.data.table": ["Table"],
    "falsezero.data.looks": ["Looks", "as_looks"],
    "falsezero.data.shards": ["Shards"],
    "falsezero.data.read": ["read", "as_table"],
    "falsezero.data.corrupt": ["corrupt"],
    "falsezero.data.tidy": ["Tidy"],
    "falsezero.audit.audit": ["Audit", "audit"],
    "falsezero.audit.calibration": ["calibrate"],
    "falsezero.analysis.noise": ["denoise", "find_phantoms"],
    "falsezero.analysis.gaps": ["expand", "false_absences", "false_presences"],
    "falsezero.analysis.explain": ["explain"],
    "falsezero.explorer.page": ["explore"],
    "falsezero.io.models": ["load", "save"],
    "falsezero.report.page": ["write_report"],
    "falsezero.analysis.compare": ["compare"],
    "falsezero.analysis.selection": ["select"],
    "falsezero.models.convex.aspect_bernoulli": ["AspectBernoulli"],
    "falsezero.models.discrete_pca.discrete_pca": ["DiscretePCA"],
    "falsezero.models.convex.binary_ica": ["BinaryICA"],
    "falsezero.models.convex.repeated_looks": ["RepeatedLooks"],
    "falsezero.analysis.evidence": ["log_evidence"],
    "falsezero.analysis.diagnostics": ["diagnose", "to_datatree"],
    "falsezero.analysis.ordering": ["order_by_component", "ternary_coordinates"],
    "falsezero.models.baselines.bernoulli_mixture": ["BernoulliMixture"],
    "falsezero.models.baselines.bernoulli_nmf": ["BernoulliNMF"],
    "falsezero.models.baselines.logistic_pca": ["LogisticPCA"],
    "falsezero.models.baselines.plsa": ["PLSA"],
    "falsezero.models.baselines.unigram_mixture": ["UnigramMixture"],
    "falsezero.models.baselines.beals": ["Beals"],
    "falsezero.models.baselines.column_neighbours": ["ColumnNeighbours"],
    "falsezero.models.baselines.dark_diversity": ["DarkDiversity"],
    "falsezero.models.baselines.ease": ["EASE"],
    "falsezero.models.baselines.margins": ["Margins"],
    "falsezero.models.baselines.row_neighbours": ["RowNeighbours"],
    "falsezero.models.average.average": ["StackedAverage"],
    "falsezero.models.noisy_or.noisy_or": ["NoisyOr"],
    "falsezero.models.bmf.binary_matrix_factorization": ["BinaryMatrixFactorization"],
}
_MODULES = ["analysis", "data", "datasets", "inference", "models", "plot"]
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import falsezero` itself costs nothing."""
    if name in _MODULES:
        return import_module(f"falsezero.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"falsezero has no {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
