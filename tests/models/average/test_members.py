"""Which models take part at which size of table, how they are fitted, and what they expect."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import falsezero as fz
from falsezero.models.average.members import (
    Member,
    default_members,
    expected_rows,
    fit_members,
)

PAIRS = dict.fromkeys(
    ("EASE, ridge 2", "EASE, ridge 6", "EASE, ridge 20", "ColumnNeighbours", "Beals"), 1
)


def sizes(member):
    """Components of each estimator, or how many estimators there are."""
    found = [e.get_params().get("n_components") for e in member.estimators]
    return found if None not in found else len(found)


def families(shape):
    return {member.name: sizes(member) for member in default_members(shape)}


def few_and_many(name, few, many, starts):
    parts = {f"{name}, few components": few, f"{name}, many components": many}
    return {key: sizes * starts for key, sizes in parts.items() if sizes}


@pytest.mark.parametrize(
    ("smaller", "aspects", "logistic", "least_squares"),
    [
        (2, ([], []), [], []),
        (3, ([2], []), [2], []),
        (8, ([2, 4], []), [2, 5], []),
        (9, ([2, 4], [8]), [2, 5], []),
        (12, ([2, 4], [8]), [2, 5], []),
        (13, ([2, 4], [8]), [2, 5, 12], []),
        (16, ([2, 4], [8]), [2, 5, 12], []),
        (17, ([2, 4], [8, 16]), [2, 5, 12], [16]),
        (30, ([2, 4], [8, 16]), [2, 5, 12], [16]),
        (31, ([2, 4], [8, 16]), [2, 5, 12, 30], [16]),
        (33, ([2, 4], [8, 16, 32]), [2, 5, 12, 30], [16, 32]),
    ],
)
def test_components_stay_below_both_sides(smaller, aspects, logistic, least_squares):
    expected = few_and_many("AspectBernoulli", *aspects, starts=3)
    expected |= few_and_many("BernoulliMixture", [4, 8], [16], starts=3)
    few, many = sorted(3 * [k for k in logistic if k < 12]), [k for k in logistic if k >= 12]
    expected |= few_and_many("LogisticPCA", few, many, starts=1)
    if logistic:
        expected["LogisticPCA, weak ridge"] = [k for k in logistic if k <= 12]
    if least_squares:
        expected["ImplicitALS"] = least_squares
    expected |= PAIRS | {"RowNeighbours, 20": 1, "RowNeighbours, 100": 1, "Margins": 1}
    assert families((120, smaller)) == expected


@pytest.mark.parametrize(
    ("n_rows", "expected"),
    [(16, []), (20, [4]), (35, [4]), (36, [4, 8]), (68, [4, 8, 16]), (260, [4, 8, 16, 32, 64])],
)
def test_a_mixture_has_four_rows_and_more_for_a_component(n_rows, expected):
    found = families((n_rows, 3))
    few = found.get("BernoulliMixture, few components", [])
    assert few + found.get("BernoulliMixture, many components", []) == (
        [k for k in expected if k < 16] * 3 + [k for k in expected if k >= 16] * 3
    )


@pytest.mark.parametrize(("n_rows", "near"), [(20, []), (21, [20]), (100, [20]), (101, [20, 100])])
def test_rows_have_as_many_neighbours_as_there_are_others(n_rows, near):
    found = [m for m in default_members((n_rows, 3)) if m.name.startswith("RowNeighbours")]
    assert [member.name for member in found] == [f"RowNeighbours, {k}" for k in near]
    assert [member.estimators[0].n_neighbors for member in found] == near


def test_cost_bounds_what_takes_part():
    starts = {n: families((n, 100))["AspectBernoulli, few components"] for n in (500, 501)}
    assert starts == {500: [2, 4] * 3, 501: [2, 4]}
    assert "LogisticPCA, few components" in families((2000, 1000))
    assert not {"LogisticPCA, few components", "ImplicitALS"} & set(families((2000, 1001)))
    # Cells times squared components: 555,555 cells may have 30 components.
    assert families((5555, 100))["LogisticPCA, many components"] == [12, 30]
    assert families((5556, 100))["LogisticPCA, many components"] == [12]
    assert set(PAIRS) <= set(families((500, 4000)))
    assert not set(PAIRS) & set(families((500, 4001)))
    assert "RowNeighbours, 20" in families((20_000, 5))
    assert "RowNeighbours, 20" not in families((20_001, 5))


def test_settings_of_the_members():
    by_name = {member.name: member.estimators for member in default_members((200, 33))}
    rough = {"prior": 1.0, "tol": 1e-5, "max_iter": 300}
    logistic = {"tol": 1e-4, "max_iter": 100}
    for name, expected in {
        "AspectBernoulli, few components": rough,
        "AspectBernoulli, many components": rough,
        "BernoulliMixture, many components": rough,
        "LogisticPCA, few components": logistic | {"ridge": 4.0},
        "LogisticPCA, weak ridge": logistic | {"ridge": 1.0},
        "EASE, ridge 2": {"ridge": 2.0},
        "EASE, ridge 6": {"ridge": 6.0},
        "EASE, ridge 20": {"ridge": 20.0},
    }.items():
        for estimator in by_name[name]:
            assert expected.items() <= estimator.get_params().items()


@pytest.fixture(scope="module", name="values")
def _values():
    return sparse.csr_array((np.random.default_rng(0).random((30, 6)) < 0.4).astype(float))


def test_members_are_fitted_as_fresh_copies_with_seeds_of_their_own(values):
    given = [Member("aspects", [fz.AspectBernoulli(2, max_iter=3, tol=0)] * 2)]
    given.append(Member("ease", [fz.EASE()]))
    heard = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        fitted = fit_members(given, values, np.random.SeedSequence(5), heard.append)
    assert heard == ["aspects", "ease"] == [member.name for member in fitted]
    assert not hasattr(given[0].estimators[0], "components_")
    seeds = [int(s.generate_state(1)[0]) for s in np.random.SeedSequence(5).spawn(2)]
    assert [e.random_state for e in fitted[0].estimators] == seeds


def test_rows_of_the_fit_are_expected_from_their_weights(values):
    aspects = fz.AspectBernoulli(2, random_state=0, max_iter=5, tol=1.0).fit(values)
    mixture = fz.BernoulliMixture(2, random_state=0, max_iter=5, tol=1.0).fit(values)
    ease = fz.EASE().fit(values)
    both, alone = Member("both", [aspects, mixture]), Member("ease", [ease])
    rows = np.array([3, 7, 20])
    unknown = (aspects.reconstruct(values[rows]) + mixture.reconstruct(values[rows])) / 2
    found = expected_rows(both, values, rows, known=False)
    np.testing.assert_allclose(found, unknown, rtol=1e-12)
    aspects.row_weights_ = np.random.default_rng(1).dirichlet([1, 1], 30)
    known = [e.row_weights_[rows] @ e.components_ for e in (aspects, mixture)]
    found = expected_rows(both, values, rows, known=True)
    np.testing.assert_allclose(found, (known[0] + known[1]) / 2, rtol=1e-12)
    found = expected_rows(alone, values, rows, known=True)
    np.testing.assert_array_equal(found, ease.reconstruct(values[rows]))
