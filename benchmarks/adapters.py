"""One small function a library, to be run in a process of its own: each imports only its library.

An adapter takes the table, the number of components and the number of passes over the table, and
returns the fit as a function of nothing, so that importing and converting stay off the clock. All
run on one thread; none stops early.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import peak_memory_mb

ALPHA, ETA = 0.1, 0.05
"""Prior tokens of a component in a row, and of a column in a component, of every topic model."""

Fit = Callable[[], Any]


def first_and_second(adapter: str, path: str, k: int, passes: int) -> tuple[float, float, float]:
    """Seconds of the first and of the second fit of this process, and its peak memory in MB."""
    table = np.load(path) if path.endswith(".npy") else sparse.load_npz(path)
    fit = globals()[adapter](table, k, passes)
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        fit()
        seconds.append(time.perf_counter() - began)
    return seconds[0], seconds[1], peak_memory_mb()


def _plain(passes: int) -> dict[str, Any]:
    """Our options for so many plain steps."""
    return {"max_iter": passes, "tol": 0, "acceleration": None, "n_jobs": 1, "random_state": 0}


def aspect_bernoulli(X: Any, k: int, passes: int) -> Fit:
    """EM, with each row's weights on the simplex."""
    from falsezero import AspectBernoulli

    return lambda: AspectBernoulli(k, prior=0, **_plain(passes)).fit(X)


def nbmf_mm(X: Any, k: int, passes: int) -> Fit:
    """Majorise-minimise of the same mean parameters."""
    from nbmf_mm import NBMF

    return lambda: NBMF(k, max_iter=passes, tol=0, random_state=0).fit(X)


def bernoulli_rbm(X: Any, k: int, passes: int) -> Fit:
    """Persistent contrastive divergence, in batches of 10 rows."""
    from sklearn.neural_network import BernoulliRBM

    return lambda: BernoulliRBM(k, n_iter=passes, random_state=0).fit(X)


def bernoulli_mixture(X: Any, k: int, passes: int) -> Fit:
    """EM."""
    from falsezero import BernoulliMixture

    return lambda: BernoulliMixture(k, **_plain(passes)).fit(X)


def stepmix(X: Any, k: int, passes: int) -> Fit:
    """EM."""
    from stepmix.stepmix import StepMix

    options = {"measurement": "binary", "verbose": 0, "progress_bar": 0, "random_state": 0}
    return lambda: StepMix(k, max_iter=passes, abs_tol=0, **options).fit(X)


def logistic_pca(X: Any, k: int, passes: int) -> Fit:
    """Majorise-minimise in the natural parameters."""
    from falsezero import LogisticPCA

    return lambda: LogisticPCA(k, **_plain(passes)).fit(X)


def logisticpca(X: Any, k: int, passes: int) -> Fit:
    """Majorise-minimise of a projection of the saturated model."""
    from logisticpca import LogisticPCA

    return lambda: LogisticPCA(k, m=4, max_iter=passes, tol=0).fit(X)


def plsa(X: Any, k: int, passes: int) -> Fit:
    """EM."""
    from falsezero import PLSA

    return lambda: PLSA(k, **_plain(passes)).fit(X)


def nmf(X: Any, k: int, passes: int) -> Fit:
    """Multiplicative updates of the Kullback-Leibler loss, from random numbers."""
    from sklearn.decomposition import NMF

    options = {"beta_loss": "kullback-leibler", "solver": "mu", "init": "random"}
    return lambda: NMF(k, max_iter=passes, tol=0, random_state=0, **options).fit(X)


def mean_field(X: Any, k: int, passes: int) -> Fit:
    """Mean field of latent Dirichlet allocation."""
    from falsezero import DiscretePCA

    return lambda: DiscretePCA(k, alpha=ALPHA, eta=ETA, **_plain(passes)).fit(X)


def sklearn_lda(X: Any, k: int, passes: int) -> Fit:
    """Batch mean field."""
    from sklearn.decomposition import LatentDirichletAllocation

    options = {"doc_topic_prior": ALPHA, "topic_word_prior": ETA, "learning_method": "batch"}
    counts = sparse.csr_matrix(X)
    return lambda: LatentDirichletAllocation(k, max_iter=passes, random_state=0, **options).fit(
        counts
    )


def gensim(X: Any, k: int, passes: int) -> Fit:
    """Mean field in chunks of 2000 rows."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    documents = Sparse2Corpus(sparse.csc_matrix(X.T.astype(int)))
    options = {"alpha": [ALPHA] * k, "eta": ETA, "eval_every": None, "random_state": 0}
    return lambda: LdaModel(documents, k, passes=passes, **options)


def collapsed_gibbs(X: Any, k: int, passes: int) -> Fit:
    """Collapsed Gibbs, one shard, draws of the second half averaged."""
    from falsezero import DiscretePCA

    draws = max(1, min(10, passes // 2))
    thin = max(1, passes // (2 * draws))
    options = {"warmup": passes - draws * thin, "n_draws": draws, "thin": thin, "random_state": 0}
    options |= {"inference": "collapsed_gibbs", "alpha": ALPHA, "eta": ETA, "n_jobs": 1}
    return lambda: DiscretePCA(k, **options).fit(X)


def tomotopy(X: Any, k: int, passes: int) -> Fit:
    """Collapsed Gibbs on one worker; handing over the documents is on the clock, as in ours."""
    from tomotopy import LDAModel

    documents = [[str(j) for j in np.repeat(*_tokens(X, i))] for i in range(X.shape[0])]

    def fit() -> Any:
        model = LDAModel(k=k, alpha=ALPHA, eta=ETA, seed=1)
        model.optim_interval = 0
        for document in documents:
            model.add_doc(document)
        model.train(passes, workers=1)
        return model

    return fit


def _tokens(X: Any, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of a row's counts, and the counts."""
    at = slice(X.indptr[i], X.indptr[i + 1])
    return X.indices[at], X.data[at].astype(int)


def lda(X: Any, k: int, passes: int) -> Fit:
    """Collapsed Gibbs."""
    import logging

    from lda import LDA

    logging.getLogger("lda").setLevel(logging.ERROR)
    counts = sparse.csr_matrix(X).astype(int)
    options = {"alpha": ALPHA, "eta": ETA, "random_state": 0, "refresh": 10**9}
    return lambda: LDA(k, n_iter=passes, **options).fit(counts)


def gamma_poisson(X: Any, k: int, passes: int) -> Fit:
    """Mean field of gamma-Poisson counts."""
    from falsezero import DiscretePCA

    return lambda: DiscretePCA(k, family="gamma-poisson", **_plain(passes)).fit(X)


def poismf(X: Any, k: int, passes: int) -> Fit:
    """Alternating truncated Newton steps."""
    from poismf import PoisMF

    counts = sparse.coo_matrix(X)
    return lambda: PoisMF(k=k, niter=passes, nthreads=1, random_state=1).fit(counts)


def sparse_iterations(path: str, k: int, passes: int) -> tuple[float, float, float, float]:
    """Ours on a sparse table: seconds an iteration and in all, peak MB, and peak MB before."""
    from falsezero import AspectBernoulli

    X = sparse.load_npz(path)
    AspectBernoulli(k, prior=0, solver="sparse", max_iter=2).fit(X[:3000])
    before = peak_memory_mb()
    model = AspectBernoulli(
        k, prior=0, solver="sparse", tol=0, max_iter=passes, random_state=0
    ).fit(X)
    seconds = [line["seconds"] for line in model.history_]
    return float(np.median(np.diff(seconds))), seconds[-1], peak_memory_mb(), before


def nbmf_iterations(path: str, k: int, passes: int) -> tuple[float, float]:
    """nbmf-mm on a sparse table: seconds an iteration and peak MB."""
    fit = nbmf_mm(sparse.load_npz(path), k, passes)
    began = time.perf_counter()
    fit()
    return (time.perf_counter() - began) / passes, peak_memory_mb()


def exact_iteration(path: str, k: int) -> float:
    """Seconds of our own dense pass over a sparse table, from the pass over one block."""
    from falsezero.data.blocks import Blocks
    from falsezero.models.convex.aspect_bernoulli import ExactSteps

    blocks = Blocks.cut(sparse.load_npz(path))
    steps = ExactSteps(k, blocks)
    state, local = steps.init(blocks, np.random.default_rng(0))
    steps.local_step(blocks[0], local[0], state, None)
    began = time.perf_counter()
    steps.local_step(blocks[1], local[1], state, None)
    return (time.perf_counter() - began) * len(blocks)
