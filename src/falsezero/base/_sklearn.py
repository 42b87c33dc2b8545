"""The one place where private names and untyped classes of scikit-learn are used.

scikit-learn tells authors of estimators to use these private names but has no public ones;
``tests/test_dependencies.py`` checks what we expect of each. Nor does it have type information:
`Estimator` and `Transformer` declare what we rely on, so that all other modules can be type-checked
strictly.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _get_output_config as get_output_config
from sklearn.utils.metaestimators import available_if as _available_if
from sklearn.utils.validation import _check_feature_names as check_feature_names
from sklearn.utils.validation import _check_n_features as check_n_features

__all__ = [
    "Estimator",
    "Interval",
    "StrOptions",
    "Transformer",
    "available_if",
    "check_feature_names",
    "check_n_features",
    "fit_context",
    "get_output_config",
]

_Method = TypeVar("_Method", bound=Callable[..., Any])


class Estimator(BaseEstimator):
    """scikit-learn's estimator, with the types of what `check_table` sets."""

    n_features_in_: int
    feature_names_in_: np.ndarray


class Transformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """An estimator with `transform`, whose outputs are numbered after its class."""


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_Method], _Method]:
    """Check an estimator's parameters before its `fit` runs, and keep the type of the method."""
    decorate: Any = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return lambda method: decorate(method)


def available_if(check: Callable[[Any], bool]) -> Callable[[_Method], _Method]:
    """Give a method only to the instances that pass a check, and keep the type of the method."""
    decorate: Any = _available_if(check)
    return lambda method: decorate(method)
