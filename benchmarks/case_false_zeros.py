"""The main job: which recorded zeros are false? `fz.audit` against rivals, on real tables.

python -m benchmarks.case_false_zeros --open --methods audit,EASE    # while developing
python -m benchmarks.case_false_zeros --quick                        # seconds, needs no data
python -m benchmarks false_zeros                                     # the published run, all tables
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks import false_zero_methods as methods
from benchmarks import false_zero_tables as tables
from benchmarks import ranking
from benchmarks.harness import THREAD_LIMITS

KEY = ("table", "scheme", "seed", "method")


def run(quick: bool) -> list[dict[str, Any]]:
    """The published run: everything that the tracked file lacks, and our default anew."""
    if quick:
        rows = list(measured(_small(), [*methods.IN_HOUSE, "popularity"]))
        print(ranking.text(rows))
        return []
    halves = ("open", "closed", "truth")
    kept = [row for row in ranking.read() if row["method"] != methods.OURS]
    rows = collect(halves, list(methods.METHODS), kept, ranking.write, jobs=os.cpu_count() or 1)
    print(ranking.text(rows))
    return []


def collect(
    halves: Iterable[str],
    names: list[str],
    known: list[dict[str, Any]],
    keep: Any = None,
    jobs: int = 1,
) -> list[dict[str, Any]]:
    """Rows of all tables and methods; those that are known already are not measured again."""
    rows = list(known)
    done = {tuple(row[name] for name in KEY) for row in rows}
    work = [(table, name) for table in _tables(halves) for name in names]
    with ProcessPoolExecutor(jobs) as pool:
        asked = [pool.submit(_measure, table, name, done) for table, name in work]
        for (table, name), answer in zip(work, asked, strict=True):
            try:
                rows += answer.result()
                note = ""
            except ImportError as error:
                note = f" left out: {error}"
            print(f"  {table}: {name}{note}", file=sys.stderr, flush=True)
            if keep is not None:
                keep(rows)
    return rows


def _measure(table: str, name: str, done: set[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """All that one method has to do on one table, in a process of its own."""
    if name in methods.DENSE_ONLY and table in tables.LARGE:
        return []
    if all((table, scheme, seed, name) in done for scheme, seed in _planned(table)):
        return []
    tasks = [tables.truth(table)] if table in tables.TRUTH else tables.planted(table)
    wanted = (t for t in tasks if (t.table, t.scheme, t.seed, name) not in done)
    return list(measured(wanted, [name]))


def _planned(table: str) -> list[tuple[str, int]]:
    if table in tables.TRUTH:
        return [("truth", 0)]
    return [(scheme, seed) for scheme in tables.SCHEMES for seed in tables.seeds_of(table)]


def measured(tasks: Iterable[tables.Task], names: list[str]) -> Iterator[dict[str, Any]]:
    """Rank the zeros of each task by each method; average precision, AUC, seconds."""
    for task in tasks:
        zeros = task.zeros
        is_false = task.is_false[zeros]
        for name in names:
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores = methods.find(name)(task.observed)[zeros]
            seconds = time.perf_counter() - began
            yield {
                "table": task.table,
                "half": task.half,
                "scheme": task.scheme,
                "seed": task.seed,
                "method": name,
                "average_precision": float(average_precision_score(is_false, scores)),
                "auc": float(roc_auc_score(is_false, scores)),
                "seconds": seconds,
            }


def _tables(halves: Iterable[str]) -> list[str]:
    lists = {"open": tables.OPEN, "closed": tables.CLOSED, "truth": tables.TRUTH}
    return [name for half in halves for name in lists[half]]


def _small() -> Iterator[tables.Task]:
    """One made-up table under the three schemes."""
    from falsezero.datasets import make_aspect_bernoulli

    values = make_aspect_bernoulli(80, 20, 3, random_state=0).table.to_numpy()
    for scheme in tables.SCHEMES:
        hidden = tables.hide(values, scheme, np.random.default_rng(0))
        yield tables.Task("made up", "open", scheme, 0, *hidden)


def main(words: list[str] | None = None) -> int:
    """Measure some methods on some tables and print the ranking."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.case_false_zeros")
    for half in ("open", "closed", "truth"):
        parser.add_argument(f"--{half}", action="append_const", dest="halves", const=half)
    parser.add_argument("--quick", action="store_true", help="a made-up table, no data needed")
    parser.add_argument("--methods", help="names separated by commas; module:function for yours")
    parser.add_argument("--results", type=Path, help="CSV file to resume from and to write")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    arguments = parser.parse_args(words)
    if arguments.quick:
        run(True)
        return 0
    names = arguments.methods.split(",") if arguments.methods else list(methods.METHODS)
    for name in names:
        methods.find(name)
    known, keep = [], None
    if arguments.results is not None:
        known = ranking.read(arguments.results)

        def keep(rows: list[dict[str, Any]]) -> None:
            ranking.write(rows, arguments.results)

    rows = collect(arguments.halves or ["open"], names, known, keep, arguments.jobs)
    print(ranking.text(rows))
    return 0


if __name__ == "__main__":
    os.environ |= dict.fromkeys(THREAD_LIMITS, "1")
    raise SystemExit(main())
