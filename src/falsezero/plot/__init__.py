"""Results as pictures: displays in scikit-learn's manner, one small file per picture."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "AuditedTableDisplay": "audited_table",
    "BoxesDisplay": "curves",
    "ComponentBarsDisplay": "component_bars",
    "ComponentHeatmapDisplay": "component_heatmap",
    "ComponentImagesDisplay": "component_images",
    "ConvergenceDisplay": "convergence",
    "CurvesDisplay": "curves",
    "DetectionCurvesDisplay": "detection_curves",
    "ExplanationDisplay": "explanation",
    "FeatureMatricesDisplay": "features",
    "GroupedBarsDisplay": "curves",
    "MatricesDisplay": "matrices",
    "ModelChoiceDisplay": "model_choice",
    "OrderedTableDisplay": "ordered_table",
    "PhantomWeightDisplay": "phantom_weight",
    "RocDisplay": "roc",
    "TernaryDisplay": "ternary",
    "TrialDisplay": "trial",
    "WeightsByGroupDisplay": "weights_by_group",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a display when it is first used: matplotlib is not needed to import falsezero."""
    if name not in _HOMES:
        raise AttributeError(f"falsezero.plot has no {name!r}")
    return getattr(import_module(f"falsezero.plot.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The displays, for tab completion."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
