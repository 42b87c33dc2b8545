"""Simulation-based calibration of the posterior draws of repeated looks.

python -m benchmarks.looks_calibration                 # the tables of docs/checks.md
python -m benchmarks.looks_calibration --tables 5      # a quick look

Everything is drawn from the model's own prior: shapes, content, rates and what lies behind them,
presences, looks. The model is fitted as a user would. If it is right, the rank of a true value
among its posterior draws is uniform, and intervals of 50 and 90 % hold the truth that often (Talts
et al. 2018). Values of one table are dependent, so errors are those of means over tables.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import norm

import falsezero as fz
from benchmarks.ranking import markdown
from falsezero.models.convex.looks_moves import SPREAD_WIDTH
from falsezero.models.convex.repeated_looks import _ALARM, _SEEN

ROWS, COLUMNS, LOOKS, SIZE = 40, 15, 3, 2
SETTINGS: dict[str, dict[str, Any]] = {
    "columns differ": {},
    "cells differ": {"heterogeneity": "learn"},
    "rows and cells differ": {"heterogeneity": "learn", "row_effects": True},
    "false alarms": {"false_alarms": True},
    "false alarms, cells differ": {"heterogeneity": "learn", "false_alarms": True},
}
LEVELS = (0.5, 0.9)
BINS = 5
_FINE = norm.ppf((np.arange(200) + 0.5) / 200)


class Truth(NamedTuple):
    """One table drawn from the prior."""

    looks: fz.Looks
    detection: np.ndarray
    present: np.ndarray


def drawn_table(options: dict[str, Any], rng: np.random.Generator) -> Truth:
    """Parameters from their priors, and looks given them."""
    shapes = 0.5 * np.exp(rng.normal(size=3))
    weights = rng.dirichlet(np.full(SIZE, shapes[2]), size=ROWS)
    content = np.clip(weights @ rng.beta(*shapes[:2], size=(SIZE, COLUMNS)), 0, 1)
    present = rng.random((ROWS, COLUMNS)) < content
    spread = abs(SPREAD_WIDTH * rng.normal()) if options.get("heterogeneity") else 0.0
    rates = _rates(_SEEN, rng)
    eta = rates + spread * rng.normal(size=present.shape)
    if options.get("row_effects"):
        eta = eta + np.sqrt(0.25 / rng.chisquare(1)) * rng.normal(size=(ROWS, 1))
    alarm = expit(_rates(_ALARM, rng)) if options.get("false_alarms") else 0.0
    p = np.where(present, expit(eta), alarm)
    values = rng.random((ROWS, LOOKS, COLUMNS)) < p[:, None]
    detection = expit(rates[:, None] + spread * _FINE).mean(axis=1)
    return Truth(fz.Looks(values.astype(float)), detection, present)


def _rates(prior: dict[str, float], rng: np.random.Generator) -> np.ndarray:
    """Log odds of the columns, around a centre of their own."""
    centre = prior["level"] + prior["level_width"] * rng.normal()
    width = prior["width"] / np.sqrt(rng.chisquare(1))
    return np.asarray(centre + width * rng.normal(size=COLUMNS))


def judged(truth: Truth, options: dict[str, Any], seed: int, n_draws: int) -> dict[str, np.ndarray]:
    """Shares of a table's values in each bin of ranks and in each interval, by kind of value."""
    model = fz.RepeatedLooks(
        SIZE, inference="gibbs", n_draws=n_draws, random_state=seed, **options
    ).fit(truth.looks)
    found = model._answers(truth.looks)
    kinds = {
        "detection": (truth.detection, model.detection_draws_),
        "present in a column": (truth.present.sum(axis=0), found.by_columns),
        "present in a row": (truth.present.sum(axis=1), found.by_rows),
    }
    rng = np.random.default_rng(seed)
    return {name: _shares(*pair, rng) for name, pair in kinds.items()}


def _shares(true: np.ndarray, draws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Ranks by bin (ties at random), then the share inside the central intervals by rank."""
    below, equal = (draws < true).sum(axis=0), (draws == true).sum(axis=0)
    rank = (below + rng.integers(0, equal + 1)) / (len(draws) + 1)
    rank += rng.random(rank.shape) / (len(draws) + 1)
    bins = np.bincount((BINS * rank).astype(int), minlength=BINS) / len(rank)
    inside = [(np.abs(rank - 0.5) < level / 2).mean() for level in LEVELS]
    return np.array([*inside, *bins])


def measure(name: str, n_tables: int, n_draws: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Means and their errors over tables, 2 x (intervals and bins), by kind of value."""
    parts: dict[str, list[np.ndarray]] = {}
    for number in range(n_tables):
        rng = np.random.default_rng([seed, number, list(SETTINGS).index(name)])
        truth = drawn_table(SETTINGS[name], rng)
        if truth.looks.ones.any():
            for kind, shares in judged(truth, SETTINGS[name], number, n_draws).items():
                parts.setdefault(kind, []).append(shares)
    return {
        kind: np.stack([np.mean(each, axis=0), np.std(each, axis=0) / np.sqrt(len(each))])
        for kind, each in parts.items()
    }


def page_rows(name: str, found: dict[str, np.ndarray]) -> list[tuple[str, ...]]:
    """Lines of the table of docs/checks.md."""
    return [
        (name, kind, *(f"{100 * m:.0f} ± {100 * e:.0f}" for m, e in means.T))
        for kind, means in found.items()
    ]


def main(words: list[str] | None = None) -> int:
    """Measure all settings, or some, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.looks_calibration")
    parser.add_argument("--tables", type=int, default=100, help="tables drawn for each setting")
    parser.add_argument("--draws", type=int, default=200, help="posterior draws of each fit")
    parser.add_argument("--setting", choices=SETTINGS, action="append", help="default: all")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(words)
    head = ("setting", "value", "50 %", "90 %", *(f"fifth {i + 1}" for i in range(BINS)))
    rows = []
    for name in arguments.setting or SETTINGS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = measure(name, arguments.tables, arguments.draws, arguments.seed)
        rows += page_rows(name, found)
        print(f"{name}: {rows[-3:]}", file=sys.stderr, flush=True)
    print(markdown(head, rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
