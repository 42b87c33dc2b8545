"""A fitted model in a few lines, for people and for machines."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import click

from falsezero.cli._common import phantoms_of, shown_number
from falsezero.cli._output import write_json

__all__ = ["describe", "description_text", "show"]

_LABELS = {
    "log_likelihood": "log likelihood",
    "bound": "bound on the log likelihood",
    "aic": "AIC",
    "bic": "BIC",
}


def describe(model: Any, top: int = 8) -> dict[str, Any]:
    """The content of `info` as plain values; components are numbered from 1."""
    # A model with given components, or fitted in batches, has no training rows.
    learnt = vars(model)
    rows, kinds = learnt.get("row_weights_"), _kinds(model)
    word, weights = model._importance()
    summary = {
        "model": type(model).__name__,
        "n_rows": None if rows is None else len(rows),
        "n_columns": model.n_features_in_,
        "n_components": len(model.components_),
        "n_iterations": learnt.get("n_iter_"),
        "converged": learnt.get("converged_"),
        "measures": _measures(model),
        "weight_means": word,
        "components": [
            {
                "component": shown_number(k),
                "kind": kinds[k],
                "weight": None if weights is None else float(weights[k]),
                "strongest": _strongest(model, strength, top),
            }
            for k, strength in enumerate(model.components_)
        ],
    }
    if "r_hat_" in learnt:
        summary["chains"] = {
            "r_hat": model.r_hat_,
            "ess": model.ess_,
            "n_chains": len(model.chains_),
        }
    leak = model._leak()
    if leak is not None:
        summary["leak"] = _strongest(model, leak, top)
    return summary


def show(summary: dict[str, Any], as_json: bool) -> None:
    """Print a description: JSON, or text that fits a terminal."""
    if as_json:
        click.echo(write_json(summary), nl=False)
    else:
        from falsezero.data.plain_text import printable

        is_seen = sys.stdout.isatty()
        text = description_text(summary, shutil.get_terminal_size().columns if is_seen else None)
        click.echo(printable(text))


def description_text(summary: dict[str, Any], width: int | None = None) -> str:
    """The description as text, in lines of at most `width` characters."""
    size = f"{summary['n_columns']} columns"
    if summary["n_rows"] is not None:
        size = f"{summary['n_rows']} rows × {size}"
    lines = [f"{summary['model']}: {summary['n_components']} components, fitted on {size}"]
    measures = summary["measures"].items()
    lines += [f"{_LABELS.get(name, name)}: {value:.6g}" for name, value in measures]
    if summary["converged"] is not None:
        state = "converged" if summary["converged"] else "did NOT converge"
        lines.append(f"{state} in {summary['n_iterations']} iterations")
    if "chains" in summary:
        lines.append(_chain_line(**summary["chains"]))
    return "\n".join([*lines, "", *_component_lines(summary, width)])


def _chain_line(r_hat: float, ess: float, n_chains: int) -> str:
    """Whether the chains of a sampler agree."""
    if r_hat != r_hat:
        return f"{n_chains} chains, too few draws to judge whether they agree"
    return f"{n_chains} chains: R-hat {r_hat:.2f}, effective sample size {ess:.0f}"


def _strongest(model: Any, strength: Any, top: int) -> list[dict[str, Any]]:
    """The strongest columns of a component, with their strengths."""
    import numpy as np

    from falsezero.data.validate import column_names

    names = column_names(model)
    order = np.argsort(-np.abs(strength), kind="stable")[:top]
    return [{"column": str(names[t]), "strength": float(strength[t])} for t in order]


def _measures(model: Any) -> dict[str, float]:
    """The model's own measures, plus the objective unless it is one of them."""
    measures = {name: float(value) for name, value in model._measures().items()}
    objective = vars(model).get("objective_")
    if objective is not None and float(objective) not in measures.values():
        measures["objective"] = float(objective)
    return measures


def _kinds(model: Any) -> list[str | None]:
    """Content, white or black phantom, extinct or inactive; None for models without kinds."""
    kinds: list[str | None] = [None] * len(model.components_)
    phantoms = phantoms_of(model)
    if phantoms is not None:
        kinds = [k if k == "content" else f"{k} phantom" for k in phantoms.kinds.tolist()]
    for k, idle in model._idle_components().items():
        kinds[k] = idle
    return kinds


def _component_lines(summary: dict[str, Any], width: int | None) -> list[str]:
    """One line per component, with its kind and weight if the model has them."""
    components = summary["components"]
    size = max(len(part["kind"] or "") for part in components)
    weighed = components[0]["weight"] is not None
    head = [
        "component",
        "kind".ljust(size) if size else "",
        summary["weight_means"] if weighed else "",
    ]
    lines = [_line(head, "strongest columns")]
    for part in components:
        kind = (part["kind"] or "").ljust(size)
        weight = f"{part['weight']:6.3f}" if weighed else ""
        start = _line([f"{part['component']:>9}", kind, weight])
        lines.append(_filled(start, part["strongest"], width))
    if "leak" in summary:
        lines += ["", _filled("ones that no component makes (leak):", summary["leak"], width)]
    return lines


def _line(cells: list[str], *rest: str) -> str:
    return "  ".join([*(cell.rjust(6) for cell in cells if cell), *rest])


def _filled(line: str, members: list[dict[str, Any]], width: int | None) -> str:
    """Add as many members as fit, and only the first of those with no strength."""
    from falsezero.data.rounding import significant

    are_probabilities = all(0 <= member["strength"] <= 1 for member in members)
    for i, member in enumerate(members):
        strength = member["strength"] if abs(member["strength"]) >= 0.001 else 0.0
        number = significant(strength, 2, is_probability=are_probabilities)
        more = f"{', ' if i else '  '}{member['column']} {number}"
        if i and (not strength or (width is not None and len(line + more) > width)):
            break
        line += more
    return line
