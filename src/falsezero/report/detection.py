"""The section of an audit page on detection, where looks were repeated."""

from __future__ import annotations

import numpy as np

from falsezero.audit.looks import LooksAudit
from falsezero.data.tidy import Tidy
from falsezero.plot import DetectionCurvesDisplay
from falsezero.report.elements import Column, data_table, figure, inline

__all__ = ["detection_section"]

_DOUBT = 0.05
_LISTED = 300


def detection_section(audit: LooksAudit) -> str:
    """How easily columns are seen, how often they are there, and what more looks would tell."""
    heading = '<h2 id="trial">Detection</h2>'
    text = audit.why_untested
    observers = "" if audit.observers is None else _observers(audit.observers)
    if not audit.is_one_table:
        return f"{heading}<p>{inline(text)}</p>{observers}"
    text += (
        " Detection: the share of looks that find what is there. Occupied: cells where it is "
        "there, seen or not; in brackets, 90 % intervals. Looks needed: how many more "
        f"looks without a find until zeros of the column are wrong in less than {_DOUBT:.0%} of "
        "cases, on average. Hardest to see first."
    )
    caption = (
        "The probability that what is there is seen at least once, by the number of looks; the "
        "columns that are hardest and easiest to see have their names."
    )
    curves = figure(DetectionCurvesDisplay.from_audit(audit), caption)
    return f"{heading}<p>{inline(text)}</p>{curves}{_columns(audit)}{observers}"


def _columns(audit: LooksAudit) -> str:
    table, needed = audit.intervals(), audit.looks_needed(_DOUBT)["looks_needed"]
    order = np.argsort(table["detection"], kind="stable")[:_LISTED]
    table, needed = table.take(order), needed[order]
    most = ["200 or more" if n >= 200 else f"{int(n)}" for n in needed]
    return data_table(
        [
            Column("Column", table["column"]),
            Column("Detection", _ranges(table, "detection", 2), "number"),
            Column("Seen", [f"{int(n):,}" for n in table["seen"]], "number"),
            Column("Occupied", _ranges(table, "occupied", 0), "number"),
            Column("Looks needed", most, "number"),
        ]
    )


def _ranges(table: Tidy, name: str, digits: int) -> list[str]:
    ends = (table[name], table[f"{name}_low"], table[f"{name}_high"])
    return [
        f"{value:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"
        for value, low, high in zip(*ends, strict=True)
    ]


def _observers(table: Tidy) -> str:
    columns = [Column("Observer", table["observer"])]
    for name, label in (("detection", "Detection"), ("false_alarms", "False alarms")):
        if name in table.columns:
            columns.append(Column(label, table[name], "probability"))
    return data_table(columns)
