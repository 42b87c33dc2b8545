"""Discrete PCA slides: held-out perplexity of the algorithms against time."""

from __future__ import annotations

import copy
import time
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from falsezero.backends import map_blocks
from falsezero.data.tidy import Tidy
from falsezero.experiments._report import Report
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer
from falsezero.models.discrete_pca.discrete_pca import DiscretePCA
from falsezero.plot import CurvesDisplay

ALPHA, ETA = 0.5, 0.05
ALGORITHMS: dict[str, dict[str, Any]] = {
    "mean field, inner loop": {"inference": "mean_field", "inner_iter": 20},
    "mean field, inner loop on first cycle": {
        "inference": "mean_field",
        "inner_iter": 100,
        "inner_cycles": "first",
    },
    "mean field": {"inference": "mean_field"},
    "direct Gibbs": {"inference": "gibbs"},
    "Rao-Blackwellised Gibbs": {"inference": "collapsed_gibbs"},
}


class Curve(NamedTuple):
    """Held-out perplexity against seconds of work, at some iterations."""

    seconds: list[float]
    perplexity: list[float]

    def at(self, seconds: float) -> float:
        """Perplexity after so many seconds; infinite before the first look."""
        reached = [p for s, p in zip(*self, strict=True) if s <= seconds]
        return reached[-1] if reached else np.inf


def algorithms(report: Report, name: str, values: Any, k: int) -> dict[str, Curve]:
    """Held-out perplexity against time for the four algorithms (slides "Relative performance")."""
    where = f"{name}, K = {k}"
    report.section(f"Algorithms: {where}")
    order = np.random.default_rng(0).permutation(values.shape[0])
    n_test = int(np.clip(values.shape[0] // 10, 20, 300))
    train, test = values[order[n_test:]], values[order[:n_test]]
    seen = np.asarray(train.sum(axis=0)) > 0
    train, test = sparse.csr_array(train[:, seen]), sparse.csr_array(test[:, seen])
    budget = (2.0 if report.quick else 60.0) * (1 + k / 100)
    curves = {label: _curve(options, train, test, k, budget)
              for label, options in ALGORITHMS.items()}  # fmt: skip
    display = CurvesDisplay(dict(curves), "seconds", "held-out perplexity").plot()
    display.ax_.set_xscale("log")
    caption = f"Perplexity of held-out halves of documents against time, {where}."
    report.figure(display, caption, "Documents")
    last = {label: curve.perplexity[-1] for label, curve in curves.items()}
    report.table(
        Tidy(algorithm=list(last), perplexity=list(last.values()),
             seconds=[curve.seconds[-1] for curve in curves.values()]),
        f"After {budget:.0f} seconds of work of one thread each, or once converged.",
    )  # fmt: skip
    _judge(report, where, curves, last)
    return curves


def ordering(report: Report, found: dict[str, dict[str, Curve]]) -> None:
    """The algorithms from best to worst, early and late, beside the slides' order."""
    report.section(
        "The order of the algorithms",
        "The slides: mean field converges first, but equals the samplers in one case only; "
        "the Rao-Blackwellised sampler converges before the direct one; inner convergence of the "
        "loop can damage mean field.",
    )
    early, late = {}, {}
    for where, curves in found.items():
        budget = min(curve.seconds[-1] for curve in curves.values())
        early[where] = sorted(curves, key=lambda label: curves[label].at(budget / 10))
        late[where] = sorted(curves, key=lambda label: curves[label].at(budget))
    report.table(
        Tidy(where=list(found), early=[" < ".join(early[w]) for w in found],
             late=[" < ".join(late[w]) for w in found]),
        "From the lowest perplexity to the highest, after a tenth of the time and after all of it.",
    )  # fmt: skip
    cases = {
        "Results, Rao-Blackwell": ("a Gibbs sampler is best at the end",
                                   [w for w in found if "Gibbs" in late[w][0]]),
        "Results, inner loop": ("an inner loop leaves mean field behind itself without",
                                [w for w in found if _behind(late[w])]),
        "Results, mean field": ("mean field is ahead early",
                                [w for w in found if early[w][0].startswith("mean field")]),
    }  # fmt: skip
    for item, (claim, places) in cases.items():
        report.claim(
            item,
            claim,
            f"in {len(places)} of {len(found)}" + (f": {'; '.join(places)}" if places else ""),
            len(places) > len(found) / 2,
            ours="in more than half of the comparisons",
        )


def _behind(order: list[str]) -> bool:
    """Whether an inner loop, in every cycle or in the first, ends worse than mean field without."""
    inner = (name for name in order if name.startswith("mean field, inner"))
    return max(map(order.index, inner)) > order.index("mean field")


def _curve(options: dict[str, Any], train: Any, test: Any, k: int, budget: float) -> Curve:
    """Give one algorithm some seconds, and look at the held-out perplexity now and then.

    The estimator starts from rows of the table and mean field from collapsed Gibbs; here that would
    credit one algorithm with the work of another, so all start from noise.
    """
    model = DiscretePCA(k, alpha=ALPHA, eta=ETA, **options)
    blocks = model._blocks(train, reset=True)
    collapsed = options["inference"] == "collapsed_gibbs"
    steps: Any = model._collapsed(blocks, map_blocks) if collapsed else model._steps(blocks)
    rng = np.random.default_rng(0)
    if collapsed:
        noise = [rng.integers(k, size=len(shard.docs)) for shard in steps.shards]
        point = Point(*steps.arrange([z.astype(np.int32) for z in noise]))
    else:
        steps.start_sweeps = 0
        point = Point(*steps.init(blocks, rng))
    advance = advancer(steps, blocks, map_blocks, rng=rng)
    advance(copy.deepcopy(point))  # compiles, off the clock
    looks = np.geomspace(budget / 50, budget, 12)
    curve, seconds = Curve([], []), 0.0
    while seconds < budget and not _settled(curve):
        began = time.perf_counter()
        point, *_ = advance(point)
        seconds += time.perf_counter() - began
        if seconds >= looks[min(len(curve.seconds), 11)]:
            curve.seconds.append(seconds)
            curve.perplexity.append(_perplexity(steps, point, test))
    return curve


def _settled(curve: Curve) -> bool:
    """Whether perplexity has changed by less than 0.2 % over the last three of many looks."""
    last = curve.perplexity[-3:]
    return len(curve.perplexity) > 6 and max(last) < 1.002 * min(last)


def _perplexity(steps: Any, point: Point, test: Any) -> float:
    if hasattr(steps, "add_components"):
        theta = steps.add_components(point.state)
    else:
        theta = steps.family.normalise(point.state.shape)
    return DiscretePCA.from_components(theta.T, alpha=ALPHA).completion_perplexity(test)


def _judge(report: Report, where: str, curves: dict[str, Curve], last: dict[str, float]) -> None:
    plain, direct = curves["mean field"], curves["direct Gibbs"]
    collapsed = curves["Rao-Blackwellised Gibbs"]
    budget = collapsed.seconds[-1]
    ours, theirs = collapsed.perplexity[-1], direct.at(budget)
    report.claim(
        "Results, Rao-Blackwell",
        f"Rao-Blackwellised Gibbs converges faster than direct Gibbs ({where})",
        f"after {budget:.1f} s: {ours:.0f} against {theirs:.0f}",
        ours < theirs,
    )
    inner = {n: value for n, value in last.items() if n.startswith("mean field, inner")}
    said = ", ".join(f"{name} {value:.0f}" for name, value in inner.items())
    report.claim(
        "Results, inner loop",
        f"inner convergence of the loop can damage mean field ({where})",
        f"{said}; without {last['mean field']:.0f}",
        max(inner.values()) > last["mean field"],
    )
    near = 1.02 * min(plain.perplexity)
    settled = next(s for s, p in zip(*plain, strict=True) if p <= near)
    settled = max(settled, collapsed.seconds[0])
    report.claim(
        "Results, mean field",
        f"mean field converges faster ({where})",
        f"within 2 % of its best after {settled:.1f} s, when collapsed Gibbs is at "
        f"{collapsed.at(settled):.0f} and mean field at {plain.at(settled):.0f}",
        plain.at(settled) < collapsed.at(settled),
    )
    gap = last["direct Gibbs"] / last["Rao-Blackwellised Gibbs"] - 1
    report.claim(
        "Results, catching up",
        f"direct Gibbs usually catches up over time ({where})",
        f"{gap:+.1%} behind at the end",
        gap < 0.03,
        ours="3 %",
    )
    worse = plain.perplexity[-1] / min(plain.perplexity) - 1
    report.claim(
        "Results, over-fitting",
        f"mean field starts to over-fit quickly ({where})",
        f"{worse:.1%} above its best at the end",
        worse > 0.005,
        ours="0.5 %",
    )
