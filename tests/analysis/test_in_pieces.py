"""Tables that come in blocks, and blocks in tiles, give the answers of the whole table."""

import numpy as np
import pytest

import falsezero as fz
from falsezero.analysis import surprising
from falsezero.analysis.metrics import entropies, posterior_histogram
from falsezero.data import blocks
from falsezero.data.blocks import Blocks

KEEP = np.array([1.0, 0.0, 0.4])


@pytest.fixture(name="case", scope="module")
def _case():
    """Seventeen rows, three components, some cells not observed; and the table without noise."""
    rng = np.random.default_rng(0)
    clean = (rng.random((17, 6)) < rng.choice([0.2, 0.8], (17, 1))).astype(float)
    table = np.where(rng.random(clean.shape) < 0.2, 1.0, clean)
    table[rng.random(clean.shape) < 0.1] = np.nan
    model = fz.AspectBernoulli(3, prior=0, random_state=0, max_iter=30, tol=0.1).fit(table)
    model.components_ = rng.uniform(0.05, 0.95, (3, 6))
    return model, table, clean, rng.dirichlet(np.ones(3), 17)


def pieces(case, monkeypatch, block_rows, tile_rows):
    """The model with known weights, its table in blocks of so many rows and tiles of so many."""
    model, table, _, weights = case
    cut = Blocks.cut(table, block_rows=block_rows)
    monkeypatch.setattr(blocks, "_tile_rows", lambda n_columns: tile_rows)
    found = [(block, weights[block.rows]) for block in cut]
    monkeypatch.setattr(model, "weights_by_block", lambda X: iter(found))
    return model


ROWS_KEEP = np.random.default_rng(1).random((17, 3))
QUESTIONS = {
    "absences": lambda m, X, c: fz.false_absences(m, X, keep=KEEP, min_probability=0.1),
    "presences": lambda m, X, c: fz.false_presences(m, X, keep=KEEP, min_probability=0.1),
    "absences by row": lambda m, X, c: fz.false_absences(m, X, keep=ROWS_KEEP, n=30),
    "presences by row": lambda m, X, c: fz.false_presences(m, X, keep=ROWS_KEEP, n=30),
    "expand": lambda m, X, c: fz.expand(m, X, rows=[11, 3, 4, 16], keep=KEEP, n=3),
    "expand by row": lambda m, X, c: fz.expand(m, X, keep=ROWS_KEEP, n=2),
    "explain": lambda m, X, c: fz.explain(m, X, rows=[12, 2, 5], columns=[4, 1]),
    "zeros": lambda m, X, c: fz.surprising_zeros(m, X, keep=KEEP, min_expected=0.2),
    "zeros by row": lambda m, X, c: fz.surprising_zeros(m, X, keep=ROWS_KEEP, min_expected=0.2),
    "ones": lambda m, X, c: fz.surprising_ones(m, X, keep=KEEP),
    "ones by row": lambda m, X, c: fz.surprising_ones(m, X, keep=ROWS_KEEP),
    "histogram": lambda m, X, c: posterior_histogram(m, c, X),
}


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize(("block_rows", "tile_rows"), [(5, 2), (4, 99)])
def test_lists_are_those_of_the_whole_table(name, block_rows, tile_rows, case, monkeypatch):
    _, table, clean, _ = case
    ask = QUESTIONS[name]
    monkeypatch.setattr(surprising, "ONE_SURPRISES", 0.2)
    with monkeypatch.context() as patched:
        whole = ask(pieces(case, patched, 17, 99), table, clean)
    found = ask(pieces(case, monkeypatch, block_rows, tile_rows), table, clean)
    assert len(whole) > 0
    assert found.columns == whole.columns
    for column in whole.columns:
        if whole[column].dtype.kind == "f":
            np.testing.assert_allclose(found[column], whole[column], atol=1e-12)
        else:
            assert found[column].tolist() == whole[column].tolist()


def test_entropies_are_those_of_the_whole_table(case, monkeypatch):
    table = case[1]
    with monkeypatch.context() as patched:
        whole = entropies(pieces(case, patched, 17, 99), table)
    np.testing.assert_allclose(entropies(pieces(case, monkeypatch, 5, 2), table), whole)


def test_expanded_rows_by_hand(case, monkeypatch):
    """Absent columns by the posterior probability that a removed component made the zero."""
    model, table, _, weights = case
    found = fz.expand(pieces(case, monkeypatch, 5, 2), table, rows=[11, 3], keep=KEEP, n=2)
    at = 0
    for row in (11, 3):
        makes = 1 - model.components_
        joint = weights[row][:, None] * makes
        noise = ((1 - KEEP) @ joint) / joint.sum(axis=0)
        kept = weights[row] * KEEP
        content = kept @ model.components_ / kept.sum()
        absent = np.flatnonzero(table[row] == 0)
        for t in absent[np.argsort(-noise[absent])][:2]:
            assert (found["row"][at], found["column"][at]) == (row, t)
            assert found["noise"][at] == pytest.approx(noise[t])
            assert found["content"][at] == pytest.approx(content[t])
            at += 1
    assert at == len(found)


@pytest.mark.parametrize("by_row", [False, True])
def test_doubts_by_hand(by_row, case, monkeypatch):
    model, table, _, weights = case
    keep = ROWS_KEEP if by_row else np.tile(KEEP, (17, 1))
    expected = {0: [], 1: []}
    for n, t in zip(*np.nonzero(~np.isnan(table)), strict=True):
        value, a = int(table[n, t]), model.components_[:, t]
        joint = weights[n] * (a if value else 1 - a)
        noise = joint @ (1 - keep[n]) / joint.sum()
        kept = weights[n] * keep[n]
        content = kept @ a / kept.sum()
        doubt = noise * (1 - content if value else content)
        if doubt >= 0.1:
            expected[value].append((-doubt, n, t, content, noise))
    for value, ask in ((0, fz.false_absences), (1, fz.false_presences)):
        given = ROWS_KEEP if by_row else KEEP
        model = pieces(case, monkeypatch, 5, 2)
        found = ask(model, table, keep=given, min_probability=0.1)
        by_hand = sorted(expected[value])
        assert len(found) == len(by_hand) > 3
        np.testing.assert_allclose(found["probability"], [-cell[0] for cell in by_hand])
        assert found["row"].tolist() == [cell[1] for cell in by_hand]
        assert found["column"].tolist() == [cell[2] for cell in by_hand]
        np.testing.assert_allclose(found["content"], [cell[3] for cell in by_hand])
        np.testing.assert_allclose(found["noise"], [cell[4] for cell in by_hand])
        few = ask(model, table, keep=given, min_probability=0.0, n=2)
        assert few["row"].tolist() == [cell[1] for cell in by_hand[:2]]
