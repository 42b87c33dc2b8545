"""The first and the second fit, and memory: every side alone in a process of its own.

Both sides make the same number of passes over the same table on one thread, so this says nothing
about quality; the other cases do. The first fit after an installation turns our kernels into
machine code; later processes read that from disk.
"""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks import adapters
from benchmarks.harness import in_fresh_process, row
from falsezero.datasets import load_associated_press, make_aspect_bernoulli


class Side(NamedTuple):
    """A model or a library as the table names it, and its adapter."""

    name: str
    adapter: str


ASPECTS = Side("AspectBernoulli", "aspect_bernoulli")
MEAN_FIELD = Side("DiscretePCA mean_field", "mean_field")
SAMPLER = Side("DiscretePCA collapsed_gibbs", "collapsed_gibbs")
MODULES = ("nbmf_mm", "stepmix", "logisticpca", "gensim", "tomotopy", "lda", "poismf")
PAIRS = (
    ("binary", 100, ASPECTS, Side("nbmf-mm", "nbmf_mm")),
    ("binary", 100, ASPECTS, Side("scikit-learn BernoulliRBM", "bernoulli_rbm")),
    ("binary", 100, Side("BernoulliMixture", "bernoulli_mixture"), Side("stepmix", "stepmix")),
    ("binary", 20, Side("LogisticPCA", "logistic_pca"), Side("logisticpca", "logisticpca")),
    ("counts", 10, Side("PLSA", "plsa"), Side("scikit-learn NMF", "nmf")),
    ("counts", 4, MEAN_FIELD, Side("scikit-learn LDA", "sklearn_lda")),
    ("counts", 4, MEAN_FIELD, Side("gensim LdaModel", "gensim")),
    ("counts", 20, SAMPLER, Side("tomotopy", "tomotopy")),
    ("counts", 20, SAMPLER, Side("lda", "lda")),
    ("counts", 2, Side("DiscretePCA gamma-Poisson", "gamma_poisson"), Side("poismf", "poismf")),
)
"""Kind of table, passes over it, and the two sides."""
HEADLINE = "nbmf-mm"
"""The rival whose lines stand in the README for all: the others look alike."""


def run(quick: bool) -> list[dict[str, Any]]:
    """All pairs; the quick form takes two with scikit-learn on small tables, compiled before."""
    absent = [module for module in MODULES if not find_spec(module)]
    if absent and not quick:
        raise ImportError(f"{', '.join(absent)} not installed")
    pairs = [pair for pair in PAIRS if pair[3].adapter in ("bernoulli_rbm", "nmf") or not quick]
    with tempfile.TemporaryDirectory() as folder:
        tables = (_small if quick else _usual)(folder)
        sides = {(side, kind, passes) for kind, passes, *both in pairs for side in both}
        found = {
            (side, kind, passes): _measured(side, *tables[kind][1:], passes, folder, quick)
            for side, kind, passes in sorted(sides)
        }
    return [
        line
        for kind, passes, ours, rival in pairs
        for line in _rows(
            f"{ours.name} {tables[kind][0]}, {passes} passes", ours.name, rival.name,
            found[ours, kind, passes], found[rival, kind, passes],
        )
    ]  # fmt: skip


def _measured(
    side: Side, path: str, k: int, passes: int, folder: str, quick: bool
) -> dict[str, float]:
    """Fits of one side; ours also with no kernel compiled yet, into a cache of its own."""
    fits = (adapters.first_and_second, side.adapter, path, k, passes)
    ours = any(side is pair[2] for pair in PAIRS) and not quick
    cache = {"NUMBA_CACHE_DIR": f"{folder}/{side.adapter}"} if ours else {}
    compiled = {COMPILED: in_fresh_process(*fits, **cache)[0]} if ours else {}
    first, second, memory = in_fresh_process(*fits, **cache)
    return {
        "seconds, first fit": first, "seconds, second fit": second,
        "peak MB of the process": memory, **compiled,
    }  # fmt: skip


COMPILED = "seconds, first fit after an installation"


def _rows(
    case: str, ours: str, rival: str, our_values: dict[str, float], their_values: dict[str, float]
) -> list[dict[str, Any]]:
    their_values = {COMPILED: their_values["seconds, first fit"], **their_values}
    start = f"`{ours}`, alone in a new process: "
    return [
        row(
            case, ours, rival, quantity, value, their_values[quantity], threads=1,
            headline=start + quantity if rival == HEADLINE else "",
        )
        for quantity, value in our_values.items()
    ]  # fmt: skip


def _usual(folder: str) -> dict[str, tuple[str, str, int]]:
    made = make_aspect_bernoulli(2000, 240, 15, random_state=0).table.to_numpy()
    counts = load_associated_press().table.values
    return {
        "binary": ("2000 x 240, K=15", _saved(made, folder), 15),
        "counts": ("associated press, K=50", _saved(counts, folder), 50),
    }


def _small(folder: str) -> dict[str, tuple[str, str, int]]:
    made = make_aspect_bernoulli(200, 40, 3, random_state=0).table.to_numpy()
    counts = np.random.default_rng(0).poisson(0.3, (200, 100))
    return {
        "binary": ("200 x 40, K=3", _saved(made, folder), 3),
        "counts": ("200 x 100 counts, K=5", _saved(sparse.csr_array(counts), folder), 5),
    }


def _saved(table: Any, folder: str) -> str:
    """Written to a file, so that drawing or reading the table weighs on nobody."""
    if not sparse.issparse(table):
        np.save(f"{folder}/table.npy", table.astype(float))
        return f"{folder}/table.npy"
    sparse.save_npz(f"{folder}/table.npz", sparse.csr_array(table.astype(float)))
    return f"{folder}/table.npz"
