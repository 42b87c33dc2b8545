"""Run the comparisons and write their table: `python -m benchmarks [--quick] [CASE ...]`."""

from __future__ import annotations

import argparse
import csv
import platform
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
COLUMNS = [
    "case",
    "ours",
    "rival",
    "quantity",
    "ours_value",
    "rival_value",
    "ratio",
    "machine",
    "note",
]


def main() -> int:
    """Run the named cases, or all, and print what won and what lost."""
    cases = sorted(path.stem.removeprefix("case_") for path in HERE.glob("case_*.py"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"one of {', '.join(cases)}")
    parser.add_argument("--quick", action="store_true", help="small forms; nothing is written")
    arguments = parser.parse_args()
    unknown = set(arguments.cases) - set(cases)
    if unknown:
        parser.error(f"there is no case {unknown.pop()!r}; choose from {', '.join(cases)}")
    wanted = arguments.cases or cases
    rows: list[dict[str, Any]] = []
    for case in wanted:
        print(f"{case} ...", file=sys.stderr, flush=True)
        try:
            rows += import_module(f"benchmarks.case_{case}").run(arguments.quick)
        except (ImportError, FileNotFoundError) as error:
            print(f"  left out: {error}", file=sys.stderr)
    show(rows)
    if not arguments.quick:
        write(rows, wanted)
    return 0


def machine() -> str:
    """The processor's name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        return f"{names[0]}, {len(names)} cores"
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def show(rows: list[dict[str, Any]]) -> None:
    """Print the rows, best ratio first; what lost stands there as plainly as what won."""
    for row in sorted(rows, key=lambda row: -np.nan_to_num(row["ratio"])):
        verdict = "  (lost)" if row["ratio"] < 1 else ""
        print(
            f"{row['ratio']:8.1f} x  {row['case']:<32} {row['ours']} {row['ours_value']:.4g} "
            f"against {row['rival']} {row['rival_value']:.4g} {row['quantity']}{verdict}"
            f"  {row['note']}"
        )


def write(rows: list[dict[str, Any]], cases: list[str]) -> None:
    """Replace the rows of the cases that ran in the tracked table."""
    path = HERE / "results.csv"
    kept: list[dict[str, Any]] = []
    ran = {row["case"] for row in rows}
    if path.exists():
        with path.open(newline="") as stream:
            kept = [row for row in csv.DictReader(stream) if row["case"] not in ran]
    new = [{**row, "machine": machine()} for row in rows]
    for row in new:
        for name in ("ours_value", "rival_value", "ratio"):
            row[name] = f"{row[name]:.4g}"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted([*kept, *new], key=lambda row: (row["case"], row["quantity"])))
    print(f"wrote {path.name}", file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
