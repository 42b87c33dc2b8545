"""Run the comparisons and write their tables: `python -m benchmarks [--quick] [CASE ...]`."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
import traceback
import warnings
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks import table
from benchmarks.harness import THREAD_LIMITS

CASES = sorted(path.stem.removeprefix("case_") for path in Path(__file__).parent.glob("case_*.py"))


def main(words: list[str] | None = None) -> int:
    """Run the named cases, or all; each is written as soon as it has ended."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"one of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="small forms; nothing is written")
    parser.add_argument("--table", action="store_true", help="only draw the tables anew")
    arguments = parser.parse_args(words)
    unknown = sorted(set(arguments.cases) - set(CASES))
    if unknown:
        parser.error(f"there is no case {unknown[0]!r}; choose from {', '.join(CASES)}")
    if arguments.table:
        table.publish()
        return 0
    failed = [case for case in arguments.cases or CASES if not _alone(case, arguments.quick)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


def _alone(case: str, quick: bool) -> bool:
    """Run a case in a process of its own: times depend on the memory that earlier cases left."""
    child = get_context("fork").Process(target=lambda: sys.exit(not _run(case, quick)))
    child.start()
    child.join()
    return child.exitcode == 0


def _run(case: str, quick: bool) -> bool:
    """Run, show and write one case; whether nothing went wrong."""
    print(f"{case} ...", file=sys.stderr, flush=True)
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = import_module(f"benchmarks.case_{case}").run(quick)
        if not quick:
            table.replace(case, rows)
            table.publish()
    except (ImportError, FileNotFoundError) as error:
        print(f"  left out: {error}", file=sys.stderr)
        return True
    except Exception:
        # The other cases may well run; the exit status tells that this one did not.
        traceback.print_exc()
        return False
    show(rows)
    print(f"  {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return True


def show(rows: list[dict[str, Any]]) -> None:
    """Print the rows, best ratio first; what lost stands there as plainly as what won."""
    for row in sorted(
        rows, key=lambda row: -math.inf if math.isnan(row["ratio"]) else -row["ratio"]
    ):
        verdict = "  (lost)" if table.lost(row) else ""
        print(
            f"{row['ratio']:8.1f} x  {row['case']:<32} {row['ours']} {row['ours_value']:.4g} "
            f"against {row['rival']} {row['rival_value']:.4g} {row['quantity']}{verdict}"
            f"  {row['note']}"
        )


if __name__ == "__main__":
    # Read when NumPy is first imported, which only the cases do.
    os.environ |= dict.fromkeys(THREAD_LIMITS, "1")
    raise SystemExit(main())
