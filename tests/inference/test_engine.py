from typing import NamedTuple

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from falsezero.backends import map_blocks, workers
from falsezero.data.blocks import Blocks
from falsezero.inference import tree
from falsezero.inference.accelerate import squarem
from falsezero.inference.chains import sample
from falsezero.inference.contract import Point
from falsezero.inference.engine import advancer, iterate, optimise
from falsezero.models.convex.aspect_bernoulli import ExactSteps


class State(NamedTuple):
    mean: np.ndarray


class Local(NamedTuple):
    shift: np.ndarray


class Stats(NamedTuple):
    total: np.ndarray
    objective: float


class Shrink:
    """A toy with a known answer: rows and a mean creep towards each other, slowly."""

    state_params = {"mean": None}
    local_params = {"shift": 1}

    def init(self, blocks, rng):
        return State(rng.normal(size=1)), [Local(np.zeros((b.shape[0], 1))) for b in blocks]

    def local_step(self, block, local, state, rng):
        x = block.values.sum(axis=1, keepdims=True)
        miss = x - state.mean - local.shift
        objective = -float((miss**2).sum() + (local.shift**2).sum())
        shift = local.shift + 0.05 * (miss - local.shift)
        return Local(shift), Stats((x - local.shift).sum(axis=0), objective)

    def global_step(self, stats, state, rng):
        return State(state.mean + 0.05 * (stats.total / 40 - state.mean))

    def objective(self, stats, state):
        return stats.objective

    def project(self, trial, reference):
        return trial


@pytest.fixture
def blocks():
    return Blocks.cut((np.random.default_rng(0).random((40, 6)) < 0.4).astype(float), block_rows=7)


def seeds(n):
    return np.random.SeedSequence(0).spawn(n)


def fit(steps, blocks, run=map_blocks, **options):
    options = {"max_iter": 3000, "tol": 1e-12, **options}
    return optimise(steps, blocks, options.pop("seeds", seeds(1)), run, **options)


def table(n_rows=80, n_columns=20, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(3), n_rows) @ rng.random((3, n_columns))
    return (rng.random(p.shape) < p).astype(float)


def test_one_stride_for_all_rows_is_the_same_however_they_are_cut():
    steps = Shrink()
    steps.local_params = {"shift": None}
    X = np.random.default_rng(1).random((40, 6))
    found = [fit(steps, Blocks.cut(X, block_rows=rows), max_iter=60) for rows in (40, 7, 1)]
    for other in found[1:]:
        paths = [[row["objective"] for row in each.history] for each in (found[0], other)]
        np.testing.assert_allclose(*paths, rtol=1e-9)


def test_a_step_without_curvature_does_not_overflow():
    class Drift(Shrink):
        """Goes on at the same pace for ever."""

        local_params = {}

        def global_step(self, stats, state, rng):
            return State(state.mean + np.float32(1e3))

        def objective(self, stats, state):
            return float(state.mean[0])

        def init(self, blocks, rng):
            _, local = super().init(blocks, rng)
            return State(np.zeros(1, np.float32)), local

    found = fit(Drift(), Blocks.cut(np.ones((4, 2))), max_iter=30, tol=0)
    assert found.objective > 30 * 1e3


def test_the_toy_reaches_its_answer(blocks):
    found = fit(Shrink(), blocks)
    x = np.concatenate([b.values.sum(axis=1) for b in blocks])
    assert found.converged
    assert found.state.mean == pytest.approx(x.mean(), abs=1e-3)


def test_strides_reach_the_same_answer_in_fewer_steps(blocks):
    plain = fit(Shrink(), blocks, accelerate=False)
    fast = fit(Shrink(), blocks)
    assert fast.objective == pytest.approx(plain.objective, rel=1e-6)
    assert fast.n_iter < 0.6 * plain.n_iter


@pytest.mark.parametrize("accelerate", [True, False])
def test_objectives_never_fall(accelerate):
    blocks = Blocks.cut(table())
    found = fit(ExactSteps(3, blocks), blocks, accelerate=accelerate, max_iter=300)
    objectives = [row["objective"] for row in found.history]
    assert len(objectives) > 20
    assert (np.diff(objectives) >= -1e-9 * np.abs(objectives[0])).all()


def test_a_stride_that_would_lower_the_objective_is_refused(blocks):
    class Reckless(Shrink):
        def project(self, trial, reference):
            return trial._replace(state=State(trial.state.mean + 100))

    steps = Reckless()
    advance = advancer(steps, blocks, map_blocks)
    point = Point(*steps.init(blocks, np.random.default_rng(0)))
    seen = []
    for iteration, _ in zip(squarem(steps, advance, point, stride=4.0), range(30), strict=False):
        seen.append(iteration)
    assert any(i.what == "stride refused" for i in seen)
    assert not any(i.what == "stride" for i in seen)
    assert (np.diff([i.objective for i in seen]) >= 0).all()


def test_the_best_restart_is_kept_with_its_own_flag():
    blocks = Blocks.cut(table())
    steps = ExactSteps(3, blocks)
    singles = [fit(steps, blocks, seeds=[seed], tol=1e-6) for seed in seeds(5)]
    best = fit(steps, blocks, seeds=seeds(5), tol=1e-6)
    assert best.objective == max(single.objective for single in singles)
    winner = max(singles, key=lambda single: single.objective)
    assert best.n_iter == winner.n_iter
    assert best.converged == winner.converged


def test_one_warning_when_it_did_not_settle():
    blocks = Blocks.cut(table())
    with pytest.warns(ConvergenceWarning, match="max_iter=4") as caught:
        fit(ExactSteps(3, blocks), blocks, seeds=seeds(3), max_iter=4)
    assert len(caught) == 1


def test_final_objective_belongs_to_the_returned_point():
    blocks = Blocks.cut(table())
    steps = ExactSteps(3, blocks)
    found = fit(steps, blocks, max_iter=50, tol=1e-4)
    _, objective, _ = advancer(steps, blocks, map_blocks)(Point(found.state, found.local))
    assert objective == found.objective


@pytest.mark.parametrize("n_jobs", [2, 7])
def test_threads_do_not_change_a_bit_of_the_answer(n_jobs):
    blocks = Blocks.cut(table(n_rows=300), block_rows=43)
    found = []
    for jobs in (1, n_jobs):
        with workers(jobs, len(blocks)) as run:
            found.append(fit(ExactSteps(3, blocks), blocks, run, tol=1e-6))
    np.testing.assert_array_equal(found[0].state.components, found[1].state.components)
    assert found[0].objective == found[1].objective


def test_one_block_or_seven_do_not_change_the_answer():
    X = table(n_rows=896)
    found = []
    for block_rows in (896, 128):
        blocks = Blocks.cut(X, block_rows=block_rows)
        found.append(fit(ExactSteps(3, blocks), blocks, accelerate=False, tol=1e-7))
    np.testing.assert_allclose(found[0].state.components, found[1].state.components, atol=1e-8)


def test_a_listener_sees_every_row_and_can_stop_the_fit():
    blocks = Blocks.cut(table())
    rows = []

    def listen(row):
        rows.append(row)
        return row["iteration"] >= 5

    found = fit(ExactSteps(3, blocks), blocks, listeners=(listen,))
    assert found.n_iter == 5
    assert rows == found.history


def test_chains_do_not_depend_on_threads():
    class Walk(Shrink):
        def local_step(self, block, local, state, rng):
            local = Local(local.shift + rng.normal(size=local.shift.shape))
            return local, Stats(local.shift.sum(axis=0), 0.0)

    blocks = Blocks.cut(table(), block_rows=11)

    def run(n_jobs):
        chains = sample(Walk(), blocks, seeds(3), warmup=2, draws=4, thin=2, n_jobs=n_jobs)
        return [tree.flatten(draw.local) for chain in chains for draw in chain.draws]

    one, two = run(1), run(2)
    assert len(one) == 12
    for a, b in zip(one, two, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


def test_iterate_takes_plain_steps(blocks):
    steps = Shrink()
    advance = advancer(steps, blocks, map_blocks)
    point = Point(*steps.init(blocks, np.random.default_rng(0)))
    by_hand, _, _ = advance(advance(point)[0])
    iterations = iterate(advance, point)
    next(iterations)
    np.testing.assert_array_equal(next(iterations).point.state.mean, by_hand.state.mean)


def test_flatten_and_unflatten_are_inverse():
    nested = (State(np.arange(3.0)), [Local(np.ones((2, 1))), None, (4, 2.5)])
    back = tree.unflatten(nested, tree.flatten(nested))
    assert isinstance(back[0], State)
    assert back[1][1] is None
    assert back[1][2] == (4, 2.5)
    np.testing.assert_array_equal(back[1][0].shift, np.ones((2, 1)))
