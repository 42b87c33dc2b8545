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
    drawn = make_aspect_bernoulli(2000, 240, 15, random_state=0).table.to_numpy()
    cases = [("drawn, 15 components", drawn, 15)]
    if not quick:
        cases.append(("digits, 10 components", load_mfeat_digits().table.to_numpy(), 10))
    return [_case(*case) for case in cases]


def _case(case: str, X: np.ndarray, k: int) -> dict[str, Any]:
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
        seconds = float("nan")
    note = f"log likelihood a cell {ours.log_likelihood_ / X.size:.4f} and {target / X.size:.4f}"
    quantity = "seconds to the rival's deviance"
    return row(case, "LogisticPCA", "logisticpca", quantity, seconds, rival, note)
