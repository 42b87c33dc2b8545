"""Splits and merges: the acceptance ratio written out, what they propose, and to which rows."""

import numpy as np
import pytest
from scipy import stats
from tests.reference.bmf import buffet_log_prior, finite_log_prior

from falsezero.models.bmf import split_merge as module
from falsezero.models.bmf.likelihoods import LIKELIHOODS
from falsezero.models.bmf.parts import PARTS
from falsezero.models.bmf.split_merge import _concerned, _merge, _split, split_merge
from falsezero.models.bmf.state import Cells, Features, State

GAUSSIAN, LOGISTIC = LIKELIHOODS["gaussian"], LIKELIHOODS["logistic"]
LOG_SCAN = -1.3
"""Log probability that the last scan is said to have."""

WHOLE = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0]])
"""A bias, the feature to be split (had by rows 0, 1, 2 and 4), another one, and a spare."""
CHOICE = np.array([0, 1, 2, 2])
"""Which parts these rows get: the first, the second, both, both."""


def state_with(on, finite, seed=0):
    rng = np.random.default_rng(seed)
    width = on.shape[1] if finite else int(on.any(axis=0).sum())
    rows = Features(np.ascontiguousarray(on[:, :width], np.uint8), 1, finite, 0.8)
    columns = Features(np.array([[1, 0], [1, 1], [1, 1]], np.uint8), 1, 0, 1.0)
    return State(rows, columns, rng.normal(size=(width, 2)), 1.7, 2.2)


def whole_state(finite):
    """The state before a split; with K = 4 there are two spare features to choose from."""
    return state_with(np.pad(WHOLE, ((0, 0), (0, finite == 4))), finite)


def split_state(finite):
    """The state after the split by `CHOICE`, the second part in the first spare feature."""
    on = np.pad(WHOLE, ((0, 0), (0, finite == 4)))
    on[np.ix_([0, 1, 2, 4], [1, 3])] = PARTS[CHOICE]
    return state_with(on, finite)


def log_marginal(state, features, table):
    """Log density of the table with the weights of some row features integrated out."""
    u, v = state.rows.on.astype(float), state.columns.on.astype(float)
    rest = u.copy()
    rest[:, features] = 0
    design = np.kron(u[:, features], v)
    covariance = design @ design.T / state.weight_scale + np.eye(table.size) / state.precision
    mean = (rest @ state.weights @ v.T).ravel()
    return stats.multivariate_normal(mean, covariance).logpdf(table.ravel())


def log_prior(state):
    """Log prior of the row features, as an unordered set where their number is not fixed."""
    rows = state.rows
    if rows.finite:
        return finite_log_prior(rows.learnt, rows.concentration)
    return buffet_log_prior(rows.learnt, rows.concentration)


def log_split_ratio(before, after, table, pair, log_scan):
    """p(after) q(merge) / p(before) q(split), weights integrated out on both sides."""
    ratio = log_marginal(after, [1, 3], table) - log_marginal(before, [1], table)
    ratio += log_prior(after) - log_prior(before) - log_scan
    # Both features are picked anew on the way back, one out of those that a row has then.
    for row in pair:
        ratio -= np.log(after.rows.learnt[row].sum() / before.rows.learnt[row].sum())
    if before.rows.finite:
        ratio += np.log((~before.rows.learnt.any(axis=0)).sum())
    return ratio


@pytest.fixture(name="table")
def _table():
    return np.random.default_rng(1).normal(size=(5, 3))


def scripted(monkeypatch):
    """Scans that arrive at `CHOICE`, or where they are told to, with a known probability."""
    monkeypatch.setattr(module, "_launch", lambda move, rng: None)
    monkeypatch.setattr(
        module,
        "_scan",
        lambda move, launch, rng, wanted=CHOICE: (wanted, LOG_SCAN),
    )


@pytest.mark.parametrize("finite", [0, 3, 4])
@pytest.mark.parametrize("pair", [(0, 1), (0, 4), (2, 4)])
def test_a_split_is_accepted_by_the_ratio_of_its_densities(finite, pair, table, monkeypatch):
    scripted(monkeypatch)
    before, after = whole_state(finite), split_state(finite)
    after.weights[[0, 2]] = before.weights[[0, 2]]
    pair = np.array(pair)
    move = _concerned(before, Cells.of(table), GAUSSIAN, pair, [1])
    assert move.which.tolist() == [0, 1, 2, 4]
    assert move.which[move.anchors].tolist() == pair.tolist()
    ratio = log_split_ratio(before, after, table, pair, LOG_SCAN)
    rng = np.random.default_rng(0)
    assert _split(move, ratio + 1e-9, rng) is None
    found = _split(move, ratio - 1e-9, rng)
    spare = next(k for k in range(3, found.rows.on.shape[1]) if found.rows.on[:, k].any())
    np.testing.assert_array_equal(found.rows.on[:, [0, 1, 2, spare]], after.rows.on[:, :4])
    np.testing.assert_array_equal(found.weights[[0, 2]], before.weights[[0, 2]])
    assert not np.isin(found.weights[[1, spare]], before.weights).any()
    assert found.weights.shape == (found.rows.on.shape[1], 2)


@pytest.mark.parametrize("finite", [0, 3, 4])
@pytest.mark.parametrize("pair", [(0, 1), (0, 4), (2, 4)])
def test_a_merge_is_accepted_by_the_ratio_that_undoes_it(finite, pair, table, monkeypatch):
    scripted(monkeypatch)
    before, after = split_state(finite), whole_state(finite)
    after.weights[[0, 2]] = before.weights[[0, 2]]
    pair = np.array(pair)
    move = _concerned(before, Cells.of(table), GAUSSIAN, pair, [1, 3])
    ratio = -log_split_ratio(after, before, table, pair, LOG_SCAN)
    rng = np.random.default_rng(0)
    assert _merge(move, ratio + 1e-9, rng) is None
    found = _merge(move, ratio - 1e-9, rng)
    np.testing.assert_array_equal(found.rows.on, after.rows.on)
    np.testing.assert_array_equal(found.weights[[0, 2]], before.weights[[0, 2]])
    assert not np.isin(found.weights[1], before.weights).any()
    if finite:
        assert not np.isin(found.weights[3], before.weights).any(), "drawn anew from its prior"


def test_most_merges_are_refused_without_the_scan_that_undoes_them(table, monkeypatch):
    before = split_state(0)
    move = _concerned(before, Cells.of(table), GAUSSIAN, np.array([0, 1]), [1, 3])
    asked = []

    def scan(move, launch, rng, wanted):
        asked.append(wanted.tolist())
        return wanted, LOG_SCAN

    monkeypatch.setattr(module, "_launch", lambda move, rng: None)
    monkeypatch.setattr(module, "_scan", scan)
    rng = np.random.default_rng(0)
    assert _merge(move, 1e9, rng) is None
    assert asked == []
    assert _merge(move, -1e9, rng) is not None
    assert asked == [CHOICE.tolist()]


def test_a_launch_keeps_the_picked_rows_in_their_parts(table):
    move = _concerned(state_with(WHOLE, 0), Cells.of(table), GAUSSIAN, np.array([4, 1]), [1])
    seen = []
    move = move._replace(
        part=type("Part", (), {"launch": lambda self, *more: seen.append(more) or (0, 0)})()
    )
    rng = np.random.default_rng(0)
    for _ in range(300):
        module._launch(move, rng)
    choices = np.array([choice for choice, *_ in seen])
    assert (choices[:, 3] == 0).all(), "the first picked row has the first part"
    assert (choices[:, 1] == 1).all()
    shares = np.array([[(choices[:, i] == part).mean() for part in range(3)] for i in (0, 2)])
    np.testing.assert_allclose(shares, 1 / 3, atol=0.1)
    assert seen[0][1].tolist() == move.anchors.tolist()


def proposals(state, cells, monkeypatch, n=3000):
    """The moves that are tried, each as (kind, pair, features, log of the uniform)."""
    tried = []
    for name in ("_split", "_merge"):
        monkeypatch.setattr(
            module,
            name,
            lambda move, needed, rng, name=name: tried.append((name, *move[:2], needed)),
        )
    rng = np.random.default_rng(0)
    for _ in range(n):
        assert split_merge(state, cells, GAUSSIAN, rng) is state
    return tried


def test_rows_and_features_are_picked_evenly(table, monkeypatch):
    on = np.array([[1, 1, 0], [1, 1, 1], [1, 0, 1]], np.uint8)
    state = state_with(on, 0)
    tried = proposals(state, Cells.of(table[:3]), monkeypatch)
    counts = {}
    for name, features, pair, needed in tried:
        assert (name == "_split") == (len(features) == 1)
        key = (*pair.tolist(), *features)
        counts[key] = counts.get(key, 0) + 1
        assert needed < 0
        for row, feature in zip(pair, (features * 2)[:2], strict=True):
            assert on[row, feature] == 1
    # Six ordered pairs of rows; row 1 offers two features, the others one.
    expected = {
        (0, 1, 1): 1 / 12, (0, 1, 1, 2): 1 / 12, (1, 0, 1): 1 / 12, (1, 0, 2, 1): 1 / 12,
        (0, 2, 1, 2): 1 / 6, (2, 0, 2, 1): 1 / 6, (1, 2, 2): 1 / 12, (1, 2, 1, 2): 1 / 12,
        (2, 1, 2): 1 / 12, (2, 1, 2, 1): 1 / 12,
    }  # fmt: skip
    assert counts.keys() == expected.keys()
    for key, share in expected.items():
        assert abs(counts[key] / 3000 - share) < 4.5 * np.sqrt(share * (1 - share) / 3000)
    # The logarithm of a uniform has mean -1 and standard deviation 1.
    assert np.mean([needed for *_, needed in tried]) == pytest.approx(-1, abs=0.08)


def test_where_there_is_nothing_to_split_or_merge_nothing_is_tried(table, monkeypatch):
    cells = Cells.of(table)
    full = state_with(WHOLE[:, :3], 2)
    assert all(name == "_merge" for name, *_ in proposals(full, cells, monkeypatch, 200))
    roomy = state_with(WHOLE, 3)
    kinds = {name for name, *_ in proposals(roomy, cells, monkeypatch, 200)}
    assert kinds == {"_split", "_merge"}
    lonely = state_with(WHOLE[:1], 0)
    assert proposals(lonely, Cells.of(table[:1]), monkeypatch, 20) == []
    bare = state_with(WHOLE[:, :1], 0)
    assert proposals(bare, cells, monkeypatch, 20) == []
    # Two rows are enough, one feature is enough, but both rows must have one.
    two = state_with(WHOLE[:2, :2], 0)
    assert len(proposals(two, Cells.of(table[:2]), monkeypatch, 20)) == 20
    one_has_it = state_with(np.array([[1, 1], [1, 0]]), 0)
    assert proposals(one_has_it, Cells.of(table[:2]), monkeypatch, 20) == []


def test_weights_are_weighed_by_likelihood_prior_and_proposal():
    """Of zeros and ones nothing is integrated out: the density at the drawn weights, by hand."""
    rng = np.random.default_rng(0)
    state = state_with(WHOLE, 0)
    table = (rng.random((5, 3)) < 0.5).astype(float)
    move = _concerned(state, Cells.of(table), LOGISTIC, np.array([0, 1]), [1])
    given = rng.normal(size=(2, 2))
    value, weights = module._weigh(move, PARTS, CHOICE, given, rng)
    np.testing.assert_array_equal(weights, given)
    part = move.part
    proposal = part.propose(PARTS, CHOICE, part.initial_weights(PARTS), 5)
    rest = state.rows.on[move.which].astype(float)
    rest[:, 1] = 0
    base = rest @ state.basis
    added = PARTS[CHOICE] @ given @ state.columns.on.T
    here = LOGISTIC.log_likelihood(Cells.of(table[move.which]), base + added, 1.0).sum()
    there = sum(
        part.terms(PARTS, given)[i, c] - part.terms(PARTS, 0 * given)[i, c]
        for i, c in enumerate(CHOICE)
    )
    nothing = LOGISTIC.log_likelihood(Cells.of(table[move.which]), base, 1.0).sum()
    assert there == pytest.approx(here - nothing)
    constant = sum(part.terms(PARTS, 0 * given)[i, c] for i, c in enumerate(CHOICE))
    prior = stats.norm(0, 1 / np.sqrt(1.7)).logpdf(given).sum()
    expected = constant + here - nothing - proposal.log_density(given) + prior
    assert value == pytest.approx(expected)
    drawn = module._weigh(move, PARTS, CHOICE, None, rng)[1]
    assert drawn.shape == (2, 2)
    assert not np.isin(drawn, given).any()
