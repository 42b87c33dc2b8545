"""DiscretePCA against the lda package: collapsed Gibbs sampling, exact and on one thread each."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import adapters
from benchmarks.case_discrete_pca import corpus, judge
from benchmarks.harness import row, timed
from falsezero.datasets import load_associated_press

OURS = "DiscretePCA collapsed_gibbs"


def run(quick: bool) -> list[dict[str, Any]]:
    """Associated Press, 50 components; the quick form draws a few rows."""
    if quick:
        rng = np.random.default_rng(0)
        topics = rng.dirichlet(np.full(60, 0.1), 3)
        drawn = rng.poisson(40 * rng.dirichlet(np.full(3, 0.2), 120) @ topics)
        counts = sparse.csr_array(drawn)
        return _case("drawn 120 x 60", counts[:100], counts[100:], 3, 20)
    return _case("associated press", *corpus(load_associated_press, n_test=200), 50, 100)


def _case(what: str, train: Any, test: Any, k: int, sweeps: int) -> list[dict[str, Any]]:
    """Seconds to its held-out score after some sweeps, and seconds of as many sweeps of ours."""
    theirs, rival = timed(adapters.lda(train, k, sweeps), 1)
    target = judge(rival.topic_word_, test)
    adapters.collapsed_gibbs(train[:20], k, 10)()
    curve = []
    for passes in [sweeps * share // 10 for share in (1, 2, 4, 6, 8, 10)]:
        seconds, ours = timed(adapters.collapsed_gibbs(train, k, passes), 1)
        curve.append((seconds, judge(ours.components_, test)))
    reached = next((seconds for seconds, score in curve if score >= target), float("inf"))
    case = f"{OURS} {what}, K={k}"
    note = f"its last draw after {sweeps} sweeps {target:.4f}, mean of our draws {curve[-1][1]:.4f}"
    return [
        row(
            case, OURS, "lda", "seconds to the rival's held-out score", reached, theirs, note,
            threads=1, headline=f"`DiscretePCA`, {what}, K={k}: to the same held-out score",
        ),
        row(case, OURS, "lda", f"seconds for {sweeps} sweeps", curve[-1][0], theirs, threads=1),
    ]  # fmt: skip
