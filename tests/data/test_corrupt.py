import numpy as np
import pytest
import scipy.sparse as sp

from falsezero.data.corrupt import corrupt
from falsezero.data.errors import DataError
from falsezero.data.table import Table

NAN = np.nan
RNG = np.random.default_rng(0)
DENSE = (RNG.random((400, 300)) < 0.2).astype(float)


@pytest.mark.parametrize("omit", [0.4, 1.0])
def test_ones_are_lost_at_half_the_largest_rate(omit):
    spoilt = corrupt(DENSE, omit=omit, random_state=1)
    assert np.all(spoilt <= DENSE)
    rates = 1 - spoilt.sum(axis=1) / DENSE.sum(axis=1)
    assert rates.mean() == pytest.approx(omit / 2, abs=4 * omit / np.sqrt(12 * 400))
    assert rates.std() == pytest.approx(omit / np.sqrt(12), rel=0.25)


def test_ones_are_added_at_half_the_largest_rate():
    spoilt = corrupt(DENSE, add=0.4, random_state=1)
    assert np.all(spoilt >= DENSE)
    rates = (spoilt - DENSE).sum(axis=1) / (1 - DENSE).sum(axis=1)
    assert rates.mean() == pytest.approx(0.2, abs=4 * 0.4 / np.sqrt(12 * 400))
    assert rates.std() == pytest.approx(0.4 / np.sqrt(12), rel=0.25)


def test_nothing_happens_at_rate_zero_and_no_lost_one_returns():
    np.testing.assert_array_equal(corrupt(DENSE), DENSE)
    lost = corrupt(DENSE, omit=0.9, random_state=3)
    both = corrupt(DENSE, omit=0.9, add=0.9, random_state=3)
    np.testing.assert_array_equal(both[DENSE == 1], lost[DENSE == 1])


@pytest.mark.parametrize(
    "kind", [sp.csr_array, sp.csc_array, sp.coo_matrix, sp.csr_matrix, sp.lil_array]
)
def test_every_type_gives_the_same_cells(kind):
    expected = corrupt(DENSE, omit=0.3, add=0.1, random_state=5)
    spoilt = corrupt(kind(DENSE.astype(np.int8)), omit=0.3, add=0.1, random_state=5)
    assert type(spoilt) is kind
    assert spoilt.dtype == np.int8
    np.testing.assert_array_equal(spoilt.toarray(), expected)


def test_integers_stay_integers_and_counts_are_lost_whole():
    counts = np.full((20, 10), 3)
    spoilt = corrupt(counts, omit=0.5, random_state=0)
    assert spoilt.dtype == counts.dtype
    assert set(np.unique(spoilt)) == {0, 3}


def test_tables_keep_labels_and_unobserved_cells():
    values = np.where(RNG.random(DENSE.shape) < 0.1, NAN, DENSE)
    table = Table(values, rows=[f"r{i}" for i in range(400)], name="t")
    spoilt = corrupt(table, omit=0.5, add=0.5, random_state=0)
    assert (spoilt.name, spoilt.rows[3], spoilt.shape) == ("t", "r3", table.shape)
    np.testing.assert_array_equal(spoilt.observed, table.observed)
    assert spoilt != table


def test_seeds():
    states = [7, 7, np.random.default_rng(7), 8]
    same, again, generator, other = (corrupt(DENSE, omit=0.5, random_state=s) for s in states)
    np.testing.assert_array_equal(same, again)
    np.testing.assert_array_equal(same, generator)
    assert np.any(same != other)
    legacy = [corrupt(DENSE, omit=0.5, random_state=np.random.RandomState(1)) for _ in range(2)]
    np.testing.assert_array_equal(*legacy)


def test_large_sparse_tables_stay_sparse():
    big = sp.csr_array((np.ones(3), ([0, 1, 2], [0, 1, 2])), shape=(200_000, 200_000))
    assert corrupt(big, omit=1.0, random_state=0).nnz <= 3


@pytest.mark.parametrize("rate", [-0.1, 1.5, NAN])
def test_rates_are_checked(rate):
    with pytest.raises(DataError, match=r"^omit=.* must be a rate between 0 and 1\.$"):
        corrupt(DENSE, omit=rate)
