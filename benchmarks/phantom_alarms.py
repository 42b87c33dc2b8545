"""How often `phantom_test` errs: false alarms on clean tables, and losses by row that it misses.

python -m benchmarks.phantom_alarms --tables 20     # the published count, minutes
python -m benchmarks.phantom_alarms --tables 2      # a trial of the script
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

import falsezero as fz

DENSITIES = (0.03, 0.2, 0.5, 0.9)
LOSSES = (0.6, 0.3)
CONTENT = 3
SHAPE = (400, 50)


def clean_table(density: float, seed: int) -> Any:
    """Three causes, most rows near one of them, columns nearly on or off, a share of ones."""
    beta = (0.6 * density, 0.6 * (1 - density))
    made = fz.datasets.make_aspect_bernoulli(
        *SHAPE, CONTENT, concentration=0.2, shape=beta, random_state=seed
    )
    return made.table


def settings(n_tables: int) -> Iterator[tuple[str, int, int]]:
    """Name of a setting, how often the test said yes, and of how many."""
    for density in DENSITIES:
        for extra in (0, 1):
            found = [
                fz.phantom_test(clean_table(density, seed), CONTENT + extra, random_state=0).found
                for seed in range(n_tables)
            ]
            yield f"clean, {density:g} ones, {CONTENT + extra} components", sum(found), len(found)
    for omit in LOSSES:
        found = []
        for seed in range(n_tables):
            spoilt = fz.corrupt(clean_table(0.4, seed), omit=omit, random_state=seed)
            found.append(fz.phantom_test(spoilt, CONTENT + 1, random_state=0).found)
        yield f"losses by row, omit={omit:g}", sum(found), len(found)


def main(words: list[str] | None = None) -> int:
    """Print one line a setting, as soon as it is counted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.phantom_alarms")
    parser.add_argument("--tables", type=int, default=20, help="tables a setting")
    arguments = parser.parse_args(words)
    with np.errstate(all="raise", under="ignore"):
        for name, found, total in settings(arguments.tables):
            print(f"{name:42} found in {found} of {total}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
