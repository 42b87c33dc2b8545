"""A fitted model in a few lines, for people and for machines."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import click

from falsezero.cli._output import write_json

__all__ = ["as_text", "describe", "show", "strongest"]

_MEASURES = ("log_likelihood", "evidence", "objective")
_SPOKEN = {"log_likelihood": "log likelihood", "aic": "AIC", "bic": "BIC"}
_PRIORS = ("proportions_", "prior_", "priors_")


def describe(model: Any, top: int = 8) -> dict[str, Any]:
    """What `info` shows, as plain values. Components are numbered from 1."""
    weights = getattr(model, "row_weights_", None)
    return {
        "model": type(model).__name__,
        "n_rows": None if weights is None else len(weights),
        "n_columns": model.n_features_in_,
        "n_components": len(model.components_),
        "n_iterations": getattr(model, "n_iter_", None),
        "converged": getattr(model, "converged_", None),
        "measures": _measures(model),
        "components": _components(model, top),
    }


def strongest(model: Any, component: int, top: int) -> list[dict[str, Any]]:
    """The columns that a component makes most, with how strongly."""
    import numpy as np

    strength = np.asarray(model.components_)[component]
    names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    order = np.argsort(-strength, kind="stable")[:top]
    return [{"column": str(names[t]), "strength": float(strength[t])} for t in order]


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
    return "\n".join([*lines, "", *_component_lines(said["components"], width)])


def _measures(model: Any) -> dict[str, float]:
    found = {name: getattr(model, f"{name}_", None) for name in _MEASURES}
    for criterion in ("aic", "bic"):
        try:
            found[criterion] = getattr(model, criterion)()
        except (AttributeError, TypeError):
            # Not every model has a likelihood to penalise.
            continue
    measures = {name: float(value) for name, value in found.items() if value is not None}
    objective = measures.pop("objective", None)
    if objective is not None and objective not in measures.values():
        measures["objective"] = objective
    return measures


def _components(model: Any, top: int) -> list[dict[str, Any]]:
    kinds, weights = _kinds(model), _weights(model)
    return [
        {
            "component": k + 1,
            "kind": kinds[k],
            "weight": None if weights is None else float(weights[k]),
            "strongest": strongest(model, k, top),
        }
        for k in range(len(model.components_))
    ]


def _kinds(model: Any) -> list[str]:
    """Content, white or black phantom, extinct or inactive."""
    import falsezero as fz

    kinds = ["content"] * len(model.components_)
    if hasattr(model, "cell_posterior"):
        found = fz.find_phantoms(model).kinds.tolist()
        kinds = [kind if kind == "content" else f"{kind} phantom" for kind in found]
    for k in getattr(model, "extinct_", ()):
        kinds[k] = "extinct"
    for k, is_active in enumerate(getattr(model, "active_", ())):
        kinds[k] = kinds[k] if is_active else "inactive"
    return kinds


def _weights(model: Any) -> Any:
    """Mean weight over the training rows, or the prior of a source."""
    for name in _PRIORS:
        if hasattr(model, name):
            return getattr(model, name)
    weights = getattr(model, "row_weights_", None)
    return None if weights is None else weights.mean(axis=0)


def _component_lines(components: list[dict[str, Any]], width: int | None) -> list[str]:
    size = max(len("kind"), *(len(part["kind"]) for part in components))
    lines = [f"{'component':>9}  {'kind':{size}}  {'weight':>6}  strongest columns"]
    for part in components:
        weight = "" if part["weight"] is None else f"{part['weight']:.3f}"
        line = f"{part['component']:>9}  {part['kind']:{size}}  {weight:>6} "
        for i, member in enumerate(part["strongest"]):
            more = f"{', ' if i else ' '}{member['column']} {member['strength']:.2f}"
            if i and width is not None and len(line + more) > width:
                break
            line += more
        lines.append(line)
    return lines
