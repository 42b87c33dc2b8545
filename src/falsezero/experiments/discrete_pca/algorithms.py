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
from falsezero.models.discrete_pca.sampling import marginalised_steps
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

    def settles(self) -> float:
        """When it came within 2 % of where it ends, and stayed there."""
        away = [abs(p / self.perplexity[-1] - 1) > 0.02 for p in self.perplexity]
        last = max((i for i, is_away in enumerate(away) if is_away), default=-1)
        return self.seconds[last + 1]


def algorithms(
    report: Report, name: str, values: Any, k: int, item: str = "Documents"
) -> dict[str, Curve]:
    """Held-out perplexity against time for the four algorithms (slides "Relative performance")."""
    where = f"{name}, K = {k}"
    report.section(f"Algorithms: {where}")
    order = np.random.default_rng(0).permutation(values.shape[0])
    n_test = int(np.clip(values.shape[0] // 10, 20, 300))
    train, test = values[order[n_test:]], values[order[:n_test]]
    seen = np.asarray(train.sum(axis=0)) > 0
    train, test = sparse.csr_array(train[:, seen]), sparse.csr_array(test[:, seen])
    budget = (2.0 if report.quick else 6.0) * (1 + k / 100)
    curves = {label: _curve(options, train, test, k, budget)
              for label, options in ALGORITHMS.items()}  # fmt: skip
    display = CurvesDisplay(dict(curves), "seconds of processor time", "held-out perplexity")
    display.plot(log_x=True)
    caption = f"{item}: perplexity of held-out halves of documents against time, {where}."
    report.figure(display, caption, item)
    last = {label: curve.perplexity[-1] for label, curve in curves.items()}
    report.table(
        Tidy(algorithm=list(last), perplexity=list(last.values()),
             seconds=[curve.seconds[-1] for curve in curves.values()],
             settled=["yes" if _is_settled(curve) else "no" for curve in curves.values()]),
        f"After {budget:.0f} seconds of work of one thread, or as soon as perplexity has settled "
        "(less than 0.2 % of change over the last three looks).",
    )  # fmt: skip
    return curves


class Facts(NamedTuple):
    """What one comparison says on each sentence of the slide "Results summary"."""

    collapsed_first: bool
    """Rao-Blackwellised Gibbs is ahead of direct Gibbs when it ends."""
    inner_damages: bool
    """Mean field with an inner loop, in every cycle or in the first, ends worse than without."""
    mean_field_settles: bool
    """Mean field comes within 2 % of where it ends sooner than the Rao-Blackwellised sampler."""
    mean_field_first: bool
    """Where mean field is within 2 % of its best, it is ahead of the Rao-Blackwellised sampler."""
    catches_up: bool
    """Direct Gibbs ends within 3 % of the Rao-Blackwellised sampler."""
    overfits: bool
    """Mean field ends 0.5 % or more above its best."""
    mean_field_equals: bool
    """Mean field ends within 3 % of the best of the others, or below."""


SENTENCES = {
    "collapsed_first": (
        "Results, Rao-Blackwell", "Rao-Blackwellised Gibbs converges faster than direct Gibbs"),
    "inner_damages": ("Results, inner loop", "inner convergence of the loop can damage mean field"),
    "mean_field_settles": (
        "Results, mean field", "mean field converges faster (reaches its own level sooner)"),
    "mean_field_first": (
        "Results, mean field", "mean field converges faster (is ahead when it gets there)"),
    "catches_up": ("Results, catching up", "direct Gibbs usually catches up over time"),
    "mean_field_equals": (
        "Results, mean field equals",
        "in one case mean field also equals the others in perplexity"),
    "overfits": ("Results, over-fitting", "mean field starts to over-fit quite quickly"),
}  # fmt: skip
"""Item and sentence of each fact; "faster" is read in two ways, since the first sentence of the
slide calls the Rao-Blackwellised sampler the fastest."""


def facts_of(curves: dict[str, Curve]) -> Facts:
    """Read one comparison."""
    plain, direct = curves["mean field"], curves["direct Gibbs"]
    collapsed = curves["Rao-Blackwellised Gibbs"]
    inner = [c.perplexity[-1] for name, c in curves.items() if name.startswith("mean field, inner")]
    near = 1.02 * min(plain.perplexity)
    settled = next(s for s, p in zip(*plain, strict=True) if p <= near)
    settled = max(settled, collapsed.seconds[0])
    return Facts(
        collapsed.perplexity[-1] < direct.at(collapsed.seconds[-1]),
        max(inner) > plain.perplexity[-1],
        plain.settles() < collapsed.settles(),
        plain.at(settled) < collapsed.at(settled),
        direct.perplexity[-1] < 1.03 * collapsed.perplexity[-1],
        plain.perplexity[-1] > 1.005 * min(plain.perplexity),
        plain.perplexity[-1] < 1.03 * min(direct.perplexity[-1], collapsed.perplexity[-1]),
    )


def ordering(report: Report, found: dict[str, dict[str, Curve]]) -> None:
    """The sentences of the slide "Results summary", each over all comparisons."""
    report.section(
        "Results summary",
        "Ahead and behind are read from the curves; within 2 % counts as converged, within 3 % as "
        "caught up or equal, 0.5 % above the best as over-fitting. These thresholds are ours.",
    )
    facts = {where: facts_of(curves) for where, curves in found.items()}
    rows = [
        {"where": w, **{n.replace("_", " "): "yes" if v else "no" for n, v in f._asdict().items()}}
        for w, f in facts.items()
    ]
    items = dict.fromkeys(item for item, _ in SENTENCES.values())
    report.table(Tidy.from_rows(rows), "What each comparison says.", *items)
    for name, (item, claim) in SENTENCES.items():
        places = [where for where, fact in facts.items() if getattr(fact, name)]
        # "Can damage" needs one case; the other sentences are meant of most.
        needed = 1 if "can " in claim or "in one case" in claim else len(facts) / 2
        report.claim(
            item,
            claim,
            f"in {len(places)} of {len(facts)}" + (f": {'; '.join(places)}" if places else ""),
            len(places) >= needed,
            ours="in one comparison" if needed == 1 else "in half of the comparisons",
        )


def _curve(options: dict[str, Any], train: Any, test: Any, k: int, budget: float) -> Curve:
    """Give one algorithm some seconds, and look at the held-out perplexity now and then.

    The estimator starts from rows of the table and mean field from collapsed Gibbs; here that would
    credit one algorithm with the work of another, so all start from noise.
    """
    model = DiscretePCA(k, alpha=ALPHA, eta=ETA, **options)
    blocks = model._blocks(train, reset=True)
    collapsed = options["inference"] == "collapsed_gibbs"
    steps: Any = (
        marginalised_steps(model, blocks, map_blocks) if collapsed else model._steps(blocks)
    )
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
    while seconds < budget and not (curve.seconds[-1:] >= [budget / 4] and _is_settled(curve)):
        began = time.process_time()
        point, *_ = advance(point)
        seconds += time.process_time() - began
        if seconds >= looks[min(len(curve.seconds), 11)]:
            curve.seconds.append(seconds)
            curve.perplexity.append(_perplexity(steps, point, test))
    return curve


def _is_settled(curve: Curve) -> bool:
    """Whether perplexity has changed by less than 0.2 % over the last three looks.

    Looks are so far apart that these are more than half of the time.
    """
    last = curve.perplexity[-3:]
    return len(last) == 3 and max(last) < 1.002 * min(last)


def _perplexity(steps: Any, point: Point, test: Any) -> float:
    if hasattr(steps, "add_components"):
        theta = steps.add_components(point.state)
    else:
        theta = steps.family.normalise(point.state.shape)
    return DiscretePCA.from_components(theta.T, alpha=ALPHA).completion_perplexity(test)
