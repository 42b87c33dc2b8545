"""AspectBernoulli against nbmf-mm: per iteration, to equal likelihood, held out, and sparse."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from nbmf_mm import NBMF
from scipy import sparse
from threadpoolctl import threadpool_limits

import falsezero as fz
from benchmarks import adapters
from benchmarks.harness import in_fresh_process, row, timed
from falsezero.backends import workers
from falsezero.data.blocks import Blocks
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer
from falsezero.models.convex.aspect_bernoulli import ExactSteps

OURS, RIVAL = "AspectBernoulli", "nbmf-mm"
IN_WORDS = {1: "one thread", 2: "two threads"}


def run(quick: bool) -> list[dict[str, Any]]:
    """All comparisons; the quick form leaves out the large tables."""
    with threadpool_limits(1, user_api="blas"):
        if quick:
            return [
                _iteration(200, 40, 3, n_jobs=1),
                _products(200, 40, 3),
                *_to_equal_likelihood(200, 40, 3, n_jobs=1),
            ]
        rows = [
            _iteration(2000, 240, 15, n_jobs=1),
            _products(2000, 240, 15),
            *_to_equal_likelihood(2000, 240, 15, n_jobs=1),
            _products(5000, 2000, 50),
            *_held_out(),
        ]
    with threadpool_limits(2, user_api="blas"):
        rows += [
            _iteration(2000, 240, 15, n_jobs=2),
            *_to_equal_likelihood(2000, 240, 15, n_jobs=2),
        ]
    with tempfile.TemporaryDirectory() as folder:
        rows += [*_sparse_iteration(folder), *_sparse_at_scale(folder)]
    return rows


def drawn(n_rows: int, n_columns: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A table from the Aspect Bernoulli model at a density of about 0.29, and its probabilities."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.2), n_rows) @ rng.beta(0.5, 1.2, (k, n_columns))
    return (rng.random(p.shape) < p).astype(float), p


def _our_iterations(X: Any, k: int, n_jobs: int, n_iter: int) -> float:
    """Seconds of one EM iteration."""
    blocks = Blocks.cut(X)
    steps = ExactSteps(k, blocks)
    point = Point(*steps.init(blocks, np.random.default_rng(0)))
    with workers(n_jobs, len(blocks)) as run_blocks:
        advance = advancer(steps, blocks, run_blocks)
        point, *_ = advance(point)

        def some() -> None:
            here = point
            for _ in range(n_iter):
                here, *_ = advance(here)

        seconds, _ = timed(some, 7)
    return seconds / n_iter


def _iteration(n_rows: int, n_columns: int, k: int, n_jobs: int) -> dict[str, Any]:
    X, _ = drawn(n_rows, n_columns, k)

    def rival() -> Any:
        return NBMF(k, max_iter=60, tol=0, random_state=0).fit(X)

    rival()
    ours, theirs = [], []
    for _ in range(5):
        ours.append(_our_iterations(X, k, n_jobs, 30))
        theirs.append(timed(rival, 1)[0] / 60)
    case = f"{OURS} {n_rows} x {n_columns}, K={k}, {IN_WORDS[n_jobs]}"
    values = float(np.median(ours)), float(np.median(theirs))
    headline = f"`{OURS}`, {n_rows} x {n_columns}, K={k}: an iteration"
    quantity = "seconds an iteration"
    return row(case, OURS, RIVAL, quantity, *values, threads=n_jobs, headline=headline)


def _products(n_rows: int, n_columns: int, k: int) -> dict[str, Any]:
    """One iteration against the bare matrix products of the same pass, whole table at once."""
    X, _ = drawn(n_rows, n_columns, k)
    ours = _our_iterations(X, k, 1, 30 if n_rows < 3000 else 3)
    rng = np.random.default_rng(0)
    W, F = rng.dirichlet(np.ones(k), n_rows), rng.random((k, n_columns))

    def products() -> None:
        W @ F
        W.T @ X
        W.T @ X
        X @ F.T

    products()
    bare, _ = timed(products, 15)
    case = f"{OURS} {n_rows} x {n_columns}, K={k}, a pass"
    return row(
        case, OURS, "bare matrix products", "seconds a pass", ours, bare, "want > 0.5", threads=1,
        yardstick=True,
    )  # fmt: skip


def _to_equal_likelihood(
    n_rows: int, n_columns: int, k: int, n_jobs: int, n_iter: int = 361
) -> list[dict[str, Any]]:
    """Seconds until the log likelihood that nbmf-mm ends at, with and without its prior."""
    X, _ = drawn(n_rows, n_columns, k)
    rows = []
    for prior, label in ((1.2, "defaults"), (1.0, "alpha = beta = 1")):
        rival = NBMF(k, alpha=prior, beta=prior, max_iter=n_iter, random_state=0)
        theirs, _ = timed(lambda rival=rival: rival.fit(X), 1)
        P = np.clip(rival.W_ @ rival.components_, 1e-12, 1 - 1e-12)
        target = np.log(np.where(X == 1, P, 1 - P)).sum()

        def ours(target: float = target) -> Any:
            reach = fz.AspectBernoulli(
                k,
                prior=0,
                tol=0,
                max_iter=5000,
                random_state=0,
                n_jobs=n_jobs,
                callback=lambda row: row["objective"] >= target,
            )
            return reach.fit(X)

        ours()
        seconds, model = timed(ours, 15)
        case = f"{OURS} {n_rows} x {n_columns}, K={k}, {IN_WORDS[n_jobs]}, {label}"
        note = f"log likelihood {model.log_likelihood_ / X.size:.4f} against {target / X.size:.4f}"
        line = row(
            case, OURS, RIVAL, "seconds to the rival's likelihood", seconds, theirs, note,
            threads=n_jobs,
            headline=f"`{OURS}`, {n_rows} x {n_columns}, K={k}: to the same likelihood",
        )  # fmt: skip
        rows.append(line)
    return rows


def _held_out() -> list[dict[str, Any]]:
    """Mean log likelihood of hidden cells; the ratio is theirs to ours, so above one is better."""
    X, truth = drawn(2000, 240, 15)
    hidden = np.random.default_rng(1).random(X.shape) < 0.1
    shown = np.where(hidden, np.nan, X)

    def score(P: np.ndarray) -> float:
        P = np.clip(P[hidden], 1e-6, 1 - 1e-6)
        return float(np.log(np.where(X[hidden] == 1, P, 1 - P)).mean())

    rival = NBMF(15, max_iter=500, random_state=0).fit(X, mask=(~hidden).astype(float))
    theirs = score(rival.W_ @ rival.components_)
    rows = []
    for prior in (0.0, 2.0):
        model = fz.AspectBernoulli(15, prior=prior, random_state=0).fit(shown)
        ours = score(model.reconstruct(shown))
        case = f"{OURS} 2000 x 240, K=15, hidden cells, prior={prior:g}"
        note = f"a tenth of the cells hidden; the truth has {score(truth):.4f}"
        line = row(
            case, OURS, RIVAL, "log likelihood a hidden cell", ours, theirs, note, threads=1,
            headline=f"`{OURS}`, `prior={prior:g}`: log likelihood of hidden cells",
        )  # fmt: skip
        rows.append(line)
    return rows


def sparse_table(folder: str, n_rows: int, n_columns: int, density: float) -> str:
    """Draw a sparse table of 20 components into a file, so that drawing it weighs on nobody."""
    rng = np.random.default_rng(0)
    W = rng.dirichlet(np.full(20, 0.2), n_rows)
    F = rng.beta(0.15, 3.0, (20, n_columns))
    F = np.minimum(F * density / (W.mean(axis=0) @ F).mean(), 0.95)
    parts = []
    for i in range(0, n_rows, 500):
        p = (W[i : i + 500] @ F).astype(np.float32)
        parts.append(sparse.csr_array(rng.random(p.shape, dtype=np.float32) < p))
    path = f"{folder}/{n_rows}x{n_columns}.npz"
    sparse.save_npz(path, sparse.vstack(parts, format="csr", dtype=float), compressed=False)
    return path


def _sparse_iteration(folder: str) -> list[dict[str, Any]]:
    """20000 x 2000 at 2 % ones, where nbmf-mm makes the table dense."""
    path = sparse_table(folder, 20_000, 2_000, 0.02)
    ours, _, memory, _ = in_fresh_process(adapters.sparse_iterations, path, 20, 25)
    theirs, their_memory = in_fresh_process(adapters.nbmf_iterations, path, 20, 5)
    case = f"{OURS} sparse 20000 x 2000, 2 % ones, K=20"
    what = f"`{OURS}`, 20000 x 2000 at 2 % ones, K=20"
    return [
        row(case, OURS, RIVAL, "seconds an iteration", ours, theirs, threads=1,
            headline=f"{what}: an iteration"),
        row(case, OURS, RIVAL, "peak MB of the process", memory, their_memory, threads=1,
            headline=f"{what}: memory"),
    ]  # fmt: skip


def _sparse_at_scale(folder: str) -> list[dict[str, Any]]:
    """100000 x 10000 at 0.2 % ones: against our own exact pass, and against twice the columns."""
    path = sparse_table(folder, 100_000, 10_000, 0.002)
    wide_path = sparse_table(folder, 100_000, 20_000, 0.001)
    # In turn, because what else runs on the machine changes within minutes.
    runs = [
        [in_fresh_process(adapters.sparse_iterations, table, 20, 20) for table in (path, wide_path)]
        for _ in range(3)
    ]
    (ours, narrow, memory, before), (_, wide, *_) = np.median(runs, axis=0).tolist()
    exact = in_fresh_process(adapters.exact_iteration, path, 20)
    size = (sparse.load_npz(path).nnz * 12 + 110_000 * 20 * 8) / 1e6
    note = f"fit adds {memory - before:.0f} MB; input and factors are {size:.0f} MB"
    case = f"{OURS} sparse 100000 x 10000, 0.2 % ones, K=20"
    doubled = f"{OURS} sparse, columns doubled at equal ones"
    return [
        row(case, "sparse solver", "exact pass", "seconds an iteration", ours, exact, note,
            threads=1, yardstick=True),
        row(doubled, "20000 columns", "10000 columns", "seconds for 20 iterations", wide, narrow,
            "want > 0.83", threads=1, yardstick=True),
    ]  # fmt: skip
