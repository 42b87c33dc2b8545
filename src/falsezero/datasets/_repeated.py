"""Data sets whose cells were looked at more than once, or whose truth is known."""

from __future__ import annotations

import numpy as np

from falsezero.data.table import Table
from falsezero.datasets._store import Dataset, Folder, choose

__all__ = ["load_bluebirds", "load_hubbard_brook", "load_swiss_birds"]


def load_swiss_birds() -> Dataset:
    """267 Swiss sites x 158 breeding birds, visited up to three times in the spring of 2014.

    `table` has a one where a species was seen on some visit, and is not observed at the one site
    without visits; `looks` (sites x 3 visits x species) has each visit, NaN where there was none.
    `row_info` has elevation (m), forest (%) and coordinates of the sites, `look_info` date (days
    from 1 April) and duration (minutes) of the visits.
    """
    folder = Folder("swiss_birds_2014")
    arrays = folder.arrays("birds.npz")
    looks = _looks(arrays["counts"])
    table = Table(_seen(looks), arrays["sites"], arrays["species"], "Swiss birds")
    sites = {name: arrays[name] for name in ("elevation", "forest", "coordx", "coordy")}
    visits = {name: arrays[name] for name in ("date", "duration")}
    return folder.dataset(table, row_info=sites, looks=looks, look_info=visits)


def load_hubbard_brook(year: int = 2015) -> Dataset:
    """373 points of Hubbard Brook forest x 13 birds, visited up to three times a year.

    `year` is one of 1999 to 2018. `table` has a one where a species was seen on some visit of that
    year, and is not observed where a point was not visited; `looks` (points x 3 visits x species)
    has each visit, NaN where there was none. `row_info` has elevation and slope of the points,
    `look_info` date and time of the visits.
    """
    folder = Folder("hubbard_brook_birds")
    arrays = folder.arrays("birds.npz")
    years = arrays["years"].tolist()
    at = years.index(choose("year", str(year), tuple(years)))
    looks = _looks(arrays["counts"][:, :, at])
    table = Table(_seen(looks), None, arrays["species"], f"Hubbard Brook {year}")
    points = {name: arrays[name] for name in ("elevation", "slope")}
    visits = {name: arrays[name][:, :, at] for name in ("date", "time")}
    return folder.dataset(table, row_info=points, looks=looks, look_info=visits)


def load_bluebirds() -> Dataset:
    """108 photographs x 39 annotators who said whether they show an indigo bunting.

    `target` is the truth for each photograph. All columns are observers of the same thing.
    """
    folder = Folder("bluebirds_annotators")
    arrays = folder.arrays("labels.npz")
    truth = arrays["truth"].astype(np.int64)
    table = Table(arrays["X"], arrays["images"], arrays["annotators"], "bluebirds")
    return folder.dataset(table, target=truth, row_info={"truth": truth})


def _looks(counts: np.ndarray) -> np.ndarray:
    """One where something was counted, NaN where nobody looked (-1)."""
    return np.where(counts < 0, np.nan, counts > 0)


def _seen(looks: np.ndarray) -> np.ndarray:
    """One where some look saw it, NaN where nobody looked."""
    return np.where(np.isnan(looks).all(axis=1), np.nan, (looks == 1).any(axis=1))
