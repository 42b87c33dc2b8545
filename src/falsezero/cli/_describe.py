"""A fitted model in a few lines, for people and for machines."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import click

from falsezero.cli._common import phantoms_of, shown_number
from falsezero.cli._output import write_json

__all__ = ["as_text", "describe", "show"]

_MEASURES = ("log_likelihood", "evidence", "bound", "objective")
_SPOKEN = {
    "log_likelihood": "log likelihood",
    "bound": "bound on the log likelihood",
    "aic": "AIC",
    "bic": "BIC",
}


def describe(model: Any, top: int = 8) -> dict[str, Any]:
    """What `info` shows, as plain values. Components are numbered from 1."""
    rows = getattr(model, "row_weights_", None)
    kinds = _kinds(model)
    means, weights = _weights(model)
    said = {
        "model": type(model).__name__,
        "n_rows": None if rows is None else len(rows),
        "n_columns": model.n_features_in_,
        "n_components": len(model.components_),
        "n_iterations": getattr(model, "n_iter_", None),
        "converged": getattr(model, "converged_", None),
        "measures": _measures(model),
        "weight_means": means,
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
    if hasattr(model, "r_hat_"):
        said["chains"] = {"r_hat": model.r_hat_, "ess": model.ess_, "n_chains": len(model.chains_)}
    if hasattr(model, "leak_"):
        said["leak"] = _strongest(model, model.leak_, top)
    return said


def show(said: dict[str, Any], as_json: bool) -> None:
    """Print a description: JSON, or text that fits a terminal."""
    if as_json:
        click.echo(write_json(said), nl=False)
    else:
        is_seen = sys.stdout.isatty()
        click.echo(as_text(said, shutil.get_terminal_size().columns if is_seen else None))


def as_text(said: dict[str, Any], width: int | None = None) -> str:
    """The same for a person to read, in lines of `width` at most."""
    size = f"{said['n_columns']} columns"
    if said["n_rows"] is not None:
        size = f"{said['n_rows']} rows × {size}"
    lines = [f"{said['model']}: {said['n_components']} components, fitted on {size}"]
    measures = said["measures"].items()
    lines += [f"{_SPOKEN.get(name, name)}: {value:.6g}" for name, value in measures]
    if said["converged"] is not None:
        state = "converged" if said["converged"] else "did NOT converge"
        lines.append(f"{state} in {said['n_iterations']} iterations")
    if "chains" in said:
        lines.append(_chain_line(**said["chains"]))
    return "\n".join([*lines, "", *_component_lines(said, width)])


def _chain_line(r_hat: float, ess: float, n_chains: int) -> str:
    """Whether the chains of a sampler agree."""
    if r_hat != r_hat:
        return f"{n_chains} chains, too few draws to judge whether they agree"
    return f"{n_chains} chains: R-hat {r_hat:.2f}, effective sample size {ess:.0f}"


def _strongest(model: Any, strength: Any, top: int) -> list[dict[str, Any]]:
    """The columns that a component makes most, with how strongly."""
    import numpy as np

    names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    order = np.argsort(-np.abs(strength), kind="stable")[:top]
    return [{"column": str(names[t]), "strength": float(strength[t])} for t in order]


def _measures(model: Any) -> dict[str, float]:
    found = {name: getattr(model, f"{name}_", None) for name in _MEASURES}
    for criterion in ("aic", "bic"):
        try:
            found[criterion] = getattr(model, criterion)()
        except (AttributeError, TypeError):
            # Not every model has a likelihood to penalise, and some need the table for it.
            continue
    measures = {name: float(value) for name, value in found.items() if value is not None}
    objective = measures.pop("objective", None)
    if objective is not None and objective not in measures.values():
        measures["objective"] = objective
    return measures


def _kinds(model: Any) -> list[str | None]:
    """Content, white or black phantom, extinct or inactive; None where a model knows no kinds."""
    kinds: list[str | None] = [None] * len(model.components_)
    phantoms = phantoms_of(model)
    if phantoms is not None:
        kinds = [k if k == "content" else f"{k} phantom" for k in phantoms.kinds.tolist()]
    for k in getattr(model, "extinct_", ()):
        kinds[k] = "extinct"
    for k, is_active in enumerate(getattr(model, "active_", ())):
        kinds[k] = kinds[k] if is_active else "inactive"
    return kinds


def _weights(model: Any) -> tuple[str, Any]:
    """What the weight of a component is, and its value: a prior, or the mean over training rows."""
    for name, said in {"priors_": "prior", "proportions_": "share"}.items():
        if hasattr(model, name):
            return said, getattr(model, name)
    rows = getattr(model, "row_weights_", None)
    if rows is None or (rows < 0).any():
        return "weight", None
    return "weight", rows.mean(axis=0)


def _component_lines(said: dict[str, Any], width: int | None) -> list[str]:
    """One line a component; kinds and weights only where the model knows any."""
    components = said["components"]
    size = max(len(part["kind"] or "") for part in components)
    weighed = components[0]["weight"] is not None
    head = [
        "component",
        "kind".ljust(size) if size else "",
        said["weight_means"] if weighed else "",
    ]
    lines = [_line(head, "strongest columns")]
    for part in components:
        kind = (part["kind"] or "").ljust(size)
        weight = f"{part['weight']:6.3f}" if weighed else ""
        start = _line([f"{part['component']:>9}", kind, weight])
        lines.append(_filled(start, part["strongest"], width))
    if "leak" in said:
        lines += ["", _filled("ones that no component makes (leak):", said["leak"], width)]
    return lines


def _line(cells: list[str], *rest: str) -> str:
    return "  ".join([*(cell.rjust(6) for cell in cells if cell), *rest])


def _filled(line: str, members: list[dict[str, Any]], width: int | None) -> str:
    """Add as many members as fit, and of those that count for nothing only the first."""
    for i, member in enumerate(members):
        strength = member["strength"] if abs(member["strength"]) >= 0.001 else 0.0
        more = f"{', ' if i else '  '}{member['column']} {strength:.2g}"
        if i and (not strength or (width is not None and len(line + more) > width)):
            break
        line += more
    return line
