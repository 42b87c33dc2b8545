"""An audit from end to end, on tables whose truth is known."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

import falsezero as fz
from falsezero.data.errors import DataError


def blocks_table(n_rows=150, n_columns=24, loss=0.3, seed=0, stray=0.03):
    """Three groups of rows with columns of their own, few ones elsewhere, some ones lost."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n_rows)
    belongs = group[:, None] == np.arange(n_columns) % 3
    there = rng.random(belongs.shape) < np.where(belongs, 0.9, stray)
    seen = there & (rng.random(there.shape) >= loss)
    rows = [f"site {i}" for i in range(n_rows)]
    columns = [f"genus {i}" for i in range(n_columns)]
    return fz.Table(seen, rows, columns, "blocks"), there


@pytest.fixture(scope="module")
def audited():
    table, there = blocks_table()
    return fz.audit(table, random_state=0, verbose=0), there


def test_the_lost_ones_come_first(audited):
    audit, there = audited
    zero = audit.table.to_numpy() == 0
    assert roc_auc_score(there[zero], audit.expected.to_numpy()[zero]) > 0.93
    wrong = [there[audit.table.row(r), audit.table.column(c)] for r, c in cells(audit.zeros)]
    assert len(audit.zeros) > 100
    # Of the zeros in a block 0.27 in 0.37 are losses.
    assert np.mean(wrong) == pytest.approx(0.73, abs=0.07)


def cells(tidy):
    return zip(tidy["row"], tidy["column"], strict=True)


def test_expected_is_calibrated(audited):
    """In block cells a look records a one with probability 0.9 * 0.7, elsewhere 0.03 * 0.7."""
    audit, _ = audited
    zero = audit.table.to_numpy() == 0
    expected = audit.expected.to_numpy()
    likely = zero & (expected > 0.3)
    assert expected[likely].mean() == pytest.approx(0.63, abs=0.08)
    assert expected[zero & ~likely].mean() == pytest.approx(0.021, abs=0.015)


def test_trial_says_what_it_found(audited):
    audit, _ = audited
    trial = audit.trial
    assert trial.beats_popularity
    assert trial.recall > 3 * trial.chance
    assert f"We hid {trial.n_hidden} of your finds" in audit.summary
    methods = set(trial.table["method"])
    assert {"average", "popularity", "Beals", "Margins"} <= methods
    assert set(trial.table["hidden"]) == {"cells", "rows"}


def test_nothing_identifies_the_level(audited):
    audit, _ = audited
    assert audit.again is None
    assert audit.present is None
    assert audit.zeros.columns == ["row", "column", "expected", "why"]
    assert "order of the zeros, not how many are false" in audit.summary


def test_rows_and_columns_add_up(audited):
    audit, _ = audited
    assert audit.rows["found"].sum() == audit.table.n_ones == audit.columns["found"].sum()
    assert audit.rows["surprising"].sum() == len(audit.zeros) == audit.columns["surprising"].sum()
    assert audit.rows["expected"].sum() == pytest.approx(audit.columns["expected"].sum())


def test_ranked_zeros_are_those_most_expected(audited):
    audit, _ = audited
    p = np.where(audit.table.to_numpy() == 0, audit.expected.to_numpy(), -1.0)
    n = len(audit.zeros) + 7
    ranked = audit.ranked(n)
    assert ranked["expected"] == pytest.approx(-np.sort(-p.ravel())[:n])
    assert list(cells(ranked))[:-7] == list(cells(audit.zeros))
    assert (ranked["expected"][-7:] <= 0.5).all()
    assert ranked.columns == audit.zeros.columns
    with pytest.raises(DataError, match="n=0 must be a number of zeros"):
        audit.ranked(0)


def test_ones_of_a_small_table_are_hidden_in_turns():
    """Less than ten ones a trial, but every one of them once."""
    table, there = blocks_table(24, 12, loss=0.1)
    audit = fz.audit(table, random_state=0, verbose=0)
    trial = audit.trial
    assert trial.n_hidden < 10
    assert trial.n_tested == table.n_ones
    assert (
        f"We hid {trial.n_hidden} of your finds at a time, {table.n_ones} in all" in audit.summary
    )
    assert trial.beats_popularity
    wrong = [there[table.row(r), table.column(c)] for r, c in cells(audit.zeros)]
    assert np.sum(wrong) >= 5


def test_too_few_ones_are_not_tested():
    X = np.zeros((9, 6))
    X[np.arange(9), np.arange(9) % 6] = 1
    audit = fz.audit(X, random_state=0, verbose=0)
    assert not audit.trial.is_tested
    assert "too few ones to hide some of them" in audit.summary
    assert len(audit.zeros) == 0


def test_ones_that_nothing_speaks_for():
    """Outside its group a row has a one in about 110 cells; a column has one in 3 rows."""
    table, _ = blocks_table(300, 48, loss=0.1, stray=0.01)
    audit = fz.audit(table, probabilities=fz.Beals(), random_state=0, verbose=0)
    group = np.random.default_rng(0).integers(3, size=300)
    is_stray = group[:, None] != np.arange(48) % 3
    found = [is_stray[table.row(r), table.column(c)] for r, c in cells(audit.ones)]
    assert all(found)
    assert len(found) > 0.7 * (table.to_numpy() * is_stray).sum()
    assert (audit.ones["expected"] < 0.1 * audit.ones["rate"]).all()


def test_some_rows_at_a_time(audited):
    audit, _ = audited
    some = audit.expected[["site 3", "site 1"]]
    assert some.rows.tolist() == ["site 3", "site 1"]
    assert np.array_equal(some.to_numpy(), audit.expected.to_numpy()[[3, 1]])


def test_a_seed_repeats_the_answer(audited):
    audit, _ = audited
    again = fz.audit(audit.table.values, random_state=0, verbose=0)
    assert np.array_equal(again.expected.to_numpy(), audit.expected.to_numpy())


def simple():
    return fz.StackedAverage([("ease", fz.EASE()), ("beals", fz.Beals())], random_state=0)


def test_a_single_model_is_not_compared_with_itself():
    table, _ = blocks_table(60, 12)
    audit = fz.audit(table, probabilities=fz.Beals(), random_state=0, verbose=0)
    assert audit.trial.beats_popularity
    assert "alone did as well" not in audit.summary


def test_stated_loss_gives_the_formula():
    table, _ = blocks_table(60, 12)
    p = np.clip(np.random.default_rng(0).random(table.shape), 0.01, 0.6)
    audit = fz.audit(table, probabilities=p, loss=0.3)
    present = 0.3 * p / (0.7 * (1 - p))
    assert np.allclose(audit.present.to_numpy(), present)
    assert np.allclose(audit.again.to_numpy(), 0.7 * present)
    assert "By your loss rate of 0.3" in audit.summary


def test_stated_loss_that_contradicts_the_table_is_said():
    table, _ = blocks_table(60, 12)
    audit = fz.audit(table, probabilities=np.full(table.shape, 0.8), loss=0.3)
    found = table.to_numpy().sum(axis=0)
    most = (found + 1) / (found + 2)
    expected = most * 0.3 / (1 - most * 0.7)
    assert np.allclose(audit.present.to_numpy(), expected)
    assert audit.present.to_numpy().max() < 1
    assert "more often than that allows" in audit.summary


def test_known_rates_order_the_zeros_better():
    """A row that is searched badly hides more."""
    rng = np.random.default_rng(1)
    _, there = blocks_table(150, 24, 0.0)
    rates = rng.choice([0.95, 0.3], size=150)
    seen = there & (rng.random(there.shape) < rates[:, None])
    audit = fz.audit(seen, probabilities=fz.Beals(), random_state=0)
    known = fz.audit(seen, probabilities=fz.Beals(), detection=rates, random_state=0)
    zero = ~seen
    plain = roc_auc_score(there[zero], audit.expected.to_numpy()[zero])
    assert roc_auc_score(there[zero], known.present.to_numpy()[zero]) > plain + 0.01


def test_checked_zeros_are_not_listed():
    table, _ = blocks_table(60, 12)
    p = np.full(table.shape, 0.7)
    audit = fz.audit(table, probabilities=p)
    first = next(cells(audit.zeros))
    left = fz.audit(table, probabilities=p, certain=[first])
    assert len(left.zeros) == len(audit.zeros) - 1
    assert first not in set(cells(left.zeros))


def test_checked_zeros_hold_nothing():
    table, _ = blocks_table(60, 12)
    p, X = np.full(table.shape, 0.7), table.to_numpy()
    zero, one = (tuple(np.argwhere(value == X)[0]) for value in (0, 1))
    sure = np.zeros(X.shape, bool)
    sure[zero] = sure[one] = True
    plain = fz.audit(table, probabilities=p, loss=0.2)
    known = fz.audit(table, probabilities=p, loss=0.2, certain=sure)
    for name in ("present", "again"):
        before, after = (np.asarray(getattr(audit, name)) for audit in (plain, known))
        assert before[zero] > 0.1
        assert after[zero] == 0
        assert after[one] == before[one]
        assert (after != before).sum() == 1


def test_probabilities_cannot_be_tested():
    table, _ = blocks_table(60, 12)
    audit = fz.audit(table, probabilities=np.full(table.shape, 0.7))
    assert audit.trial is None
    assert "nothing could be hidden and tested" in audit.summary


def test_any_estimator_is_tried():
    table, _ = blocks_table()
    audit = fz.audit(table, probabilities=fz.EASE(), random_state=0)
    assert audit.trial.beats_popularity
    assert "EASE" in audit.trial.table["method"]


@pytest.mark.parametrize("rates", [(0.05, 0.4), (0.6, 0.95)])
def test_independent_columns_name_no_zero(rates):
    rng = np.random.default_rng(3)
    X = (rng.random((150, 20)) < rng.uniform(*rates, 20)).astype(float)
    audit = fz.audit(X, random_state=0, verbose=0)
    assert len(audit.zeros) == 0
    assert "No method did clearly better than how common each column is" in audit.summary


def test_missing_cells_are_neither_zeros_nor_ones():
    table, _ = blocks_table(80, 12)
    X = table.to_numpy()
    X[:10, 0] = np.nan
    audit = fz.audit(X, probabilities=fz.EASE(), random_state=0)
    assert not any(r < 10 and c == 0 for r, c in cells(audit.zeros))
    assert audit.columns["found"][0] == np.nansum(X[:, 0])


def test_sparse_and_dense_agree():
    table, _ = blocks_table(80, 12)
    dense = fz.audit(table.to_numpy(), probabilities=fz.EASE(), random_state=0)
    thin = fz.audit(sp.csr_array(table.to_numpy()), probabilities=fz.EASE(), random_state=0)
    assert np.allclose(dense.expected.to_numpy(), thin.expected.to_numpy())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones((4, 4)), "no zeros"),
        (np.zeros((4, 4)), "no ones"),
        (np.array([[1.0, 0, 1]]), "1 row"),
        (np.array([[1.0], [0]]), "1 column"),
        (np.full((3, 3), np.nan), "missing"),
        (np.array([[1.0, 2], [0, 1]]), "zeros and ones"),
    ],
)
def test_tables_that_cannot_be_audited(given, message):
    with pytest.raises(DataError, match=message) as problem:
        fz.audit(given)
    assert str(problem.value).count(". ") == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"probabilities": np.ones((3, 3))}, "shape"),
        ({"probabilities": np.full((60, 12), 1.5)}, "from 0 to 1"),
        ({"probabilities": np.full((60, 12), np.nan)}, "from 0 to 1"),
        ({"loss": 30}, "between 0 and 1"),
        ({"loss": 0.3, "detection": np.ones(60)}, "give one of them"),
        ({"detection": np.ones(7)}, "7 rates"),
        ({"detection": np.zeros(60)}, "above 0"),
        ({"detection": {"site 99": 0.5}}, "site 99"),
        ({"certain": [("site 0", "genus 99")]}, "genus 99"),
        ({"certain": [("site 0",)]}, "certain= needs a list of"),
        ({"certain": 7}, "certain= needs a list of"),
    ],
)
def test_statements_that_make_no_sense(options, message):
    table, _ = blocks_table(60, 12)
    with pytest.raises(DataError, match=message):
        fz.audit(table, **options)


def test_importing_the_package_does_not_hide_the_function():
    import falsezero.audit

    assert callable(falsezero.audit)
    table, _ = blocks_table(60, 12)
    found = falsezero.audit(table, probabilities=np.full(table.shape, 0.7))
    assert isinstance(found, fz.Audit)
