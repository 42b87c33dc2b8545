"""Looks kept as lists say the same as looks kept as arrays, and take less memory."""

import numpy as np
import pandas as pd
import pytest

import falsezero as fz
from falsezero.data import look_lists
from falsezero.data.errors import DataError, FileReadError
from falsezero.data.look_blocks import LookBlocks
from falsezero.data.look_rows import join_row_variables
from falsezero.data.look_store import DenseLooks, ListedLooks
from falsezero.models.convex.looks_average import hold_out_last_look

NAN = np.nan


def some_values(seed=0, shape=(9, 6, 4)):
    """Zeros and ones; some looks did not take place and some did not cover all columns."""
    rng = np.random.default_rng(seed)
    values = (rng.random(shape) < 0.3).astype(float)
    values[rng.random(shape[:2]) < 0.3] = NAN
    values[rng.random(shape) < 0.15] = NAN
    values[0], values[1, :5], values[2, 1:] = NAN, NAN, NAN
    return values


def both(values, **named):
    """The same looks as arrays and as lists."""
    dense = fz.Looks(values, **named)
    taken = ~np.isnan(values).all(axis=2)
    missed = np.argwhere(np.isnan(values) & taken[..., None])
    found = np.argwhere(values == 1)
    listed = fz.Looks.from_finds(found, taken, values.shape[2], missed=missed, **named)
    assert isinstance(dense.store, DenseLooks)
    assert isinstance(listed.store, ListedLooks)
    return dense, listed


def dressed(seed=0):
    rng = np.random.default_rng(seed)
    return both(
        some_values(seed),
        rows=[f"trap {i}" for i in range(9)],
        looks=[f"night {i}" for i in range(6)],
        columns=["fox", "hare", "lynx", "deer"],
        observers=np.where(rng.random((9, 6)) < 0.5, "Ada", "Bo"),
        variables={"rain": rng.random((9, 6))},
        row_variables={"height": rng.random(9)},
    )


def same(one, other):
    np.testing.assert_array_equal(one.ones, other.ones)
    np.testing.assert_array_equal(one.tries, other.tries)
    np.testing.assert_array_equal(one.took_place, other.took_place)
    for mine, yours in zip(one.counts, other.counts, strict=True):
        np.testing.assert_array_equal(mine, yours)
    assert one.equals(other)
    assert other.equals(one)
    assert repr(one) == repr(other)


def test_lists_say_what_arrays_say():
    dense, listed = dressed()
    same(dense, listed)
    assert listed.union().equals(dense.union())
    assert listed.look("night 3").equals(dense.look("night 3"))
    np.testing.assert_array_equal(listed.to_numpy(), dense.to_numpy())
    same(dense.pooled(), listed.pooled())


@pytest.mark.parametrize(
    "chosen",
    [
        {"rows": slice(2, 6)},
        {"columns": ["deer", "fox"]},
        {"looks": [4, 1], "columns": [1]},
        {"rows": [7, 3], "looks": ["night 5"]},
    ],
)
def test_selections_agree(chosen):
    dense, listed = dressed()
    same(dense.select(**chosen), listed.select(**chosen))
    assert isinstance(listed.select(**chosen).store, ListedLooks)


def test_a_difference_is_noticed():
    values = some_values()
    dense, listed = both(values)
    row, look, column = np.argwhere(values == 0)[0]
    for new in (1.0, NAN):
        changed = values.copy()
        changed[row, look, column] = new
        assert not both(changed)[0].equals(listed)
        assert not both(changed)[1].equals(listed)
        assert not listed.equals(both(changed)[0])
    counted = fz.Looks(dense.ones, 2 * dense.tries)
    assert not counted.equals(listed)
    assert not listed.equals(listed.select(rows=slice(0, 3)))


def test_saved_lists_come_back_as_lists(tmp_path):
    _, listed = dressed()
    listed.save(tmp_path / "nights.npz")
    back = fz.read(tmp_path / "nights.npz")
    assert isinstance(back.store, ListedLooks)
    same(listed.with_store(listed.store, name="nights"), back)
    with np.load(tmp_path / "nights.npz") as kept:
        arrays = {name: kept[name] for name in kept.files if name != "missed"}
    np.savez(tmp_path / "torn.npz", **arrays)
    with pytest.raises((FileReadError, DataError)):
        fz.read(tmp_path / "torn.npz")


@pytest.mark.parametrize("seed", range(3))
def test_the_last_look_is_held_out_alike(seed):
    dense, listed = both(some_values(seed))
    chosen = np.random.default_rng(seed).random(9) < 0.7
    a, b = (
        hold_out_last_look(looks, chosen, np.random.default_rng(1)) for looks in (dense, listed)
    )
    for name in ("rows", "columns", "hit"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert len(a.hit) > 5
    same(a.looks, b.looks)


def test_rows_that_nobody_looked_at_join_lists():
    dense, listed = dressed()
    sites = pd.DataFrame({"trap": [*dense.rows, "new"], "slope": np.arange(10.0)})
    bare = (looks.with_store(looks.store, row_variables={}) for looks in (dense, listed))
    joined = [join_row_variables(looks, sites, "trap") for looks in bare]
    same(*joined)
    assert joined[1].shape == (10, 6, 4)
    assert not joined[1].took_place[9].any()


# -- the model ------------------------------------------------------------------------------------


def test_blocks_hold_only_looks_that_took_place():
    values = some_values(shape=(40, 6, 4))
    values[:, 4:] = NAN
    dense, listed = both(values, variables={"rain": np.arange(6.0)})
    design = np.stack([np.ones((40, 6)), dense.variables["rain"]], axis=2)
    for looks in (dense, listed):
        [block] = LookBlocks.of(looks, design)
        most = int(looks.took_place.sum(axis=1).max())
        assert block.patterns.ones.shape == (40, most, 4)
        for n in (3, 17, 39):
            at = np.flatnonzero(looks.took_place[n])
            np.testing.assert_array_equal(block.patterns.ones[n, : len(at)], dense.ones[n, at])
            np.testing.assert_array_equal(block.patterns.tries[n, : len(at)], dense.tries[n, at])
            assert not block.patterns.tries[n, len(at) :].any()
            np.testing.assert_array_equal(block.patterns.design[n, : len(at), 1], at)


@pytest.mark.parametrize("inference", ["vb", "gibbs"])
@pytest.mark.parametrize("kind", ["alike", "with variables and observers"])
def test_models_answer_alike(inference, kind):
    rng = np.random.default_rng(0)
    made = fz.datasets.make_looks(40, 8, 5, 2, random_state=0).looks.to_numpy()
    made[rng.random((40, 5)) < 0.3] = NAN
    made[rng.random(made.shape) < 0.05] = NAN
    named = {}
    if kind != "alike":
        named = {"variables": {"date": rng.random((40, 5))}}
        named["observers"] = rng.integers(3, size=(40, 5))
    dense, listed = both(made, **named)
    options = {"inference": inference, "n_draws": 5, "tol": 1e-3, "random_state": 0}
    one, other = (fz.RepeatedLooks(2, **options).fit(looks) for looks in (dense, listed))
    np.testing.assert_array_equal(one.detection_, other.detection_)
    np.testing.assert_array_equal(one.present(dense).to_numpy(), other.present(listed).to_numpy())


def test_looks_that_did_not_take_place_change_nothing():
    """Slots of looks that nobody made, between those that were made."""
    made = fz.datasets.make_looks(30, 6, 3, 2, random_state=1).looks.to_numpy()
    wide = np.full((30, 9, 6), NAN)
    rng = np.random.default_rng(0)
    place = np.sort(rng.permuted(np.tile(np.arange(9), (30, 1)), axis=1)[:, :3], axis=1)
    wide[np.arange(30)[:, None], place] = made
    date, dates = rng.random((30, 3)), np.zeros((30, 9))
    dates[np.arange(30)[:, None], place] = date
    narrow = fz.Looks(made, variables={"date": date})
    spaced = fz.Looks(wide, variables={"date": dates})
    one, other = (
        fz.RepeatedLooks(2, tol=1e-4, random_state=0).fit(looks) for looks in (narrow, spaced)
    )
    np.testing.assert_allclose(one.detection_, other.detection_, rtol=1e-12)
    np.testing.assert_allclose(one.present(narrow), other.present(spaced), rtol=1e-10)


def test_averages_answer_alike():
    made = fz.datasets.make_looks(40, 8, 4, 2, random_state=0).looks.to_numpy()
    dense, listed = both(made)
    answers = [
        fz.LooksAverage(n_components=(2,), inference="vb", random_state=0).fit(looks).answers(looks)
        for looks in (dense, listed)
    ]
    for one, other in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, other)


# -- reading --------------------------------------------------------------------------------------


@pytest.fixture
def nights(tmp_path):
    """A list of finds, and the list of nights on which each trap stood."""
    rng = np.random.default_rng(0)
    taken = pd.DataFrame(np.argwhere(rng.random((6, 10)) < 0.6), columns=["trap", "night"])
    taken["rain"] = rng.random(len(taken)).round(3)
    some = taken.iloc[rng.choice(len(taken), 25)][["trap", "night"]].reset_index(drop=True)
    found = some.assign(species=rng.choice(["fox", "hare", "lynx"], 25), n=1).drop_duplicates()
    taken.to_csv(tmp_path / "nights.csv", index=False)
    found.to_csv(tmp_path / "found.csv", index=False)
    wide = found.pivot(index=["trap", "night"], columns="species", values="n").fillna(0)
    wide = taken.merge(wide.reset_index(), how="left")
    wide.loc[3, "fox"] = np.nan
    wide.fillna({"hare": 0, "lynx": 0}).to_csv(tmp_path / "wide.csv", index=False)
    return tmp_path


KEYS = {"row": "trap", "look": "night"}
WAYS = {
    "long": ("found.csv", {"column": "species", "surveyed": "nights.csv", "variables": "rain"}),
    "with values": ("found.csv", {"column": "species", "surveyed": "nights.csv", "value": "n"}),
    "unlisted": ("found.csv", {"column": "species"}),
    "wide": ("wide.csv", {"variables": "rain"}),
}


def read(folder, name, **options):
    if "surveyed" in options:
        options["surveyed"] = folder / options["surveyed"]
    return fz.read(folder / name, **KEYS, **options)


@pytest.mark.parametrize("way", WAYS)
def test_files_are_read_alike(nights, monkeypatch, way):
    name, options = WAYS[way]
    if way == "unlisted":
        frame = pd.read_csv(nights / name).drop(columns="n")
        frame.to_csv(nights / name, index=False)
    dense = read(nights, name, **dict(options))
    monkeypatch.setattr(look_lists, "LISTED_FROM", 1)
    listed = read(nights, name, **dict(options))
    assert isinstance(dense.store, DenseLooks)
    assert isinstance(listed.store, ListedLooks)
    assert dense.ones.sum() > 10
    same(dense, listed)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0,99,fox,1", "reports 'fox' on look 99 of row 0, which is not in the list of looks"),
        ("77,1,fox,1", "reports 'fox' on look 1 of row 77, which is not in the list of looks"),
        ("{first},0", "another value"),
        ("{first},3", "another value"),
    ],
)
@pytest.mark.parametrize("most", [1, 10**6])
def test_mistakes_are_named_alike(nights, monkeypatch, line, words, most):
    monkeypatch.setattr(look_lists, "LISTED_FROM", most)
    text = (nights / "found.csv").read_text().splitlines()
    first = text[1].rsplit(",", 1)[0]
    (nights / "found.csv").write_text("\n".join([*text, line.format(first=first), ""]))
    options = {"column": "species", "surveyed": "nights.csv", "value": "n"}
    with pytest.raises(DataError, match=words):
        read(nights, "found.csv", **options)


@pytest.mark.parametrize("most", [1, 10**6])
@pytest.mark.parametrize(
    ("value", "words"), [("3", "holds 3, but a look records 0 or 1"), ("0.5", "whole numbers")]
)
def test_values_of_single_looks_are_checked_alike(nights, monkeypatch, most, value, words):
    monkeypatch.setattr(look_lists, "LISTED_FROM", most)
    text = (nights / "found.csv").read_text().splitlines()
    text[1] = text[1].rsplit(",", 1)[0] + f",{value}"
    (nights / "found.csv").write_text("\n".join([*text, ""]))
    options = {"column": "species", "surveyed": "nights.csv", "value": "n"}
    with pytest.raises(DataError, match=words):
        read(nights, "found.csv", **options)
    assert read(nights, "found.csv", binarize=0, **options).ones.max() == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([[0, 0]], [[True]], 1), "three columns"),
        (([[0, 0, 0.5]], [[True]], 1), "whole numbers"),
        (([[0, 0, 2]], [[True]], 1), r"lists the cell \(0, 0, 2\)"),
        (([[0, -1, 0]], [[True]], 1), r"lists the cell \(0, -1, 0\)"),
        (([[0, 1, 0]], [[True, False]], 1), "says that there was no such look"),
        (([], [[1, 0]], 1), "True or False for every row and look"),
        (([], [[True]], 0), "n_columns= at least 1"),
    ],
)
def test_bad_lists_are_one_sentence(given, words):
    with pytest.raises(DataError, match=words):
        fz.Looks.from_finds(*given)


def test_a_find_that_its_look_did_not_cover_is_refused():
    with pytest.raises(DataError, match="both list column 1 at look 0 of row 0"):
        fz.Looks.from_finds([[0, 0, 1]], [[True]], 2, missed=[[0, 0, 1]])
    with pytest.raises(DataError, match="missed= lists column 1 at look 1 of row 0"):
        fz.Looks.from_finds([], [[True, False]], 2, missed=[[0, 1, 1]])


def test_many_nights_are_never_written_out(tmp_path):
    """300 traps x 2000 nights x 50 species would take 240 MB in every array of doubles."""
    import tracemalloc

    rng = np.random.default_rng(0)
    taken = rng.random((300, 2000)) < 0.05
    slots = np.argwhere(taken)
    some = slots[rng.integers(len(slots), size=4000)]
    found = np.column_stack([some, rng.integers(50, size=4000)])
    tracemalloc.start()
    looks = fz.Looks.from_finds(found, taken, 50, variables={"rain": rng.random((300, 2000))})
    looks.save(tmp_path / "nights.npz")
    back = fz.read(tmp_path / "nights.npz")
    held = hold_out_last_look(back, np.arange(300) % 3 == 0, rng)
    assert back.equals(looks)
    assert int(held.looks.counts[1].sum()) == 50 * (taken.sum() - 100)
    assert tracemalloc.get_traced_memory()[1] < 120e6
    tracemalloc.stop()
