"""Chains leave the empty state, and say so when they disagree."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from falsezero import BinaryMatrixFactorization
from falsezero.inference.agreement import bulk_ess, r_hat
from falsezero.models.bmf.agreement import feature_agreement, prediction_agreement
from falsezero.models.bmf.likelihoods import LIKELIHOODS
from falsezero.models.bmf.predict import Draw
from falsezero.models.bmf.redundant import _taken_away, without_redundant
from falsezero.models.bmf.sampler import Model, settling_sweep
from falsezero.models.bmf.start import begun_with, found_features
from falsezero.models.bmf.state import Cells, Features, State


def balanced(seed=0, n=300, m=40, k=4, hidden=0.1):
    """Four features that half of the rows have, each of ten columns; some cells held out."""
    rng = np.random.default_rng(seed)
    on = rng.random((n, k)) < 0.5
    odds = 3.4 * (on @ np.kron(np.eye(k), np.ones((1, m // k)))) - 1.7
    table = (rng.random((n, m)) < 1 / (1 + np.exp(-odds))).astype(float)
    hide = rng.random(table.shape) < hidden
    return on, np.where(hide, np.nan, table), np.where(hide, table, np.nan)


def ideal_reader(shown, held, k=4):
    """Mean log predictive of who knows the features of columns and the odds, but not the rows."""
    ones = np.where(np.isnan(shown), 0.0, 2 * shown - 1).reshape(len(shown), k, -1).sum(axis=2)
    chance = expit(1.7) + (expit(-1.7) - expit(1.7)) * expit(-3.4 * ones)
    p = np.repeat(chance, shown.shape[1] // k, axis=1)
    return np.nanmean(np.where(np.isnan(held), np.nan, np.log(np.where(held == 1, p, 1 - p))))


def test_features_are_read_off_the_table():
    on, shown, _ = balanced()
    rows, columns = found_features(Cells.of(shown), np.random.default_rng(0))
    assert rows.shape == (300, 4)
    assert columns.shape == (40, 4)
    same = np.array([[np.mean(rows[:, a] == on[:, b]) for a in range(4)] for b in range(4)])
    assert (np.maximum(same, 1 - same).max(axis=1) > 0.9).all()


def test_a_table_without_structure_has_no_features_to_begin_with():
    noise = (np.random.default_rng(0).random((200, 30)) < 0.3).astype(float)
    rows, columns = found_features(Cells.of(noise), np.random.default_rng(0))
    assert rows.shape == (200, 0)
    assert columns.shape == (30, 0)


def test_features_that_are_known_or_numbered_stay_so():
    found = np.array([[1, 0], [0, 1], [0, 0], [0, 0]], np.uint8)
    known = np.ones((4, 1), np.uint8)
    finite = begun_with(Features(np.hstack([known, known]), 1, 3, 1.0), found.copy(), None)
    assert finite.on.tolist() == [[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    fewer = begun_with(Features(np.hstack([known, known]), 1, 1, 1.0), found.copy(), None)
    assert fewer.on.shape == (4, 2)
    sizes = np.array([0.0, 5.0, 5.0, 5.0])
    counts = begun_with(Features(known, 1, 0, 1.0), found.copy(), sizes)
    assert counts.on[:, 1].tolist() == [0, 1, 1, 1]
    assert counts.on[:, 2].tolist() == [0, 1, 0, 0]


def test_no_chain_stays_empty_on_balanced_features():
    _, shown, held = balanced()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = BinaryMatrixFactorization(n_chains=4, warmup=60, n_draws=60, random_state=1)
        model.fit(shown)
    assert min(chain["n_row_features"].min() for chain in model.chains_) >= 4
    found = np.nanmean(model.log_predictive(held))
    assert found > -0.43
    assert found > ideal_reader(shown, held) - 0.003
    # Four blocks of columns need three features beside the bias; a fourth would be one too many.
    assert {chain["n_column_features"][0] for chain in model.chains_} == {4.0}
    assert model.r_hat_ < 1.1
    assert model.converged_


def settled_case(redundant, finite=0, n_sweeps=5):
    """A state whose features fit the table, one of them superfluous if asked for."""
    on, shown, _ = balanced(n=120, hidden=0)
    cells, kind = Cells.of(shown), LIKELIHOODS["logistic"]
    blocks = np.kron(np.eye(4), np.ones((10, 1)))
    columns = blocks if redundant else blocks[:, :3]
    both = [np.hstack([np.ones((len(f), 1)), f]).astype(np.uint8) for f in (on, columns)]
    model = Model(kind, both[0][:, :1], both[1][:, :1], finite, finite)
    state = State(
        Features(both[0], 1, finite, 1.0),
        Features(both[1], 1, finite, 1.0),
        np.zeros((both[0].shape[1], both[1].shape[1])),
        1.0,
        1.0,
    )
    rng = np.random.default_rng(0)
    for _ in range(n_sweeps):
        state = settling_sweep(state, cells, model, rng)
    return state, lambda s: settling_sweep(s, cells, model, rng)


@pytest.mark.parametrize("finite", [0, 4])
def test_only_superfluous_features_are_taken_away(finite):
    for redundant in (True, False) if not finite else (True,):
        state, settle = settled_case(redundant, finite=finite)
        found = without_redundant(state, settle)
        assert found.rows.learnt.any(axis=0).sum() == 4
        assert found.columns.learnt.any(axis=0).sum() == 3
        assert found.columns.learnt.shape[1] == (finite or 3)
        assert found.weights.shape == (found.rows.on.shape[1], found.columns.on.shape[1])


def test_what_is_left_takes_over_the_weights_of_a_superfluous_feature():
    state, _ = settled_case(True, n_sweeps=0)
    state = state._replace(weights=np.random.default_rng(1).normal(size=(5, 5)))
    fewer = _taken_away(state.flipped(), 2)
    np.testing.assert_allclose(fewer.flipped().predictor(), state.predictor(), atol=1e-9)
    assert fewer.rows.on.shape == (40, 4)
    positive = _taken_away(state._replace(weights=np.exp(state.weights)).flipped(), 2)
    assert (positive.weights > 0).all()


def test_chains_that_disagree_say_so():
    _, shown, _ = balanced(n=60, m=20, hidden=0)
    options = {"n_chains": 3, "warmup": 0, "n_draws": 20, "start": "prior", "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="chains disagree .*raise warmup"):
        model = BinaryMatrixFactorization(**options).fit(shown)
    assert not model.converged_
    assert model.r_hat_ > 1.1
    assert model.feature_r_hat_ > 1.1
    assert 0 < model.ess_ < 60


def test_chains_that_agree_are_not_warned_about():
    constant = np.ones((6, 4))
    options = {"n_row_features": 1, "n_column_features": 1, "likelihood": "gaussian"}
    noise = constant + np.random.default_rng(0).normal(size=(6, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = BinaryMatrixFactorization(**options, n_draws=1000, random_state=0).fit(noise)
    assert model.converged_
    assert model.r_hat_ < 1.1
    few = BinaryMatrixFactorization(**options, n_draws=3, random_state=0).fit(noise)
    assert np.isnan(few.r_hat_)
    assert np.isnan(few.feature_r_hat_)
    assert few.converged_


def drawn_chains(shift, n_draws=40):
    """Three chains of one cell each, whose weight is a normal, shifted in the last chain."""
    rng = np.random.default_rng(0)
    one = np.ones((1, 1), np.uint8)
    chains = []
    for number in range(3):
        moved = shift * (number == 2)
        weights = rng.normal(size=n_draws) + moved
        chains.append(
            [Draw(number, one, one, np.array([[w]]), 1.0, 1.0, 1.0, 1.0, w, w) for w in weights]
        )
    return chains


def test_agreement_is_that_of_expected_cells():
    gaussian = LIKELIHOODS["gaussian"]
    for shift in (0.0, 2.0):
        chains = drawn_chains(shift)
        values = np.array([[draw.weights[0, 0] for draw in draws] for draws in chains])
        found = prediction_agreement(chains, gaussian)
        assert found == (r_hat(values), bulk_ess(values))
        assert (found[0] > 1.1) == (shift > 0)
    assert np.isnan(prediction_agreement(drawn_chains(0.0, 19), gaussian)).all()
    assert np.isfinite(prediction_agreement(drawn_chains(0.0, 20), gaussian)).all()


def test_agreement_on_features_is_the_worst_of_four_numbers():
    rng = np.random.default_rng(0)
    names = ["log_joint", "log_likelihood", "features_per_row", "features_per_column"]
    for bad in names:
        chains = [{name: rng.normal(size=30) for name in names} for _ in range(3)]
        assert feature_agreement(chains) < 1.2
        chains[1][bad] += 5
        assert feature_agreement(chains) > 1.5
    still = [dict.fromkeys(names, np.ones(30)) for _ in range(3)]
    assert np.isnan(feature_agreement(still))
    assert np.isnan(feature_agreement([{name: rng.normal(size=19) for name in names}] * 2))
