"""The main job's tracked results, and the tables that README.md and docs/benchmarks.md show."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import ROOT

RESULTS = ROOT / "benchmarks" / "false_zeros.csv"
COLUMNS = ("table", "half", "scheme", "seed", "method", "average_precision", "auc", "seconds")
NUMBERS = ("average_precision", "auc", "seconds")
SCHEMES = ("cell", "row", "column")
OURS = "audit"

Row = dict[str, Any]


def read(path: Path | None = None) -> list[Row]:
    """Tracked rows, one a table, scheme of losses, seed and method."""
    path = path or RESULTS
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return [
            {**row, "seed": int(row["seed"]), **{name: float(row[name]) for name in NUMBERS}}
            for row in csv.DictReader(stream)
        ]


def write(rows: list[Row], path: Path | None = None) -> None:
    """Write all rows, sorted, so that a change shows where it is."""
    order = sorted(rows, key=lambda row: tuple(row[name] for name in COLUMNS[:5]))
    with (path or RESULTS).open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in order:
            writer.writerow({**row, **{name: f"{row[name]:.4g}" for name in NUMBERS}})


def by_table(rows: Iterable[Row], method: str, quantity: str, scheme: str = "") -> dict[str, float]:
    """Means over seeds and schemes (or of one scheme) of a method, by table."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row["method"] == method and row["half"] != "truth" and scheme in ("", row["scheme"]):
            found.setdefault(row["table"], []).append(row[quantity])
    return {table: float(np.mean(values)) for table, values in found.items()}


def summary(rows: list[Row]) -> list[Row]:
    """One row a method, best first: means over tables with standard errors, beside our default.

    `ahead` is by how much our default is better in average precision, over the tables that both
    ranked, and `tables_won` on how many of them it is.
    """
    ours = by_table(rows, OURS, "average_precision")
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        precision = by_table(rows, method, "average_precision")
        if not precision:
            continue
        auc = by_table(rows, method, "auc")
        both = sorted(set(ours) & set(precision)) if method != OURS else []
        gains = np.array([ours[table] - precision[table] for table in both])
        line = {
            "method": method,
            "n_tables": len(precision),
            "average_precision": float(np.mean(list(precision.values()))),
            "error": _error(list(precision.values())),
            **{
                scheme: float(np.mean(list(by_table(rows, method, NUMBERS[0], scheme).values())))
                for scheme in SCHEMES
            },
            "auc": float(np.mean(list(auc.values()))),
            "auc_error": _error(list(auc.values())),
            "seconds": float(np.median(list(by_table(rows, method, "seconds").values()))),
            "ahead": float(gains.mean()) if len(gains) else float("nan"),
            "ahead_error": _error(gains),
            "tables_won": int((gains > 0).sum()),
            "n_compared": len(gains),
        }
        lines.append(line)
    most = max((line["n_tables"] for line in lines), default=0)
    for line in lines:
        partly = "" if line["n_tables"] == most else f" ({line['n_tables']} tables)"
        line["name"] = f"{line['method']}{partly}"
    return sorted(lines, key=lambda line: -line["average_precision"])


def _error(values: Any) -> float:
    """Standard error of a mean over tables."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def text(rows: list[Row]) -> str:
    """The ranking for a terminal."""
    head = f"{'method':28}{'AP':>7}{'±':>7}{'cell':>7}{'row':>7}{'column':>7}{'AUC':>7}{'s':>8}"
    lines = [f"{head}  ahead ± error (tables won)"]
    for line in summary(rows):
        beside = ""
        if line["n_compared"]:
            won = f"{line['tables_won']} of {line['n_compared']}"
            beside = f"  {line['ahead']:+.3f} ± {line['ahead_error']:.3f} ({won})"
        numbers = "".join(f"{line[n]:7.3f}" for n in (NUMBERS[0], "error", *SCHEMES, "auc"))
        lines.append(f"{line['name']:28}{numbers}{line['seconds']:8.2f}{beside}")
    return "\n".join([*lines, *_by_table_text(rows), *_truth_text(rows)])


def _by_table_text(rows: list[Row]) -> list[str]:
    names = [line["method"] for line in summary(rows)]
    columns = {name: by_table(rows, name, "average_precision") for name in names}
    found = list(dict.fromkeys(row["table"] for row in rows if row["half"] != "truth"))
    lines = ["", f"{'average precision':22}" + "".join(f"{name[:9]:>10}" for name in names)]
    for table in found:
        cells = (f"{columns[name].get(table, float('nan')):10.3f}" for name in names)
        lines.append(f"{table[:21]:22}{''.join(cells)}")
    return lines if found else []


def _truth_text(rows: list[Row]) -> list[str]:
    known = [row for row in rows if row["half"] == "truth"]
    lines = [
        f"{row['table']:22}{row['method']:20}AUC {row['auc']:.3f}  AP {row[NUMBERS[0]]:.3f}"
        for row in sorted(known, key=lambda row: (row["table"], -row["auc"]))
    ]
    return ["", *lines] if lines else []


def headline(rows: list[Row]) -> str:
    """The README's table: every method, best first."""
    if not rows:
        return "Not measured yet."
    return "\n\n".join([_opening(rows), _ranking(rows)])


def page(rows: list[Row]) -> str:
    """The page's tables: where our default lost, then every method, then table by table."""
    if not rows:
        return "Not measured yet."
    parts = [_opening(rows)]
    lost = losses(rows)
    if lost:
        head = ("table", "better", "average precision of audit", "theirs")
        body = [
            (line["table"], line["method"], f"{line['ours']:.3f}", f"**{line['theirs']:.3f}**")
            for line in lost
        ]
        parts += ["### Where a rival was better", markdown(head, body)]
    parts += ["### All methods", _ranking(rows), "### Table by table", _tables(rows)]
    if any(row["half"] == "truth" for row in rows):
        parts += ["### False zeros that were not planted", TRUTH, _truth(rows)]
    return "\n\n".join(parts)


TRUTH = (
    "Swiss birds and Hubbard Brook: the first visit is ranked, and a zero is false where a later "
    "visit saw the species. finds.csv: a made-up table that comes with what lived there. AUC / "
    "average precision."
)


def losses(rows: list[Row]) -> list[Row]:
    """Every table and rival that ranked it better than our default, worst first."""
    ours = by_table(rows, OURS, "average_precision")
    found = [
        {"table": table, "method": method, "ours": ours[table], "theirs": theirs}
        for method in dict.fromkeys(row["method"] for row in rows)
        for table, theirs in by_table(rows, method, "average_precision").items()
        if method != OURS and theirs > ours.get(table, np.inf)
    ]
    return sorted(found, key=lambda line: line["ours"] - line["theirs"])


def _opening(rows: list[Row]) -> str:
    planted = [row for row in rows if row["half"] != "truth"]
    tables, draws = {row["table"] for row in planted}, {row["seed"] for row in planted}
    times = "once" if len(draws) == 1 else f"{len(draws)} times"
    opening = (
        f"Ones hidden as zeros in {len(tables)} real tables, {times} per cell (0.15), per row and "
        "per column (rates uniform on [0, 0.5]), and looked for among all zeros. Means over "
        "tables, with their standard errors; every method has one setting for all tables."
    )
    lines = [line for line in summary(rows) if line["n_compared"]]
    if not lines:
        return opening
    lost = len(losses(rows))
    compared = sum(line["n_compared"] for line in lines)
    return f"{opening} Of {compared} comparisons (a rival, a table) audit lost {lost}."


def _ranking(rows: list[Row]) -> str:
    head = (
        "method", "average precision", "per cell", "per row", "per column", "AUC", "seconds",
        "audit is ahead by", "on",
    )  # fmt: skip
    return markdown(head, map(_ranked, summary(rows)))


def _ranked(line: Row) -> tuple[str, ...]:
    beside = ("", "")
    if line["n_compared"]:
        ahead = f"{line['ahead']:+.3f} ± {line['ahead_error']:.3f}"
        verdict = f"**{ahead} (lost)**" if line["ahead"] < 0 else ahead
        beside = (verdict, f"{line['tables_won']} of {line['n_compared']} tables")
    return (
        line["name"],
        f"{line['average_precision']:.3f} ± {line['error']:.3f}",
        *(f"{line[scheme]:.3f}" for scheme in SCHEMES),
        f"{line['auc']:.3f} ± {line['auc_error']:.3f}",
        f"{line['seconds']:.2g}",
        *beside,
    )


def _tables(rows: list[Row]) -> str:
    names = [line["method"] for line in summary(rows)]
    columns = {name: by_table(rows, name, "average_precision") for name in names}
    found = {row["table"]: row["half"] for row in rows if row["half"] != "truth"}
    body = []
    for table, half in found.items():
        best = max(columns[name].get(table, 0.0) for name in names)
        cells = (_marked(columns[name].get(table), best) for name in names)
        body.append((table, half, *cells))
    return markdown(("average precision", "half", *names), body)


def _truth(rows: list[Row]) -> str:
    known = [row for row in rows if row["half"] == "truth"]
    cells = {(r["table"], r["method"]): f"{r['auc']:.3f} / {r[NUMBERS[0]]:.3f}" for r in known}
    found = list(dict.fromkeys(row["table"] for row in known))
    names = list(dict.fromkeys(row["method"] for row in known))
    order = sorted(names, key=lambda name: -sum(r["auc"] for r in known if r["method"] == name))
    body = [(name, *(cells.get((table, name), "") for table in found)) for name in order]
    return markdown(("method", *found), body)


def _marked(value: float | None, best: float) -> str:
    if value is None:
        return ""
    return f"**{value:.3f}**" if value == best else f"{value:.3f}"


def markdown(head: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    """A table of a page; a stroke in a cell would end the cell."""
    lines = [tuple(head), *(tuple(line) for line in body)]
    written = [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines]
    return "\n".join([written[0], "|" + "---|" * len(lines[0]), *written[1:]])
