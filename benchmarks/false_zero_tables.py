"""Tables with false zeros whose places are known: finds hidden on purpose, or found later.

The list was fixed before this benchmark first ran. Whoever develops a method may look at the "open"
half; the "closed" half is for the published run alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse

from benchmarks.harness import ROOT
from falsezero import datasets

SCHEMES = ("cell", "row", "column")
"""Losses: 0.15 everywhere; one rate a row, or one a column, uniform on [0, 0.5]."""

SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Task:
    """What was recorded, and which of the recorded zeros are false."""

    table: str
    half: str
    scheme: str
    seed: int
    observed: Any
    is_false: np.ndarray

    @property
    def zeros(self) -> np.ndarray:
        """Where a zero was recorded."""
        return _dense(self.observed) == 0


def _dense(values: Any) -> np.ndarray:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def _common(values: Any, n_rows: int, n_columns: int, skip: int = 0) -> Any:
    """Evenly spread rows and the most common columns (after the first `skip`) as zeros and ones."""
    ones = sparse.csr_array(values > 0).astype(float)
    order = np.argsort(-ones.sum(axis=0), kind="stable")[skip : skip + n_columns]
    rows = np.linspace(0, ones.shape[0] - 1, min(n_rows, ones.shape[0])).astype(int)
    return ones[rows][:, np.sort(order)]


def _frequent(values: Any, in_row: int, in_column: int) -> np.ndarray:
    """Columns with enough ones, then rows with enough ones in them."""
    ones = sparse.csr_array(values > 0).astype(float)
    ones = ones[:, ones.sum(axis=0) >= in_column]
    return ones[ones.sum(axis=1) >= in_row].toarray()


def _swiss_visits() -> np.ndarray:
    """Sites with three visits, species seen at three of them or more on the first."""
    looks = datasets.load_swiss_birds().looks
    return _often_seen(looks)


def _hubbard_visits() -> np.ndarray:
    return _often_seen(datasets.load_hubbard_brook(2015).looks)


def _often_seen(looks: Any) -> np.ndarray:
    whole = looks[~np.isnan(looks).any(axis=(1, 2))]
    return whole[:, :, whole[:, 0].sum(axis=0) >= 3]


def _words(name: str, n_rows: int, n_columns: int, skip: int = 0) -> Any:
    values = getattr(datasets, f"load_{name}")().table.values
    return _common(values, n_rows, n_columns, skip)


OPEN: dict[str, Callable[[], Any]] = {
    "fossils g5s5": lambda: datasets.load_fossils("g5s5").table.to_numpy(),
    "mfeat digits": lambda: datasets.load_mfeat_digits().table.to_numpy()[::2],
    "newsgroups w100": lambda: datasets.load_newsgroups_w100().table.to_numpy()[::8],
    "statisticians top 40": lambda: datasets.load_statisticians().table.to_numpy(),
    "election": lambda: datasets.load_polca("election").table.to_numpy(),
    "senate": lambda: datasets.load_senate().table.to_numpy(),
    "cora words": lambda: _words("cora", 1000, 300).toarray(),
    "Swiss birds visit 1": lambda: _swiss_visits()[:, 0],
    "imdb 30000 x 600": lambda: _words("imdb_reviews", 30000, 600, skip=1500),
}
CLOSED: dict[str, Callable[[], Any]] = {
    "usps digits": lambda: datasets.load_usps().table.to_numpy()[::6],
    "newsgroups4": lambda: datasets.load_newsgroups4().table.to_numpy(),
    "polblogs": lambda: _frequent(datasets.load_polblogs().table.values, 5, 20),
    "citeseer words": lambda: _words("citeseer", 1000, 300).toarray(),
    "epub": lambda: _frequent(datasets.load_epub().table.values, 3, 20),
    "carcinoma": lambda: datasets.load_polca("carcinoma").table.to_numpy(),
    "reuters": lambda: _words("reuters395", 395, 400).toarray(),
    "kos": lambda: _words("kos", 1500, 300).toarray(),
    "golub calls": lambda: datasets.load_golub().table.to_numpy()[:, ::18],
    "Hubbard Brook 2010": lambda: datasets.load_hubbard_brook(2010).table.to_numpy(),
}
TRUTH = ("Swiss birds", "Hubbard Brook 2015", "finds.csv")
"""Sets whose false zeros were not planted: seen on a later visit, or known to have lived there."""

LARGE = ("imdb 30000 x 600",)
"""Tables that are ranked once a scheme, whatever the number of seeds."""


def seeds_of(name: str) -> tuple[int, ...]:
    """The seeds that a table is spoilt with."""
    return SEEDS[:1] if name in LARGE else SEEDS


def planted(name: str, seeds: tuple[int, ...] | None = None) -> Iterator[Task]:
    """A table under every scheme of losses and every seed."""
    half = "open" if name in OPEN else "closed"
    values = {**OPEN, **CLOSED}[name]()
    for scheme in SCHEMES:
        for seed in seeds or seeds_of(name):
            rng = np.random.default_rng([seed, SCHEMES.index(scheme), crc32(name.encode())])
            yield Task(name, half, scheme, seed, *hide(values, scheme, rng))


def hide(values: Any, scheme: str, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Turn some ones into zeros; the table, and where they are among all cells."""
    n_rows, n_columns = values.shape
    rates = {
        "cell": lambda: np.full((1, 1), 0.15),
        "row": lambda: rng.uniform(0, 0.5, (n_rows, 1)),
        "column": lambda: rng.uniform(0, 0.5, (1, n_columns)),
    }[scheme]()
    full = _dense(values)
    lost = (full == 1) & (rng.random(full.shape) < rates)
    left = np.where(lost, 0.0, full)
    return sparse.csr_array(left) if sparse.issparse(values) else left, lost


def truth(name: str) -> Task:
    """A table of first looks, and the zeros that turned out to be false."""
    if name == "finds.csv":
        import falsezero as fz

        folder = ROOT / "docs" / "data"
        lived = fz.read(folder / "lived.csv", row="site", column="animal")
        finds = fz.read(folder / "finds.csv", row="site", column="animal")
        columns = [lived.columns.tolist().index(each) for each in finds.columns]
        rows = [lived.rows.tolist().index(each) for each in finds.rows]
        found = finds.to_numpy()
        return Task(
            name, "truth", "truth", 0, found, lived.to_numpy()[np.ix_(rows, columns)] > found
        )
    visits = _swiss_visits() if name == "Swiss birds" else _hubbard_visits()
    first, later = visits[:, 0], visits[:, 1:].max(axis=1)
    return Task(name, "truth", "truth", 0, first, later > first)
