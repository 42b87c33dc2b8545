"""Labels of several levels: kept through every change of a table, and handed back."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import falsezero as fz

PLOTS = pd.MultiIndex.from_product([["Alps", "Jura"], [3, 7, 9]], names=["region", "plot"])
GENERA = pd.MultiIndex.from_tuples(
    [("Suidae", "Sus"), ("Felidae", "Felis"), ("Felidae", "Lynx")], names=["family", None]
)
VALUES = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]])
FRAME = pd.DataFrame(VALUES, PLOTS, GENERA)


def test_a_frame_comes_back_as_it_went_in() -> None:
    table = fz.as_table(FRAME)
    assert table.rows.tolist()[:2] == ["Alps / 3", "Alps / 7"]
    assert table.columns.tolist()[0] == "Suidae / Sus"
    back = table.to_pandas()
    assert back.index.equals(PLOTS)
    assert back.index.names == PLOTS.names
    assert back.columns.equals(GENERA)
    assert (back.to_numpy() == VALUES).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table,
        lambda table: table.T.T,
        lambda table: table.with_values(VALUES),
        lambda table: fz.as_table(table, surveyed=np.ones(VALUES.shape, dtype=bool)),
        lambda table: pickle.loads(pickle.dumps(table)),
        lambda table: table[::-1][::-1],
    ],
)
def test_levels_follow_a_table(change) -> None:
    assert change(fz.as_table(FRAME)).to_pandas().index.equals(PLOTS)


def test_rows_are_picked_by_level() -> None:
    table = fz.as_table(FRAME)
    found = table.select(rows={"region": "Jura", "plot": [3, 9]}, columns={"family": "Felidae"})
    assert found.rows.tolist() == ["Jura / 3", "Jura / 9"]
    assert found.columns.tolist() == ["Felidae / Felis", "Felidae / Lynx"]
    assert found.row_levels["plot"].tolist() == [3, 9]
    with pytest.raises(fz.DataError, match="no level 'regoin'; did you mean 'region'"):
        table.select(rows={"regoin": "Jura"})
    with pytest.raises(fz.DataError, match="have one level"):
        fz.Table([[1]]).select(rows={"region": "Jura"})


def test_a_series_keeps_the_levels_before_the_last() -> None:
    series = FRAME.droplevel(0, axis=1).stack()
    table = fz.as_table(series)
    assert table.to_pandas().index.equals(PLOTS)
    assert table.shape == VALUES.shape


def test_a_list_of_cells_gets_a_column_per_level() -> None:
    table = fz.as_table(FRAME)
    model = fz.AspectBernoulli(2, random_state=0).fit(FRAME)
    found = fz.surprising_zeros(model, FRAME, n=3, min_expected=0.0)
    assert set(found["row"]) <= set(table.rows)
    split = table.add_levels(found)
    names = ["row", "region", "plot", "column", "family", "level 2"]
    assert split.columns[:6] == names
    joined = [f"{a} / {b}" for a, b in zip(split["region"], split["plot"], strict=True)]
    assert joined == found["row"].tolist()


def test_a_level_called_like_an_axis_has_a_name_of_its_own() -> None:
    frame = FRAME.rename_axis(index=["row", "column"])
    table = fz.as_table(frame)
    found = table.add_levels(fz.Tidy(row=["Jura / 9"], column=["Suidae / Sus"]))
    assert {"row row", "row column", "family"} <= set(found.columns)
    coordinates = pytest.importorskip("xarray") and table.to_xarray().coords
    assert coordinates["row"].values.tolist() == table.rows.tolist()
    assert coordinates["row column"].values.tolist() == [3, 7, 9] * 2


def test_groups_of_a_page_can_be_a_level() -> None:
    from falsezero.data.groups import row_groups

    table = fz.as_table(FRAME)
    assert row_groups(table.row_levels["region"], table.rows).names == ["Alps", "Jura"]
