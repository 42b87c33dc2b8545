"""The models, by family; `falsezero` exports them too. See `falsezero._lazy`."""

from typing import Any

from falsezero.models.average.average import StackedAverage
from falsezero.models.baselines.beals import Beals
from falsezero.models.baselines.bernoulli_mixture import BernoulliMixture
from falsezero.models.baselines.bernoulli_nmf import BernoulliNMF
from falsezero.models.baselines.column_neighbours import ColumnNeighbours
from falsezero.models.baselines.dark_diversity import DarkDiversity
from falsezero.models.baselines.ease import EASE
from falsezero.models.baselines.implicit_als import ImplicitALS
from falsezero.models.baselines.logistic_pca import LogisticPCA
from falsezero.models.baselines.margins import Margins
from falsezero.models.baselines.plsa import PLSA
from falsezero.models.baselines.row_neighbours import RowNeighbours
from falsezero.models.baselines.unigram_mixture import UnigramMixture
from falsezero.models.bmf.binary_matrix_factorization import BinaryMatrixFactorization
from falsezero.models.convex.aspect_bernoulli import AspectBernoulli
from falsezero.models.convex.binary_ica import BinaryICA
from falsezero.models.convex.looks_average import LooksAverage
from falsezero.models.convex.repeated_looks import RepeatedLooks
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.models.noisy_or.noisy_or import NoisyOr

__all__ = [
    "EASE",
    "PLSA",
    "AspectBernoulli",
    "Beals",
    "BernoulliMixture",
    "BernoulliNMF",
    "BinaryICA",
    "BinaryMatrixFactorization",
    "ColumnNeighbours",
    "DarkDiversity",
    "DiscretePCA",
    "ImplicitALS",
    "LogisticPCA",
    "LooksAverage",
    "Margins",
    "NoisyOr",
    "RepeatedLooks",
    "RowNeighbours",
    "StackedAverage",
    "UnigramMixture",
]

MODELS: dict[str, str]
SCORERS: dict[str, str]
REGISTRY: dict[str, str]
SAVED: dict[str, str]
AVERAGES: dict[str, str]

def model_class(name: str) -> Any: ...
