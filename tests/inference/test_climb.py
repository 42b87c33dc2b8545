import numpy as np
import pytest
from scipy.optimize import minimize

from falsezero.inference.climb import ROW_GAIN, add_to_diagonal, climb_rows, packed_products
from falsezero.kernels.row_newton import newton_directions


def quadratic(target, matrix):
    """-(w - target)' M (w - target) / 2 for every row."""

    def surface(rows, w):
        miss = w - target[rows]
        slope = miss @ matrix
        packed = np.tile(matrix[np.triu_indices(len(matrix))], (len(w), 1))
        return -0.5 * (miss * slope).sum(axis=1), -slope, packed

    return surface


@pytest.fixture
def matrix():
    root = np.random.default_rng(0).normal(size=(4, 4))
    return root @ root.T + 0.1 * np.eye(4)


def test_a_free_quadratic_is_solved_in_one_step(matrix):
    target = np.random.default_rng(1).normal(size=(5, 4))
    found = climb_rows(quadratic(target, matrix), np.zeros((5, 4)), low=None)
    np.testing.assert_allclose(found, target, atol=1e-6)


@pytest.mark.parametrize("adds_up", [True, False])
def test_constrained_rows_are_those_of_a_general_solver(matrix, adds_up):
    target = np.random.default_rng(2).normal(0.25, 0.7, (20, 4))
    surface = quadratic(target, matrix)
    found = climb_rows(surface, np.full((20, 4), 0.25), adds_up=adds_up)
    whole = [{"type": "eq", "fun": lambda w: w.sum() - 1}] if adds_up else []
    for i, w in enumerate(found):
        best = minimize(
            lambda w, i=i: -surface(np.array([i]), w[None])[0][0],
            np.full(4, 0.25), bounds=[(0, None)] * 4, constraints=whole, method="SLSQP", tol=1e-14,
        )  # fmt: skip
        np.testing.assert_allclose(w, best.x, atol=1e-5)
        assert -surface(np.array([i]), w[None])[0][0] <= best.fun + 1e-9


def test_no_step_reaches_an_open_end():
    # share log w - w: the maximum is at share, and a full Newton step from 1 would pass zero.
    share = 1e-3

    def surface(rows, w):
        packed = share / np.square(w)
        return (share * np.log(w) - w)[:, 0], share / w - 1, packed

    found = climb_rows(surface, np.ones((1, 1)), is_open=True)
    assert found[0, 0] == pytest.approx(share, rel=1e-6)


def test_a_direction_promises_what_it_gains(matrix):
    weights = np.full((1, 4), 0.25)
    gradient = np.array([[3.0, -1.0, 0.5, 0.0]])
    packed = matrix[np.triu_indices(4)][None]
    direction = newton_directions(-weights, gradient, packed, True)
    d = direction[0]
    assert d.sum() == pytest.approx(0, abs=1e-12)
    assert (weights + direction >= -1e-12).all()
    assert gradient[0] @ d - 0.5 * d @ matrix @ d >= 0
    assert ROW_GAIN == 1e-10


def test_packed_triangles_are_those_of_products():
    columns = np.arange(6.0).reshape(3, 2)
    first, second = np.triu_indices(3)
    np.testing.assert_array_equal(packed_products(columns), columns[first] * columns[second])
    packed = np.zeros((2, 6))
    add_to_diagonal(packed, np.array([[1.0, 2.0, 3.0]] * 2), 3)
    np.testing.assert_array_equal(packed, [[1, 0, 0, 2, 0, 3]] * 2)


def test_a_row_at_a_steep_bound_leaves_it():
    """log w - w at 1e-12: Newton's first step is as short as the weight, the maximum far off."""

    def surface(rows, w):
        return (np.log(w) - w).sum(axis=1), 1 / w - 1, 1 / np.square(w)

    found = climb_rows(surface, np.full((1, 1), 1e-12), low=1e-12)
    np.testing.assert_allclose(found, 1.0, rtol=1e-4)
