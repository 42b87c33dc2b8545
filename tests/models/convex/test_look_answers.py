"""What a fit of repeated looks answers, cell by cell, and what it takes in."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp

import falsezero as fz
from falsezero.data.errors import DataError
from falsezero.models.convex import look_answers, repeated_looks
from falsezero.models.convex.detection import LookRates, Prior, RowEffects
from falsezero.models.convex.look_intervals import averaged_over_rates, rate_covariance

NAN = np.nan
NOTHING = RowEffects(None, None)


def dressed(seed=0, shape=(14, 3, 3)):
    """Looks with three observers and a date; some did not take place."""
    rng = np.random.default_rng(seed)
    values = (rng.random(shape) < 0.45).astype(float)
    values[rng.random(shape) < 0.15] = NAN
    values[0, :, 0] = NAN
    who = rng.choice(["Ada", "Bo", "Cy"], shape[:2])
    return fz.Looks(values, observers=who, variables={"date": rng.normal(3, 2, size=shape[:2])})


@pytest.fixture(name="fitted", scope="module", params=[0.3, 0.8], ids=["alike", "cells differ"])
def _fitted(request):
    looks = dressed()
    model = fz.RepeatedLooks(
        2, heterogeneity=request.param, false_alarms=True, row_effects=True, tol=1e-4,
        random_state=0,
    )  # fmt: skip
    return model.fit(looks), looks


def flat(eta, variance):
    """E[sigma(eta)] of a Gaussian eta, by MacKay's approximation."""
    return expit(eta / np.sqrt(1 + np.pi * variance / 8))


@pytest.mark.parametrize("dates", [None, 5.0, np.linspace(-4, 9, 14)], ids=["mean", "one", "rows"])
def test_present_and_again_cell_by_cell(fitted, dates):
    model, looks = fitted
    blocks = model._blocks(looks, reset=False)
    [block], [rows] = blocks, model._settled(blocks)
    steps, state = model._steps(blocks), model.state_
    effects = RowEffects(rows.effect, rows.effect_variance)
    one = steps.seen.evidence(block.patterns, state.seen_mean, state.seen, effects)
    zero = steps.alarm.evidence(block.patterns, state.alarm_mean, state.alarm, NOTHING)
    weights = rows.content / rows.content.sum(axis=1, keepdims=True)
    content = weights @ model.components_
    ones, tries = looks.counts
    present, again = np.empty((2, 14, 3))
    took_place = (looks.tries > 0).any(axis=2)
    usual = looks.variables["date"][took_place]
    stated = np.full(14, usual.mean() if dates is None else dates)
    scaled = (stated - usual.mean()) / usual.std()
    for n, t in np.ndindex(14, 3):
        p = content[n, t]
        if tries[n, t]:
            likelihood = np.exp([one.log_total[n, t], zero.log_total[n, t]])
            p = p * likelihood[0] / (p * likelihood[0] + (1 - p) * likelihood[1])
            if model.heterogeneity_ < 0.5:
                s = np.array([ones[n, t] - tries[n, t] * model.detection_[t], 1.0])
                variance = s @ model.rate_covariance_[t] @ s
                p = averaged_over_rates(np.array(p), np.array(variance))
        # Another look: at its date, or the mean one, by an observer like any other.
        c = np.array([1.0, scaled[n]])
        hits = flat(
            state.seen_mean[t] @ c + rows.effect[n, 0] + state.seen.spread * steps.seen.nodes,
            c @ state.seen.covariance[t] @ c + state.seen.observer_width2
            + rows.effect_variance[n, 0],
        )  # fmt: skip
        share = one.posterior[n, t]
        alarm = flat(
            state.alarm_mean[t] @ c,
            c @ state.alarm.covariance[t] @ c + state.alarm.observer_width2,
        )
        present[n, t], again[n, t] = p, p * (share @ hits) + (1 - p) * alarm
    np.testing.assert_allclose(model.present(looks).to_numpy(), present, rtol=1e-6)
    next_look = None if dates is None else {"date": dates}
    np.testing.assert_allclose(model.again(looks, next_look).to_numpy(), again, rtol=1e-6)
    answers = model._answers(looks)
    assert (answers.by_columns.shape, answers.by_rows.shape) == ((0, 3), (0, 14))


def test_the_next_look_is_where_a_column_shows_late():
    """Draws, averages and the audit all use its date; unknown dates are the mean one."""
    rng = np.random.default_rng(0)
    dates = rng.uniform(0, 60, size=(60, 2))
    late = np.array([True, True, False, False])
    rate = np.where(late, dates[..., None] / 60, 1 - dates[..., None] / 60)
    there = rng.random((60, 1, 4)) < 0.6
    looks = fz.Looks((there & (rng.random((60, 2, 4)) < rate)) * 1.0, variables={"date": dates})
    model = fz.RepeatedLooks(1, inference="gibbs", n_draws=5, random_state=0, tol=1e-3).fit(looks)
    average = fz.LooksAverage((1,), random_state=0).fit(looks)
    for fitted in (model, average):
        early, last = (np.asarray(fitted.again(looks, {"date": day})) for day in (2, 58))
        assert (last[:, late] > early[:, late]).all()
        assert (last[:, ~late] < early[:, ~late]).all()
        unknown = np.where(np.arange(60) < 30, NAN, 58.0)
        mixed = np.asarray(fitted.again(looks, {"date": unknown}))
        np.testing.assert_allclose(mixed[:30], np.asarray(fitted.again(looks))[:30])
        np.testing.assert_allclose(mixed[30:], last[30:])


def test_what_is_said_of_the_next_look_is_checked():
    looks = dressed()
    model = fz.RepeatedLooks(1, random_state=0, tol=1e-2).fit(looks)
    for wrong, said in (
        ({"dte": 5}, "no such variable; did you mean 'date'"),
        ({"date": "May"}, "needs numbers for 'date', but has 'May'"),
        ({"date": [1, 2]}, r"one per row \(14\).* shape \(2,\)"),
        ({"date": np.inf}, "needs one number"),
    ):
        with pytest.raises(DataError, match=said):
            model.again(looks, wrong)
    plain = fz.as_looks(looks.to_numpy())
    with pytest.raises(DataError, match="the looks have no variables"):
        fz.RepeatedLooks(1, random_state=0, tol=1e-2).fit(plain).again(plain, {"date": 5})


def test_rates_of_columns_and_observers(fitted):
    model, _ = fitted
    state = model.state_
    assert model.heterogeneity_ == float(state.seen.spread)
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    weights = weights / weights.sum()
    for t in range(3):
        variance = state.seen.covariance[t, 0, 0] + state.seen.observer_width2
        at_nodes = flat(state.seen_mean[t, 0] + state.seen.spread * nodes, variance)
        assert model.detection_[t] == pytest.approx(weights @ at_nodes)
        variance = state.alarm.covariance[t, 0, 0] + state.alarm.observer_width2
        assert model.false_alarm_[t] == pytest.approx(flat(state.alarm_mean[t, 0], variance))
    for kind, name in (("seen", "detection"), ("alarm", "false_alarms")):
        mean, effects = getattr(state, f"{kind}_mean"), getattr(state, kind)
        by_name = dict(zip(model.observers_["observer"], model.observers_[name], strict=True))
        for i, who in enumerate(["Ada", "Bo", "Cy"]):
            each = [
                flat(
                    mean[t, 0] + effects.observer_mean[i],
                    effects.covariance[t, 0, 0] + effects.observer_variance[i],
                )
                for t in range(3)
            ]
            assert by_name[who] == pytest.approx(np.mean(each))
    skill = model.observers_["detection"] - model.observers_["false_alarms"]
    assert (np.diff(skill) <= 0).all()


def test_misses_average_over_cells(fitted):
    model, _ = fitted
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    weights = weights / weights.sum()
    spread = float(model.state_.seen.spread)
    expected = [
        [
            weights @ (1 - expit(model.state_.seen_mean[t, 0] + spread * nodes)) ** n
            for t in range(3)
        ]
        for n in range(4)
    ]
    np.testing.assert_allclose(model.misses(3), expected)


def test_scores_of_rows_are_averages_over_training_weights(fitted, monkeypatch):
    model, looks = fitted
    blocks = model._blocks(looks, reset=False)
    [block], steps, state = blocks, model._steps(blocks), model.state_
    # A row never seen has an effect of 0, known as well as the start of a fit knows it.
    rows = RowEffects(np.zeros((14, 1)), np.full((14, 1), 0.1))
    one = steps.seen.evidence(block.patterns, state.seen_mean, state.seen, rows).log_total
    zero = steps.alarm.evidence(block.patterns, state.alarm_mean, state.alarm, NOTHING).log_total
    tries = looks.counts[1]

    def by_hand(weights):
        scores = np.empty((14, len(weights)))
        for n, m in np.ndindex(*scores.shape):
            pi = weights[m] @ model.components_
            cells = np.log(pi * np.exp(one[n]) + (1 - pi) * np.exp(zero[n]))
            scores[n, m] = cells[tries[n] > 0].sum()
        return logsumexp(scores, axis=1) - np.log(len(weights))

    expected = by_hand(model.row_weights_)
    np.testing.assert_allclose(model.score_samples(looks), expected)
    monkeypatch.setattr(repeated_looks, "_ATOMS", 14)
    np.testing.assert_allclose(model.score_samples(looks), expected)
    monkeypatch.setattr(repeated_looks, "_ATOMS", 5)
    some = np.random.default_rng(0).choice(14, 5, replace=False)
    np.testing.assert_allclose(model.score_samples(looks), by_hand(model.row_weights_[some]))


def test_expected_cells_and_samples(fitted):
    model, _ = fitted
    weights = np.array([[0.3, 0.7]])
    content = weights @ model.components_
    expected = content * model.detection_ + (1 - content) * model.false_alarm_
    np.testing.assert_allclose(model._expected(weights), expected)
    drawn = model.sample(30_000, random_state=0)
    mean = model._expected(model.row_weights_).mean(axis=0)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.015)
    assert model.sample().shape == (1, 3)
    assert set(np.unique(drawn)) == {0.0, 1.0}


def test_weights_of_components_come_in_descending_order(fitted):
    model, looks = fitted
    assert (np.diff(model.row_weights_.sum(axis=0)) <= 0).all()
    np.testing.assert_allclose(model.row_weights_.sum(axis=1), 1)
    state = model.state_
    np.testing.assert_allclose(model.components_, state.alpha / (state.alpha + state.beta))
    blocks = model._blocks(looks, reset=False)
    np.testing.assert_allclose(
        model.rate_covariance_, rate_covariance(model, blocks, model._settled(blocks)), rtol=0.05
    )


def test_priors_of_detection_and_false_alarms():
    """A look sees what is there with some 0.88, and what is not with some 0.05."""
    model = fz.RepeatedLooks(2, false_alarms=True)
    looks = dressed()
    steps = model._steps(model._blocks(looks, reset=True))
    assert steps.seen.prior == Prior(2.0, 1.5, 1.0, True)
    assert steps.alarm.prior == Prior(-3.0, 1.0, 1.0, True)
    assert (steps.seen.n_columns, steps.seen.n_terms, steps.seen.n_observers) == (3, 2, 3)
    loose = fz.RepeatedLooks(2, inference="ml", false_alarms=True)
    steps = loose._steps(loose._blocks(looks, reset=True))
    assert steps.seen.prior == Prior(2.0, 1.5, 100.0, False)
    assert steps.alarm.prior == Prior(-3.0, 1.0, 100.0, False)
    drawn = fz.RepeatedLooks(2, inference="gibbs", heterogeneity="learn", observer_effects=False)
    blocks = drawn._blocks(looks, reset=True)
    assert not drawn._steps(blocks).seen.learns_spread
    assert drawn._steps(blocks).seen.first_spread == 1.5
    assert drawn._steps(blocks, draws=True).seen.learns_spread
    assert drawn._steps(blocks).seen.n_observers == 0


def test_known_detection_is_one_rate_or_one_for_each_column():
    looks = fz.as_looks(dressed().to_numpy())
    for rates in (1.0, 0.4, [0.2, 0.5, 1.0]):
        model = fz.RepeatedLooks(2, detection=rates, random_state=0, tol=1e-3).fit(looks)
        np.testing.assert_array_equal(model.detection_, np.broadcast_to(rates, 3))
        assert model.heterogeneity_ == 0
        assert model.observers_ is None
        assert not hasattr(model, "false_alarm_")
        again = model.again(looks).to_numpy()
        np.testing.assert_allclose(again, model.present(looks).to_numpy() * model.detection_)
    for wrong in ([0.2, 0.5, 0.0], [0.2, 0.5, 1.01], [0.5, 0.5]):
        with pytest.raises(DataError, match=r"one rate in \(0, 1\]"):
            fz.RepeatedLooks(2, detection=wrong).fit(looks)


# -- what a model takes in ------------------------------------------------------------------------


def test_variables_of_looks_are_scaled_where_looks_took_place():
    looks = dressed()
    model = fz.RepeatedLooks(2)
    model._blocks(looks, reset=True)
    took_place = (looks.tries > 0).any(axis=2)
    dates = looks.variables["date"][took_place]
    np.testing.assert_allclose(model.variable_scale_[:, 0], [dates.mean(), dates.std()])
    design = model._design(looks)
    assert (design[..., 0] == 1).all()
    np.testing.assert_allclose(design[took_place, 1].mean(), 0, atol=1e-12)
    np.testing.assert_allclose(design[took_place, 1].std(), 1)
    assert (design[~took_place, 1] == 0).all()
    constant = fz.Looks(looks.to_numpy(), variables={"date": np.full((14, 3), 7.0)})
    model._blocks(constant, reset=True)
    np.testing.assert_array_equal(model.variable_scale_[:, 0], [7, 1])
    chosen = fz.RepeatedLooks(2, look_variables=[])
    chosen._blocks(looks, reset=True)
    assert chosen._design(looks) is None


def test_observers_are_numbered_and_strangers_are_nobody():
    looks = dressed()
    model = fz.RepeatedLooks(2)
    model._blocks(looks, reset=True)
    names = ["Aa", "Ada", "Bo", "Cy", "Zoe"]
    others = fz.Looks(np.ones((1, 5, 3)), observers=names, variables={"date": np.zeros((1, 5))})
    assert model._observer_codes(others).tolist() == [[-1, 0, 1, 2, -1]]
    nameless = fz.Looks(np.ones((1, 5, 3)), variables={"date": np.zeros((1, 5))})
    assert model._observer_codes(nameless).tolist() == [[-1] * 5]
    alone = fz.RepeatedLooks(2, observer_effects=False)
    alone._blocks(looks, reset=True)
    assert alone._observer_codes(looks) is None


def test_variables_of_rows_and_their_squares_are_scaled():
    height, kind = np.array([1.0, 2.0, 4.0, 6.0]), np.array([0.0, 1.0, 1.0, 1.0])
    known = {"height": height, "kind": kind, "same": np.full(4, 3.0)}
    looks = fz.Looks(np.ones((4, 2, 3)), row_variables=known)
    model = fz.RepeatedLooks(2)
    design = np.concatenate([block.variables for block in model._blocks(looks, reset=True)])
    assert design.shape == (4, 5), "one, height and its square, kind, and what never varies"
    np.testing.assert_array_equal(design[:, 0], 1)
    scaled = (height - height.mean()) / height.std()
    squares = (scaled**2 - (scaled**2).mean()) / (scaled**2).std()
    np.testing.assert_allclose(design[:, 1:3], np.stack([scaled, squares], axis=1))
    np.testing.assert_allclose(design[:, 3], (kind - 0.75) / kind.std())
    np.testing.assert_array_equal(design[:, 4], 0)
    assert fz.RepeatedLooks(2, inference="ml")._blocks(looks, reset=True)[0].variables is None
    one = fz.RepeatedLooks(2, row_variables=["kind"])._blocks(looks, reset=True)[0].variables
    assert one.shape == (4, 2)


def test_cells_alike_enough_are_averaged_over_rates():
    assert look_answers._ALIKE == 0.5
    rates = LookRates((1, 1, 0), Prior(0.0, 1.0, 1.0, True))
    mean, effects = rates.start()
    expected = expit(0.4 / np.sqrt(1 + np.pi * 0.1 / 8))
    assert look_answers.column_rates(rates, mean + 0.4, effects) == pytest.approx(expected)
