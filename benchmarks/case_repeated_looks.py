"""Looking more than once: the next visit predicted, and annotators told apart.

python -m benchmarks.case_repeated_looks --methods audit,constant    # some methods
python -m benchmarks repeated_looks                                  # the published run

Visits 1 and 2 are fitted, and visit 3 is predicted in the cells that had no one so far: log loss
and AUC. Annotators of photographs: AUC of the answers "no" and "yes" that are wrong, and the share
of photographs judged rightly.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.harness import ROOT
from benchmarks.looks_methods import ANNOTATORS, VISITS, VisitTask
from benchmarks.ranking import markdown

RESULTS = ROOT / "benchmarks" / "repeated_looks.csv"
COLUMNS = ("data", "method", "measure", "value")
FEWEST_SITES = 3
"""A species counts where the fitted visits saw it at so many sites."""
YEARS = range(1999, 2019)
RIVALS = ("AspectBernoulli", "biolith with variables", "biolith with dates")
KEPT = ("biolith", "crowd-kit")
"""Rivals that are slow: their rows are kept where the tracked file has them."""

Row = dict[str, Any]


def run(quick: bool) -> list[Row]:
    """The published run: all methods on all data, the slow rivals only where not yet measured."""
    if quick:
        _print(list(_measure_visits(_made_up(), ["audit", "AspectBernoulli", "constant"])))
        return []
    known = [row for row in read() if row["method"].startswith(KEPT)]
    collect([*VISITS, *ANNOTATORS], known)
    return []


def collect(names: list[str], known: list[Row]) -> list[Row]:
    """Measure what is not known yet, and write each result as soon as it is there."""
    rows = list(known)
    done = {(row["data"], row["method"]) for row in rows}
    for task in (swiss(), *hubbard_brook()):
        todo = [name for name in names if name in VISITS and (task.name, name) not in done]
        for row in _measure_visits(task, todo):
            rows.append(row)
            write(rows)
    todo = [name for name in names if name in ANNOTATORS and ("bluebirds", name) not in done]
    rows += _measure_annotators(todo)
    write(rows)
    _print(rows)
    return rows


# -- what is predicted --------------------------------------------------------------------------


def swiss() -> VisitTask:
    """Sites with three visits, and species that the first two saw at three sites or more."""
    from falsezero.datasets import load_swiss_birds

    data = load_swiss_birds()
    return _task("Swiss birds", data, ("elevation", "forest"))


def hubbard_brook() -> Iterator[VisitTask]:
    """Every year with a third visit, points with all three."""
    from falsezero.datasets import load_hubbard_brook

    for year in YEARS:
        data = load_hubbard_brook(year)
        if (~np.isnan(data.looks).any(axis=(1, 2))).sum() >= 100:
            yield _task(f"Hubbard Brook {year}", data, ("elevation", "slope"))


def _task(name: str, data: Any, known: tuple[str, ...]) -> VisitTask:
    """Two visits to the sites that had three, and the dates of all of them."""
    whole = ~np.isnan(data.looks).any(axis=(1, 2))
    looks, dates = data.looks[whole], data.look_info["date"][whole]
    looks = looks[:, :, (looks[:, :2] == 1).any(axis=1).sum(axis=0) >= FEWEST_SITES]
    sites = {each: np.asarray(data.row_info[each])[whole] for each in known}
    return VisitTask(name, looks[:, :2], sites, dates[:, :2], looks[:, 2], dates[:, 2])


def _made_up() -> VisitTask:
    from falsezero.datasets import make_looks

    values = make_looks(80, 20, 3, 2, random_state=0).looks.to_numpy()
    dates = np.tile([1.0, 2.0, 3.0], (80, 1))
    return VisitTask("made up", values[:, :2], {}, dates[:, :2], values[:, 2], dates[:, 2])


# -- measuring ----------------------------------------------------------------------------------


def _measure_visits(task: VisitTask, names: list[str]) -> Iterator[Row]:
    seen = task.later[task.unseen]
    for name in names:
        found, seconds = _timed(VISITS[name], task)
        if found is None:
            continue
        p = np.clip(found[task.unseen], 1e-6, 1 - 1e-6)
        measures = {"log loss": log_loss(seen, p), "AUC": roc_auc_score(seen, p)}
        measures |= {"predicted": p.mean(), "seen": seen.mean(), "seconds": seconds}
        yield from _rows(task.name, name, measures)


def _measure_annotators(names: list[str]) -> list[Row]:
    from falsezero.datasets import load_bluebirds

    data = load_bluebirds()
    labels, truth = data.table.to_numpy(), np.asarray(data.target)
    each, zero = np.broadcast_to(truth[:, None], labels.shape), labels == 0
    rows: list[Row] = []
    for name in names:
        found, seconds = _timed(ANNOTATORS[name], labels)
        if found is None:
            continue
        p = np.broadcast_to(found[:, None], labels.shape)
        measures = {
            "AUC of false zeros": roc_auc_score(each[zero], p[zero]),
            "AUC of false ones": roc_auc_score(1 - each[~zero], 1 - p[~zero]),
            "accuracy": ((found > 0.5) == truth).mean(),
            "seconds": seconds,
        }
        rows += _rows("bluebirds", name, measures)
    return rows


def _timed(method: Any, given: Any) -> tuple[np.ndarray | None, float]:
    """What a method says and its processor seconds; None where its library is missing."""
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = method(given)
    except ImportError as error:
        print(f"  left out: {error}", file=sys.stderr)
        return None, 0.0
    return found, time.process_time() - began


def _rows(data: str, method: str, measures: dict[str, Any]) -> list[Row]:
    return [
        {"data": data, "method": method, "measure": name, "value": float(value)}
        for name, value in measures.items()
    ]


# -- the tracked file ---------------------------------------------------------------------------


def read() -> list[Row]:
    """Tracked rows, one a data set, method and measure."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as stream:
        return [{**row, "value": float(row["value"])} for row in csv.DictReader(stream)]


def write(rows: list[Row]) -> None:
    """Write all rows, sorted, so that a change shows where it is."""
    with RESULTS.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in sorted(rows, key=lambda row: tuple(row[name] for name in COLUMNS[:3])):
            writer.writerow({**row, "value": f"{row['value']:.5g}"})


def page(rows: list[Row]) -> str:
    """The tables of docs/benchmarks.md: Swiss birds, Hubbard Brook year by year, annotators."""
    values = {(row["data"], row["method"], row["measure"]): row["value"] for row in rows}
    years = sorted({row["data"] for row in rows if row["data"].startswith("Hubbard Brook")})
    body = []
    for method in VISITS:
        if ("Swiss birds", method, "AUC") not in values:
            continue
        swiss = [values["Swiss birds", method, name] for name in ("log loss", "AUC", "seconds")]
        each = [year for year in years if (year, method, "AUC") in values]
        means = [
            np.mean([values[year, method, name] for year in each]) if each else np.nan
            for name in ("log loss", "AUC", "seconds")
        ]
        wins = sum(_is_best(values, year, method) for year in each)
        mean_words = _figures(means) if each else ("", "", "")
        won = "" if method in RIVALS or not each else f"{wins} of {len(each)}"
        body.append((method, *_figures(swiss), *mean_words, won))
    visits = markdown(
        ("method", "Swiss birds: log loss", "AUC", "CPU s", f"{len(years)} years: log loss", "AUC",
         "CPU s", "no worse than the better rival"),
        body,
    )  # fmt: skip
    names = ("AUC of false zeros", "AUC of false ones", "accuracy")
    known = [method for method in ANNOTATORS if ("bluebirds", method, "accuracy") in values]
    told = [
        (method, *(f"{values['bluebirds', method, name]:.3f}" for name in names))
        for method in known
    ]
    return f"{visits}\n\n{markdown(('bluebirds', *names), told)}"


def _figures(numbers: Any) -> tuple[str, str, str]:
    loss, auc, seconds = numbers
    return f"{loss:.4f}", f"{auc:.3f}", f"{seconds:.3g}"


def _is_best(values: dict[Any, float], year: str, method: str) -> bool:
    """Whether a method's log loss is no worse than that of either rival, to four digits."""
    rivals = [
        values[year, name, "log loss"] for name in RIVALS if (year, name, "log loss") in values
    ]
    return bool(rivals) and round(values[year, method, "log loss"], 4) <= round(min(rivals), 4)


def _print(rows: list[Row]) -> None:
    for data, method in dict.fromkeys((row["data"], row["method"]) for row in rows):
        here = [row for row in rows if (row["data"], row["method"]) == (data, method)]
        said = "  ".join(f"{row['measure']} {row['value']:.4g}" for row in here)
        print(f"{data:20} {method:24} {said}")


def main(words: list[str] | None = None) -> int:
    """Measure some methods; what the tracked file has of others is kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.case_repeated_looks")
    parser.add_argument("--quick", action="store_true", help="made-up visits, no data needed")
    parser.add_argument("--methods", help="names separated by commas; measured anew")
    arguments = parser.parse_args(words)
    if arguments.quick:
        run(True)
        return 0
    names = arguments.methods.split(",") if arguments.methods else [*VISITS, *ANNOTATORS]
    unknown = sorted(set(names) - set(VISITS) - set(ANNOTATORS))
    if unknown:
        parser.error(f"there is no method {unknown[0]!r}")
    collect(names, [row for row in read() if row["method"] not in names])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
