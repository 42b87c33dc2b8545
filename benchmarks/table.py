"""The tracked results, and the tables that README.md and docs/benchmarks.md draw from them."""

from __future__ import annotations

import csv
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks import case_repeated_looks, ranking
from benchmarks.harness import ROOT
from benchmarks.ranking import markdown

RESULTS = ROOT / "benchmarks" / "results.csv"
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "benchmarks.md"
KEY = ("case", "ours", "rival", "quantity")
NUMBERS = ("ours_value", "rival_value", "ratio")
COLUMNS = (
    "file", "case", "ours", "rival", "version", "quantity", "ours_value", "rival_value", "ratio",
    "threads", "yardstick", "headline", "machine", "note",
)  # fmt: skip

Row = dict[str, Any]


def read() -> list[Row]:
    """The tracked rows, numbers as numbers."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as stream:
        rows: list[Row] = list(csv.DictReader(stream))
    return [{**row, **{name: float(row[name]) for name in NUMBERS}} for row in rows]


def replace(file: str, rows: list[Row]) -> None:
    """Put the rows of one case file in the place of those that it wrote before."""
    new = [
        {**row, "file": file, "machine": machine(), "version": _version(row["rival"])}
        for row in rows
    ]
    everything = [row for row in read() if row["file"] != file] + new
    store(sorted(everything, key=lambda row: row["file"]))


def store(rows: list[Row]) -> None:
    """Write the tracked table, each line under a name of its own."""
    names = [tuple(row[name] for name in KEY) for row in rows]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two results are named {', '.join(twice.pop())}: give them apart names")
    with RESULTS.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, **{name: f"{row[name]:.4g}" for name in NUMBERS}})


def machine() -> str:
    """The processor's name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        return f"{names[0]}, {len(names)} cores"
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def _version(rival: str) -> str:
    """The installed version of the library that a rival's name opens with, if it is one."""
    try:
        return version(rival.split()[0])
    except PackageNotFoundError:
        return ""


def lost(row: Row) -> bool:
    """Whether another library did better, or we never got to where it was."""
    return not row["yardstick"] and row["ratio"] < 1


def publish() -> None:
    """Draw the tables of README.md and docs/benchmarks.md anew."""
    rows, ranked = read(), ranking.read()
    README.write_text(readme(README.read_text(), rows, ranked))
    PAGE.write_text(page(PAGE.read_text(), rows, ranked))


def readme(text: str, rows: list[Row], ranked: list[Row]) -> str:
    """README.md with its tables drawn anew."""
    return filled(filled(text, "speed", headlines(rows)), "false-zeros", ranking.headline(ranked))


def page(text: str, rows: list[Row], ranked: list[Row]) -> str:
    """docs/benchmarks.md with its tables drawn anew."""
    text = filled(filled(text, "results", whole(rows)), "false-zeros", ranking.page(ranked))
    return filled(text, "repeated-looks", case_repeated_looks.page(case_repeated_looks.read()))


def filled(text: str, name: str, content: str) -> str:
    """A page with the content between its markers `name`:begin and `name`:end replaced."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if begin not in text or end not in text:
        raise ValueError(f"the page has no markers {begin} and {end} to write between")
    before, after = text.split(begin)[0], text.split(end)[1]
    return f"{before}{begin}\n{content}\n{end}{after}"


def headlines(rows: list[Row]) -> str:
    """The README's table: lines with a headline, those with the same one as a range."""
    lines: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row["headline"]:
            lines.setdefault((row["headline"], row["rival"], row["threads"]), []).append(row)
    body = [(*name, _outcome(members)) for name, members in lines.items()]
    return "\n\n".join(
        [
            f"Measured on {_machines(rows)}. {_tally(rows)}",
            markdown(("what", "against", "threads", "times better"), body),
        ]
    )


def whole(rows: list[Row]) -> str:
    """The page's tables: what lost first, then case by case, then yardsticks."""
    parts = [f"Measured on {_machines(rows)}. {_tally(rows)}"]
    losses = [row for row in rows if lost(row)]
    if losses:
        parts += ["## What lost", _lines(sorted(losses, key=lambda row: row["ratio"]))]
    parts.append("## Case by case")
    rivals = [row for row in rows if not row["yardstick"]]
    for file, members in groupby(rivals, key=lambda row: row["file"]):
        parts += [f"### [{file}](../benchmarks/case_{file}.py)", _lines(members)]
    yardsticks = [row for row in rows if row["yardstick"]]
    if yardsticks:
        parts += ["## Yardsticks", YARDSTICKS, _lines(yardsticks)]
    return "\n\n".join(parts)


YARDSTICKS = (
    "Not other libraries measured beside ours: bare matrix products, plain NumPy, our own other "
    "solvers, ourselves on a larger table, a figure from an earlier run. A ratio below one is no "
    "loss here."
)


def _tally(rows: list[Row]) -> str:
    rivals = [row for row in rows if not row["yardstick"] and row["ratio"] == row["ratio"]]
    n_lost = sum(lost(row) for row in rivals)
    return (
        f"Of {len(rivals)} comparisons with other libraries {len(rivals) - n_lost} were won or "
        f"drawn and {n_lost} lost."
    )


def _machines(rows: list[Row]) -> str:
    return " and ".join(sorted({row["machine"] for row in rows})) or "no machine yet"


def _lines(rows: Iterable[Row]) -> str:
    head = ("case", "ours", "against", "quantity", "ours", "theirs", "theirs / ours", "threads")
    body = [
        (
            row["case"], row["ours"], f"{row['rival']} {row['version']}".strip(), row["quantity"],
            _figure(row["ours_value"], "never"), _figure(row["rival_value"], "none"),
            _ratio(row), row["threads"], row["note"],
        )
        for row in rows
    ]  # fmt: skip
    return markdown((*head, "note"), body)


def _ratio(row: Row) -> str:
    return f"**{_figure(row['ratio'])} (lost)**" if lost(row) else _figure(row["ratio"])


def _outcome(rows: list[Row]) -> str:
    """Ratios from the lowest to the highest; log likelihoods as they are, since ratios of them
    say nothing."""
    if "log likelihood" in rows[0]["quantity"]:
        said = [f"{_figure(r['ours_value'])} against {_figure(r['rival_value'])}" for r in rows]
    else:
        ratios = [row["ratio"] for row in rows]
        said = list(dict.fromkeys(_figure(ratio, digits=2) for ratio in (min(ratios), max(ratios))))
    verdict = (
        " (lost)" if all(map(lost, rows)) else " (lost in part)" if any(map(lost, rows)) else ""
    )
    return " to ".join(said) + verdict


def _figure(value: float, missing: str = "", digits: int = 3) -> str:
    """As many digits as say something; no exponent for the large."""
    if not abs(value) < float("inf"):
        return missing
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
