"""Collapsed Gibbs sampling beside tomotopy (C++), two cores each, and at the size of all reviews.

Both sides' components are judged by the same document completion on the same held-out rows, at
every look; their turns alternate in one process, so that neighbours disturb both alike. A look is
off the clock, a sweep and (ours) the averaging of draws are on it. Chains from different seeds end
in different modes, so the score to reach is the median over the rival's chains of the best that
each has shown, and the time to it is a median over chains too.
"""

from __future__ import annotations

import statistics
import tempfile
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.case_discrete_pca import ALPHA, ETA, corpus, judge, seconds_of
from benchmarks.harness import in_fresh_process, peak_memory_mb, row
from falsezero.backends import map_blocks, workers
from falsezero.data.shards import Shards
from falsezero.datasets import load_imdb_reviews, load_newsgroups20
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer
from falsezero.models.discrete_pca.collapsed import CollapsedSteps
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.models.discrete_pca.sampling import marginalised_steps

LOADERS: dict[str, Callable[..., Any]] = {
    "newsgroups": load_newsgroups20,
    "film reviews": load_imdb_reviews,
}
WARMUP, THIN = 40, 2
"""Sweeps before we average draws, and between them."""


class Tomotopy:
    """tomotopy's sampler on two workers, priors kept as given."""

    def __init__(self, train: Any, k: int, seed: int):
        import tomotopy

        self.model = tomotopy.LDAModel(k=k, alpha=ALPHA, eta=ETA, seed=seed)
        self.model.optim_interval = 0
        self.shape = (k, train.shape[1])
        names = [str(j) for j in range(train.shape[1])]
        for i in range(train.shape[0]):
            at = slice(train.indptr[i], train.indptr[i + 1])
            tokens = np.repeat(train.indices[at], train.data[at].astype(int))
            self.model.add_doc([names[j] for j in tokens])
        self.sweep(0)

    def sweep(self, n: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self.model.train(n, workers=2)

    def components(self) -> np.ndarray:
        found = np.full(self.shape, 1e-12)
        columns = np.array([int(word) for word in self.model.used_vocabs])
        for k in range(self.shape[0]):
            found[k, columns] = self.model.get_topic_word_dist(k)
        return found


class Ours:
    """`CollapsedSteps` on two shards, its draws averaged after a warm-up as the estimator does."""

    def __init__(self, train: Any, k: int, run: Any, seed: int = 1, warmup: int = WARMUP):
        model = DiscretePCA(k, inference="collapsed_gibbs", alpha=ALPHA, eta=ETA, n_shards=2)
        blocks = model._blocks(train, reset=True)
        self.steps: CollapsedSteps = marginalised_steps(model, blocks, run)
        rng = np.random.default_rng(seed)
        self.point = Point(*self.steps.init(blocks, rng))
        self.advance = advancer(self.steps, blocks, map_blocks, rng=rng)
        self.warmup, self.done, self.draws = warmup, 0, 0
        self.total: Any = None

    def sweep(self, n: int) -> None:
        for _ in range(n):
            self.point, *_ = self.advance(self.point)
            self.done += 1
            if self.done > self.warmup and self.done % THIN == 0:
                self.total = self.steps.add_components(self.point.state, self.total)
                self.draws += 1

    def components(self) -> np.ndarray:
        """Mean of the draws, or the last one where nothing is averaged yet."""
        return (self.total / self.draws).T if self.draws else self.last()

    def last(self) -> np.ndarray:
        return self.steps.add_components(self.point.state).T


class Curve(NamedTuple):
    """Seconds of work and held-out score at every look."""

    seconds: list[float]
    scores: list[float]

    def reaches(self, score: float) -> float:
        """Seconds to a score; infinite where it was never seen."""
        return next((s for s, found in zip(*self, strict=True) if found >= score), float("inf"))


def race(
    train: Any, test: Any, k: int, run: Any, seed: int, sweeps: int, turn: int
) -> tuple[Curve, Curve, float]:
    """One chain of ours and one of tomotopy's, turn by turn, and the score of our last draw.

    Ours ends after half of the rival's sweeps: what it has not reached by then it has lost.
    """
    start: list[Any] = []
    began = seconds_of(lambda: start.append(Ours(train, k, run, seed)))
    ours, rival = start[0], Tomotopy(train, k, seed)
    curves = Curve([began], [-np.inf]), Curve([0.0], [-np.inf])
    for done in range(turn, sweeps + 1, turn):
        sides = zip((ours, rival), curves, strict=True)
        for side, curve in sides if done <= sweeps // 2 else list(sides)[1:]:
            took = seconds_of(lambda side=side: side.sweep(turn))  # type: ignore[misc]
            curve.seconds.append(curve.seconds[-1] + took)
            curve.scores.append(judge(side.components(), test))
    return *curves, judge(ours.last(), test)


def against_tomotopy(name: str, every: int, k: int, seeds: int, sweeps: int) -> list[dict]:
    """Seconds to the rival's held-out score, seconds a sweep, and what averaging gives."""
    train, test = corpus(LOADERS[name], every)
    turn = max(sweeps // 20, 1)
    with workers(2, 2) as run:
        Ours(train[:50], k, run).sweep(1)  # compiles, or reads what was compiled
        runs = [race(train, test, k, run, seed, sweeps, turn) for seed in range(1, seeds + 1)]
    ours, rival, last = zip(*runs, strict=True)
    target = statistics.median(max(curve.scores) for curve in rival)
    times = [statistics.median(c.reaches(target) for c in side) for side in (ours, rival)]
    case = f"collapsed Gibbs, {name}, K={k}"
    us, them = "collapsed_gibbs, 2 shards", "tomotopy, 2 workers"
    note = (
        f"{train.shape[0]} rows, {int(train.sum())} tokens; median of {seeds} chains; its score "
        f"{target:.4f}"
    )
    sweep = [statistics.median(_a_sweep(curve, turn) for curve in side) for side in (ours, rival)]
    averaged = statistics.median(curve.scores[-1] for curve in ours)
    best = f"{sweeps // 2} sweeps; tomotopy's last after {sweeps} sweeps {rival[0].scores[-1]:.4f}"
    return [
        row(case, us, them, "seconds to the rival's held-out score", *times, note, threads=2,
            headline=f"`DiscretePCA`, collapsed Gibbs, {name}, K={k}: to the same held-out score"),
        row(case, us, them, "seconds a sweep", *sweep, note, threads=2),
        row(case, "mean of our draws", "our last draw", "held-out log likelihood a token",
            averaged, statistics.median(last), best, threads=2, yardstick=True),
    ]  # fmt: skip


def _a_sweep(curve: Curve, turn: int) -> float:
    return statistics.median(np.diff(curve.seconds)) / turn


def at_scale(share: int, k: int) -> tuple[float, float, float]:
    """Tokens, nanoseconds a token, and the process's peak memory: one in `share` of all reviews."""
    values = sparse.csr_array(load_imdb_reviews("all").table.values)[::share]
    with workers(2, 2) as run:
        ours = Ours(values, k, run, warmup=10**9)
        ours.sweep(3)
        best = min(seconds_of(lambda: ours.sweep(1)) for _ in range(5))
    return float(values.sum()), 1e9 * best / float(values.sum()), peak_memory_mb()


def growth(quick: bool) -> list[dict[str, Any]]:
    """Is the time of a sweep linear in tokens? And peak memory at 10 million of them."""
    shares, k = ((40, 20), 20) if quick else ((4, 1), 100)
    (few, slow, _), (many, fast, peak) = (
        in_fresh_process(at_scale, s, k, threads=1) for s in shares
    )
    case = f"collapsed Gibbs, film reviews and unlabelled ones, K={k}"
    return [
        row(case, f"{many:.3g} tokens", f"{few:.3g} tokens", "nanoseconds a token", fast, slow,
            "1 is linear", threads=2, yardstick=True),
        row(case, "collapsed_gibbs, 2 shards", "wanted", "peak MB of the process", peak, 2000.0,
            threads=2, yardstick=True),
    ]  # fmt: skip


def over_files(every: int, k: int, seeds: int, warmup: int, n_files: int = 8) -> dict[str, Any]:
    """Does it cost anything to see the counts of other files at the end of a sweep only?"""
    train, test = corpus(load_newsgroups20, every)
    lengths: dict[str, Any] = {"warmup": warmup, "n_draws": warmup // 2, "thin": 2}
    settings = {"inference": "collapsed_gibbs", "alpha": ALPHA, "eta": ETA, **lengths}

    def score(table: Any, seed: int) -> float:
        model = DiscretePCA(k, random_state=seed, **settings).fit(table)
        return judge(model.components_, test)

    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/{i}.npz" for i in range(n_files)]
        for file, rows in zip(
            files, np.array_split(np.arange(train.shape[0]), n_files), strict=True
        ):
            sparse.save_npz(file, train[rows])
        tables = Shards(files), train
        scores = [[score(table, seed) for seed in range(1, seeds + 1)] for table in tables]
    return row(
        f"collapsed Gibbs over files, newsgroups, K={k}", f"{n_files} files", "one process",
        "held-out log likelihood a token", *(statistics.mean(found) for found in scores),
        f"mean of {seeds} chains", threads=1, yardstick=True,
    )  # fmt: skip


def run(quick: bool) -> list[dict[str, Any]]:
    """All comparisons; `quick` takes a few rows, one chain and few sweeps."""
    if quick:
        parted = over_files(40, 5, 1, 4)
        return [*against_tomotopy("newsgroups", 20, 20, 1, 20), parted, *growth(quick)]
    rows = []
    for name in LOADERS:
        rows += against_tomotopy(name, 1, 50, 3, 200)
        rows += against_tomotopy(name, 1, 500, 1, 200)
    return [*rows, over_files(1, 100, 3, 60), *growth(quick)]
