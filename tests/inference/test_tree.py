"""Sums of statistics do not depend on who added which of them up."""

from typing import NamedTuple

import numpy as np
import pytest

from falsezero.inference import tree


class Stats(NamedTuple):
    table: np.ndarray
    number: float


def numbers(count):
    rng = np.random.default_rng(count)
    return [
        Stats(rng.normal(size=3) * 10.0 ** rng.integers(-8, 8), rng.normal()) for _ in range(count)
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13, 31, 32])
def test_sums_of_aligned_groups_give_the_same_bits(count):
    leaves = numbers(count)
    whole = tree.total(leaves)
    np.testing.assert_allclose(whole.table, sum(leaf.table for leaf in leaves), rtol=1e-9)
    for size in (1, 2, 4, 8, 16, 32):
        groups = [leaves[i : i + size] for i in range(0, count, size)]
        joined = tree.total([tree.total(group) for group in groups])
        np.testing.assert_array_equal(joined.table, whole.table)
        assert joined.number == whole.number
