"""AspectBernoulli on tables with millions of ones: against implicit's ALS, and against itself.

Processor seconds on one thread, each side in a process of its own; tables are drawn, not stored.
"""

from __future__ import annotations

import tempfile
import time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from benchmarks.harness import in_fresh_process, peak_memory_mb, row
from falsezero.datasets import make_sparse_aspect_bernoulli

OURS, RIVAL = "AspectBernoulli", "implicit ALS"
K = 20


def run(quick: bool) -> list[dict[str, Any]]:
    """An iteration and its memory, hidden ones found again, time a one, the pass itself."""
    sizes = [(2000, 500), (4000, 500)] if quick else [(100_000, 10_000), (1_000_000, 20_000)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [_drawn(folder, *size) for size in sizes]
        found = [in_fresh_process(ours, path) for path in paths]
        rivals = [in_fresh_process(als, path) for path in paths]
        curves = [
            in_fresh_process(side, paths[-1]) for side in (ours_by_precision, als_by_precision)
        ]
        bare = in_fresh_process(bare_products, paths[0])
        ones = [sparse.load_npz(path).nnz for path in paths]
    rows = []
    for size, mine, theirs in zip(sizes, found, rivals, strict=True):
        case = f"{OURS} sparse {size[0]} x {size[1]}, K={K}"
        rows += [
            row(case, OURS, RIVAL, "processor seconds an iteration", mine[0], theirs[0], threads=1),
            row(case, OURS, RIVAL, "MB above the input", mine[1], theirs[1], threads=1),
        ]
    reached = min(max(precision for _, precision in curve) for curve in curves)
    seconds = [min(t for t, precision in curve if precision >= reached) for curve in curves]
    case = f"{OURS} sparse {sizes[-1][0]} x {sizes[-1][1]}, K={K}, a tenth of the ones hidden"
    rows.append(
        row(case, OURS, RIVAL, "processor seconds to equal average precision", *seconds,
            f"average precision {reached:.4f}", threads=1)
    )  # fmt: skip
    a_one = [mine[0] / n for mine, n in zip(found, ones, strict=True)]
    rows.append(
        row(f"{OURS} sparse, time a one", "large table", "small table", "processor seconds a one",
            a_one[1], a_one[0], "want > 0.8", threads=1, yardstick=True)
    )  # fmt: skip
    rows.append(
        row(f"{OURS} sparse, a pass", OURS, "bare products", "processor seconds a pass",
            found[0][0], bare, "want > 0.4", threads=1, yardstick=True)
    )  # fmt: skip
    return rows


def _drawn(folder: str, n_rows: int, n_columns: int) -> str:
    ones_per_row = 17.5 if n_rows >= 1_000_000 else 10.5
    drawn = make_sparse_aspect_bernoulli(
        n_rows, n_columns, K, ones_per_row=ones_per_row, random_state=0
    )
    path = f"{folder}/{n_rows}.npz"
    sparse.save_npz(path, drawn.values, compressed=False)
    return path


def ours(path: str) -> tuple[float, float]:
    """Processor seconds an iteration, and peak MB above the input."""
    import falsezero as fz

    X = sparse.csr_array(sparse.load_npz(path))
    settings: dict[str, Any] = {"prior": 0, "solver": "sparse", "tol": 0, "random_state": 0}
    fz.AspectBernoulli(K, max_iter=2, **settings).fit(X[:1500])
    before, times = peak_memory_mb(), []

    def note(line: dict[str, Any]) -> None:
        times.append(time.process_time())

    fz.AspectBernoulli(K, max_iter=12, callback=note, **settings).fit(X)
    return float(np.median(np.diff(times))), peak_memory_mb() - before


def als(path: str) -> tuple[float, float]:
    """The same of alternating least squares by conjugate gradients, the library's default."""
    from implicit.als import AlternatingLeastSquares

    X = sparse.csr_matrix(sparse.load_npz(path))
    options: dict[str, Any] = {"factors": K, "num_threads": 1, "random_state": 0}
    before = peak_memory_mb()
    with threadpool_limits(1):
        seconds = []
        for iterations in (1, 4):
            model = AlternatingLeastSquares(iterations=iterations, **options)
            began = time.process_time()
            model.fit(X, show_progress=False)
            seconds.append(time.process_time() - began)
    return (seconds[1] - seconds[0]) / 3, peak_memory_mb() - before


def ours_by_precision(path: str) -> list[tuple[float, float]]:
    """Processor seconds of fits of several lengths, and how well each ranks the hidden ones."""
    import falsezero as fz

    shown, hidden = _with_hidden(path)
    settings: dict[str, Any] = {"prior": 1, "solver": "sparse", "tol": 0, "random_state": 0}
    fz.AspectBernoulli(K, max_iter=2, **settings).fit(shown[:1500])
    found = []
    for length in (5, 10, 20, 40):
        began = time.process_time()
        model = fz.AspectBernoulli(K, max_iter=length, **settings).fit(shown)
        seconds = time.process_time() - began
        found.append((seconds, _precision(shown, hidden, model.row_weights_, model.components_.T)))
    return found


def als_by_precision(path: str) -> list[tuple[float, float]]:
    """The same of alternating least squares, after each of its iterations."""
    from implicit.als import AlternatingLeastSquares

    shown, hidden = _with_hidden(path)
    found, judging = [], 0.0
    model = AlternatingLeastSquares(factors=K, num_threads=1, random_state=0, iterations=15)
    began = time.process_time()

    def note(*_: Any) -> None:
        nonlocal judging
        now = time.process_time()
        precision = _precision(shown, hidden, model.user_factors, model.item_factors)
        found.append((now - began - judging, precision))
        judging += time.process_time() - now

    with threadpool_limits(1):
        model.fit(sparse.csr_matrix(shown), show_progress=False, callback=note)
    return found


def _with_hidden(path: str) -> tuple[Any, Any]:
    """The table without a tenth of its ones, and those."""
    X = sparse.coo_array(sparse.load_npz(path))
    is_hidden = np.random.default_rng(7).random(X.nnz) < 0.1
    parts = [
        sparse.csr_array((X.data[some], (X.row[some], X.col[some])), shape=X.shape)
        for some in (~is_hidden, is_hidden)
    ]
    return parts[0], parts[1]


def _precision(shown: Any, hidden: Any, rows: np.ndarray, columns: np.ndarray) -> float:
    """Average precision over all cells of some rows that are not ones already."""
    some = np.random.default_rng(8).choice(len(rows), min(1000, len(rows)), replace=False)
    is_free = shown[some].toarray() == 0
    scores = rows[some].astype(float) @ columns.T.astype(float)
    truth = hidden[some].toarray() > 0
    return float(average_precision_score(truth[is_free], scores[is_free]))


def bare_products(path: str) -> float:
    """Processor seconds of what a pass consists of: W F at the ones, X F', X'W and W'W."""
    from falsezero.kernels.best_cells import sampled_products

    X = sparse.csr_array(sparse.load_npz(path)).astype(float)
    rng = np.random.default_rng(0)
    W, F = rng.dirichlet(np.ones(K), X.shape[0]), rng.random((X.shape[1], K))
    out = np.empty(X.nnz)

    def products() -> None:
        sampled_products(X.indptr, X.indices, W, F, out)
        X @ F
        X.T @ W
        W.T @ W

    products()
    seconds = []
    for _ in range(5):
        began = time.process_time()
        products()
        seconds.append(time.process_time() - began)
    return float(np.median(seconds))
