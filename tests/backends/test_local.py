from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

from falsezero.backends import workers
from falsezero.backends.local import joined
from falsezero.data import blocks as blocks_module
from falsezero.data.blocks import Blocks
from falsezero.inference import tree


class One(NamedTuple):
    number: float


def pair(parts):
    return "(" + "".join(parts) + ")"


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13, 32])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_join_as_one_thread_does(count, n_jobs):
    names = [f"{i}." for i in range(count)]
    with workers(n_jobs, count) as run:
        groups = run(lambda name: name, names, join=pair)
    assert joined(groups, pair) == joined(names, pair)


def test_joining_adds_up_in_the_order_of_the_tree():
    rng = np.random.default_rng(0)
    for count in range(1, 40):
        numbers = [One(x) for x in rng.normal(size=count) * 10.0 ** rng.integers(-8, 8, count)]
        assert joined(numbers, tree.total) == tree.total(numbers)


def test_a_sparse_table_with_many_entries_has_more_blocks(monkeypatch):
    table = sparse.random_array((20_000, 300), density=0.01, rng=np.random.default_rng(0)).tocsr()
    assert len(Blocks.cut(table)) == 4
    monkeypatch.setattr(blocks_module, "_BLOCK_ENTRIES", 5_000)
    assert len(Blocks.cut(table)) == 11
    monkeypatch.setattr(blocks_module, "_BLOCK_ENTRIES", 10)
    assert len(Blocks.cut(table)) <= 32
