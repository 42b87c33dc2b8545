"""How tokens are laid out for the collapsed sweep, and where it begins, against plain loops."""

import numpy as np
import pytest
from scipy import sparse

from falsezero.models.discrete_pca.shards import (
    Shard,
    anchored_counts,
    even_cuts,
    unlike_rows,
)

COUNTS = np.array([[2.0, 0, 1, 3], [0, 4, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0], [0, 0, 5, 2]])


def some_counts(n_rows=60, n_words=30, seed=0):
    """Counts of three components, some words rare, one row and one word empty."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(n_words, 0.3), 3)
    weights = rng.dirichlet(np.full(3, 0.3), n_rows)
    counts = rng.poisson(8 * weights @ theta).astype(float)
    counts[7] = counts[:, 4] = 0
    return counts


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_a_range_is_cut_where_its_weight_passes_each_share(parts):
    weights = np.random.default_rng(parts).uniform(0, 3, 20)
    weights[5:8] = 0
    cuts = even_cuts(weights, parts)
    assert len(cuts) == parts
    assert np.concatenate([np.arange(20)[cut] for cut in cuts]).tolist() == list(range(20))
    for i, cut in enumerate(cuts[:-1]):
        # The first place at which the share is reached ends the part.
        share = (i + 1) / parts * weights.sum()
        assert weights[: cut.stop].sum() >= share * (1 - 1e-6)
        assert weights[: cut.stop - 1].sum() < share * (1 + 1e-6)


def test_more_parts_than_places_leaves_some_empty():
    cuts = even_cuts(np.array([1.0, 5.0]), 5)
    assert len(cuts) == 5
    assert np.concatenate([np.arange(2)[cut] for cut in cuts]).tolist() == [0, 1]


@pytest.mark.parametrize(("n_rows", "k"), [(60, 3), (60, 12), (31, 3)])
def test_rows_unlike_each_other_are_chosen(n_rows, k):
    """The same draws, by dense distances between square roots of shares."""
    counts = some_counts(n_rows)
    found = unlike_rows(sparse.csr_array(counts), k, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    tokens = counts.sum(axis=1) + 1e-9
    few = min(n_rows, 4 * k + 20)
    drawn = np.sort(rng.choice(n_rows, few, replace=False, p=tokens / tokens.sum()))
    chosen, unlike = [], np.ones(few)
    for _ in range(k):
        chosen.append(rng.choice(few, p=unlike / unlike.sum()))
        for i in range(few):
            n, m = drawn[i], drawn[chosen[-1]]
            common = np.sqrt(counts[n]) @ np.sqrt(counts[m])
            cosine = common / np.sqrt(tokens[n] * tokens[m])
            unlike[i] = min(unlike[i], max(1 - cosine, 0))
    assert found.tolist() == drawn[chosen].tolist()


def test_copies_of_one_row_are_chosen_alike():
    for times in (1.0, 1e9):
        rows = sparse.csr_array(times * np.tile([4.0, 1.0], (3, 1)))
        assert set(unlike_rows(rows, 3, np.random.default_rng(0))) <= {0, 1, 2}


def anchors_by_hand(counts, k, rng):
    """Arora et al.'s anchors in dense arithmetic, word by word."""
    n_rows, n_words = counts.shape
    lengths = counts.sum(axis=1)
    shares = counts / np.where(lengths > 0, lengths, 1)[:, None]
    rows_with = (counts > 0).sum(axis=0)
    common = sorted(rows_with, reverse=True)[min(n_words, 4 * k) - 1]
    enough = max(min(max(5, 0.01 * n_rows), common), 1)
    able = [j for j in range(n_words) if rows_with[j] >= enough]
    projection = rng.standard_normal((n_words, max(2 * k, 100)))
    size = counts.sum(axis=0)
    company = {j: counts[:, j] @ (shares @ projection) for j in able}
    mean = sum(company.values()) / size[able].sum()
    middle = np.median(size[able])
    company = {
        j: (company[j] / size[j] - mean) * np.sqrt(size[j] / (size[j] + middle)) for j in able
    }
    anchors = []
    for _ in range(k):
        anchors.append(max(able, key=lambda j: company[j] @ company[j]))
        axis = company[anchors[-1]] / np.linalg.norm(company[anchors[-1]])
        company = {j: c - (c @ axis) * axis for j, c in company.items()}
    return np.stack([shares[:, j] @ counts for j in anchors])


@pytest.mark.parametrize(
    ("n_rows", "n_words", "k"),
    [(60, 30, 3), (60, 30, 7), (700, 30, 2), (40, 6, 3), (300, 300, 60)],
)
def test_words_beside_anchors(n_rows, n_words, k):
    counts = some_counts(n_rows, n_words)
    found = anchored_counts(sparse.csr_array(counts), k, np.random.default_rng(2)).toarray()
    expected = anchors_by_hand(counts, k, np.random.default_rng(2))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def a_shard(rows=slice(1, 5), k=3):
    return Shard(sparse.csr_array(COUNTS), rows, [slice(0, 2), slice(2, 4)], k)


def test_tokens_are_laid_out_word_by_word():
    shard, part = a_shard(), COUNTS[1:5].astype(int)
    words = [j for j in range(4) for n in range(4) for _ in range(part[n, j])]
    docs = [n for j in range(4) for n in range(4) for _ in range(part[n, j])]
    assert shard.words.tolist() == words
    assert shard.docs.tolist() == docs
    assert shard.word_ptr.tolist() == [0, *np.cumsum(part.sum(axis=0))]
    # Room for as many components as a row has tokens, at most all of them, and one more.
    assert np.diff(shard.starts).tolist() == [min(n, 3) + 1 for n in part.sum(axis=1)]
    assert shard.starts[0] == 0


@pytest.mark.parametrize("longest", [2**16 - 1, 2**16])
def test_counts_of_long_rows_have_room(longest):
    """A component and its count share an entry: 32 bits as long as both fit into 16."""
    csr = sparse.csr_array(np.array([[longest, 0.0], [0.0, 2.0]]))
    shard = Shard(csr, slice(0, 2), [slice(0, 2)], 3)
    rows = shard.start(np.full(longest + 2, 2, np.int32))
    assert shard.short == (longest < 2**16)
    assert rows.lists.dtype == (np.uint32 if shard.short else np.uint64)
    found = [part.tolist() for part in shard.pairs(rows)]
    assert found == [[0, 1], [2, 2], [longest, 2]]
    assert not Shard(csr[:, :0], slice(0, 2), [slice(0, 0)], 2**16).short


def test_rows_list_the_components_of_their_tokens():
    shard = a_shard()
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, len(shard.docs)).astype(np.int32)
    expected = np.zeros((5, 3))
    np.add.at(expected, (1 + shard.docs, z), 1)
    where, components, counts = shard.pairs(shard.start(z))
    found = np.zeros((5, 3))
    found[where, components] = counts
    np.testing.assert_array_equal(found, expected)
    assert (counts > 0).all()
    rows = shard.start(z)
    assert rows.sizes.tolist() == (expected[1:] > 0).sum(axis=1).tolist()
    alpha = np.array([0.3, 0.7, 1.1])
    rising = sum(
        np.log(alpha[k] + i) for n, k in np.ndindex(5, 3) for i in range(int(expected[n, k]))
    )
    assert shard.log_rising(rows, alpha) == pytest.approx(rising)
