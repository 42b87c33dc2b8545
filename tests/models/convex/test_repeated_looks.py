"""The model of repeated looks: exact where it can be checked, its relatives as special cases."""

from itertools import pairwise

import numpy as np
import pytest
from tests.reference.looks import dawid_skene, enumerated_log_likelihood, enumerated_present

import falsezero as fz
from falsezero.data.blocks import Blocks
from falsezero.data.errors import DataError
from falsezero.kernels.soft_cells import soft_pass
from falsezero.models.convex.aspect_bernoulli import ExactSteps
from falsezero.models.convex.detection import LookRates, Prior, RowEffects
from falsezero.models.convex.family import Components, RowWeights
from falsezero.models.convex.repeated_looks import _SEEN

NAN = np.nan


def small(seed=0, shape=(25, 3, 6), missing=0.2):
    rng = np.random.default_rng(seed)
    values = (rng.random(shape) < 0.4).astype(float)
    values[rng.random(shape) < missing] = NAN
    return values


def annotators(seed=0, n_rows=80, n_observers=7):
    rng = np.random.default_rng(seed)
    z = rng.random(n_rows) < 0.5
    hit, alarm = rng.uniform(0.55, 0.9, n_observers), rng.uniform(0.1, 0.35, n_observers)
    labels = rng.random((n_rows, n_observers)) < np.where(z[:, None], hit, alarm)
    return labels.astype(float), z


SETTINGS = {
    "plain": {},
    "ml": {"inference": "ml"},
    "cells differ": {"heterogeneity": 2.0},
    "spread learnt": {"heterogeneity": "learn"},
    "rows differ": {"row_effects": True},
    "false alarms": {"false_alarms": True},
    "all at once": {"row_effects": True, "false_alarms": True, "heterogeneity": "learn"},
    "known": {"detection": 0.6},
}


def dressed(values, seed=0):
    """Looks with observers and a variable."""
    rng = np.random.default_rng(seed)
    slots = values.shape[:2]
    who = rng.choice(["Ada", "Bo", "Cy"], slots)
    return fz.Looks(values, observers=who, variables={"date": rng.normal(size=slots)})


@pytest.mark.parametrize("looks", [fz.as_looks, dressed], ids=["alike", "with conditions"])
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("acceleration", ["squarem", None])
def test_the_objective_never_falls(name, looks, acceleration):
    model = fz.RepeatedLooks(
        2, random_state=0, max_iter=80, tol=0, acceleration=acceleration, **SETTINGS[name]
    )
    with pytest.warns(UserWarning, match="did not settle"):
        model.fit(looks(small()))
    for before, after in pairwise(model.history_):
        slack = 1e-8 * abs(before["objective"])
        assert after["objective"] >= before["objective"] - slack


def test_evidence_of_certain_rates_is_the_exact_likelihood():
    values = small(1, (4, 3, 2))
    rng = np.random.default_rng(2)
    content, hit, alarm = rng.uniform(0.2, 0.8, (3, 4, 2))
    looks = fz.as_looks(values)
    tries, ones = looks.tries, looks.ones
    log_one = (ones * np.log(hit[:, None]) + (tries - ones) * np.log(1 - hit[:, None])).sum(axis=1)
    log_zero = (ones * np.log(alarm[:, None]) + (tries - ones) * np.log(1 - alarm[:, None])).sum(1)
    scale = np.maximum(log_one, log_zero)
    nobody = tries.sum(axis=1) == 0
    one = np.where(nobody, -1.0, np.exp(log_one - scale))
    total = 0.0
    present = np.empty((4, 2))
    for n in range(4):  # content differs from cell to cell: one component a row
        found = soft_pass(
            np.array([[0]]), (one[[n]], np.exp(log_zero - scale)[[n]], scale[[n]]),
            np.ones((1, 1)), content[[n]], 1 - content[[n]],
        )  # fmt: skip
        total += found.log_likelihood
        present[n] = found.present[0]
    assert total == pytest.approx(enumerated_log_likelihood(values, content, hit, alarm))
    expected = enumerated_present(values, content, hit, alarm)
    np.testing.assert_allclose(present[~nobody], expected[~nobody])


def test_the_bound_on_a_rate_is_below_its_expectation_and_tight_when_certain():
    rates = LookRates((1, 1, 0), Prior(**_SEEN, is_learnt=True))
    looks = fz.as_looks(np.array([[[1.0], [0.0], [1.0]]]))
    block = fz.data.look_blocks.LookBlocks.of(looks)[0]
    mean, effects = rates.start()
    for variance in (0.0, 0.5, 2.0):
        effects = effects._replace(covariance=np.full((1, 1, 1), variance))
        found = rates.evidence(block.patterns, mean, effects, RowEffects(None, None))
        eta = mean[0, 0] + np.sqrt(variance) * np.random.default_rng(0).normal(size=20000)
        exact = (2 * eta - 3 * np.logaddexp(0, eta)).mean()
        assert found.log_total.item() <= exact + 1e-9
        if variance == 0:
            assert found.log_total.item() == pytest.approx(exact)


def test_with_certain_detection_it_is_aspect_bernoulli():
    """From any point, a step is that of AspectBernoulli, and so is the objective."""
    table = fz.datasets.make_aspect_bernoulli(60, 12, 2, random_state=0).table
    model = fz.RepeatedLooks(2, inference="ml", detection=1.0, random_state=0).fit(table)
    np.testing.assert_allclose(model.present(table).to_numpy(), table.to_numpy())
    blocks = model._blocks(table, reset=False)
    steps = model._steps(blocks)
    exact = ExactSteps(2, Blocks.cut(table.to_numpy()))
    state, rows = steps.init(blocks, np.random.default_rng(0))
    local, theirs = rows[0], RowWeights(rows[0].content)
    components = Components(state.alpha)
    for _ in range(20):
        local, stats = steps.local_step(blocks[0], local, state, None)
        theirs, their_stats = exact.local_step(
            Blocks.cut(table.to_numpy())[0], theirs, components, None
        )
        ours = steps.objective(stats, state)
        assert ours == pytest.approx(exact.objective(their_stats, components), rel=1e-6)
        state = steps.global_step(stats, state, None)
        components = exact.global_step(their_stats, components, None)
        np.testing.assert_allclose(state.alpha, components.components, atol=1e-4)
        np.testing.assert_allclose(local.content, theirs.weights, atol=1e-4)


def test_with_certain_detection_and_priors_it_is_binary_ica():
    table = fz.datasets.make_aspect_bernoulli(60, 12, 2, random_state=1).table
    model = fz.RepeatedLooks(2, detection=1.0, gamma0=1.0, tol=1e-10, random_state=0).fit(table)
    ica = fz.BinaryICA(2, tol=1e-10, random_state=0).fit(table)
    assert model.objective_ == pytest.approx(ica.evidence_, rel=1e-7)
    np.testing.assert_allclose(model.components_, ica.components_, atol=1e-4)


def test_with_one_column_and_observers_it_is_dawid_and_skene():
    labels, _ = annotators()
    looks = fz.Looks(labels[:, :, None], observers=np.arange(7))
    model = fz.RepeatedLooks(
        1, inference="ml", false_alarms=True, tol=1e-10, max_iter=4000, random_state=0
    ).fit(looks)
    r, hit, alarm, likelihood = dawid_skene(labels)
    assert model.objective_ == pytest.approx(likelihood, abs=0.05)
    np.testing.assert_allclose(model.present(looks).to_numpy()[:, 0], r, atol=0.01)
    order = np.argsort(model.observers_["observer"])
    np.testing.assert_allclose(model.observers_["detection"][order], hit, atol=0.01)
    np.testing.assert_allclose(model.observers_["false_alarms"][order], alarm, atol=0.01)


def test_alike_cells_and_cells_one_by_one_are_the_same_model():
    looks = fz.as_looks(small(3, missing=0.3))
    alike = fz.RepeatedLooks(2, heterogeneity=1.0, random_state=0, max_iter=30)
    one_by_one = fz.RepeatedLooks(2, heterogeneity=1.0, random_state=0, max_iter=30)
    dull = fz.Looks(looks.to_numpy(), variables={"date": np.zeros(looks.shape[:2])})
    for model, given in ((alike, looks), (one_by_one, dull)):
        with pytest.warns(UserWarning, match="did not settle"):
            model.fit(given)
    # A variable that never varies has its own (empty) term, and changes nothing else.
    np.testing.assert_allclose(
        alike.present(looks).to_numpy(), one_by_one.present(dull).to_numpy(), atol=1e-3
    )


def test_a_look_that_did_not_take_place_says_nothing():
    values = small(4, missing=0.0)
    more = np.concatenate([values, np.full_like(values[:, :1], NAN)], axis=1)
    one, two = (fz.RepeatedLooks(2, random_state=0).fit(x) for x in (values, more))
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-9)


def test_threads_and_counts_change_nothing():
    made = fz.datasets.make_looks(300, 12, 3, 2, random_state=0).looks
    one = fz.RepeatedLooks(2, row_effects=True, random_state=0).fit(made)
    two = fz.RepeatedLooks(2, row_effects=True, random_state=0, n_jobs=2).fit(made)
    np.testing.assert_array_equal(one.components_, two.components_)
    pooled = fz.RepeatedLooks(2, random_state=0).fit(made.pooled())
    by_look = fz.RepeatedLooks(2, random_state=0).fit(made)
    np.testing.assert_array_equal(pooled.detection_, by_look.detection_)


@pytest.mark.parametrize(
    ("drawn", "options"),
    [
        ({}, {}),
        ({"row_effect": 1.0}, {"row_effects": True}),
        ({"false_alarms": 0.03}, {"false_alarms": True}),
    ],
    ids=["columns", "rows too", "false alarms"],
)
def test_detection_and_presence_are_recovered(drawn, options):
    made = fz.datasets.make_looks(300, 60, 3, 3, shape=(0.6, 0.6), random_state=0, **drawn)
    model = fz.RepeatedLooks(3, random_state=0, **options).fit(made.looks)
    assert np.corrcoef(model.detection_, made.detection)[0, 1] > 0.95
    zero = made.looks.counts[0] == 0
    present = model.present(made.looks).to_numpy()[zero]
    assert present.mean() == pytest.approx(made.present[zero].mean(), rel=0.15)


def test_again_is_what_the_next_look_shows():
    made = fz.datasets.make_looks(400, 40, 4, 3, shape=(0.6, 0.6), random_state=5)
    before, after = made.looks.select(looks=[0, 1, 2]), made.looks.look(3).to_numpy()
    model = fz.RepeatedLooks(3, random_state=0).fit(before)
    again, present = model.again(before).to_numpy(), model.present(before).to_numpy()
    assert (again <= present + 1e-12).all()
    zero = before.counts[0] == 0
    assert again[zero].mean() == pytest.approx(after[zero].mean(), rel=0.2)


def test_cells_nobody_looked_at_get_what_their_row_suggests():
    made = fz.datasets.make_looks(200, 20, 3, 2, random_state=0)
    values = made.looks.to_numpy()
    values[:20, :, 0] = NAN
    model = fz.RepeatedLooks(2, random_state=0).fit(values)
    blank = model.present(values)[:20, 0]
    assert np.corrcoef(blank, made.content[:20, 0])[0, 1] > 0.6


def test_labels_come_back_and_fits_are_saved(tmp_path):
    sites = [f"site {i}" for i in range(25)]
    looks = fz.Looks(small(), rows=sites, columns=list("abcdef"), looks=["May", "June", "July"])
    model = fz.RepeatedLooks(2, false_alarms=True, random_state=0).fit(looks)
    assert list(model.present(looks).columns) == list("abcdef")
    assert list(model.transform(looks).rows) == list(looks.rows)
    fz.save(model, tmp_path / "model.fz")
    again = fz.load(tmp_path / "model.fz")
    np.testing.assert_array_equal(again.present(looks).to_numpy(), model.present(looks).to_numpy())


def test_an_unknown_observer_or_variable():
    looks = dressed(small())
    model = fz.RepeatedLooks(2, random_state=0).fit(looks)
    assert sorted(model.observers_["observer"]) == ["Ada", "Bo", "Cy"]
    stranger = fz.Looks(small(), observers=["Di"] * 3, variables={"date": [0, 0, 0]})
    assert np.isfinite(model.present(stranger).to_numpy()).all()
    with pytest.raises(DataError, match="no variable 'date'"):
        model.present(fz.Looks(small()))
    with pytest.raises(DataError, match=r"detection= needs one rate in \(0, 1\]"):
        fz.RepeatedLooks(2, detection=[0.5, 0.5]).fit(small())


def test_numbered_rows_need_not_begin_at_zero():
    looks = fz.datasets.make_looks(20, 5, 2, 2, random_state=0).looks.select(rows=range(5, 20))
    model = fz.RepeatedLooks(2, random_state=0, tol=1e-3).fit(looks)
    assert model.present(looks).rows.tolist() == list(range(5, 20))
