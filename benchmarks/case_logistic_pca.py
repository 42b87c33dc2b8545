"""LogisticPCA against the logisticpca package: seconds to the deviance that it ends at."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks.harness import row, timed
from falsezero import LogisticPCA
from falsezero.datasets import load_mfeat_digits, make_aspect_bernoulli


def run(quick: bool) -> list[dict[str, Any]]:
    """A drawn table and handwritten digits."""
    LogisticPCA(2, max_iter=5).fit(np.eye(20))
    if quick:
        small = make_aspect_bernoulli(200, 40, 3, random_state=0).table.to_numpy()
        return [_case("drawn 200 x 40", small, 3)]
    drawn = make_aspect_bernoulli(2000, 240, 15, random_state=0).table.to_numpy()
    digits = load_mfeat_digits().table.to_numpy()
    return [_case("drawn 2000 x 240", drawn, 15), _case("digits 2000 x 240", digits, 10)]


def _case(what: str, X: np.ndarray, k: int) -> dict[str, Any]:
    from logisticpca import LogisticPCA as Projection

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rival, fitted = timed(lambda: Projection(k, m=4).fit(X), 1)
        p = np.clip(fitted.predict_proba(X), 1e-12, 1 - 1e-12)
        target = float((X * np.log(p) + (1 - X) * np.log1p(-p)).sum())
        began = time.perf_counter()
        ours = LogisticPCA(k, random_state=0, callback=lambda line: line["objective"] >= target)
        ours.fit(X)
        seconds = time.perf_counter() - began
    if ours.log_likelihood_ < target:
        seconds = float("inf")
    note = f"log likelihood a cell {ours.log_likelihood_ / X.size:.4f} and {target / X.size:.4f}"
    return row(
        f"LogisticPCA {what}, K={k}", "LogisticPCA", "logisticpca",
        "seconds to the rival's deviance", seconds, rival, note, threads=1,
        headline="`LogisticPCA`: to the same deviance",
    )  # fmt: skip
