"""The private names of scikit-learn that falsezero uses, in one place.

scikit-learn tells authors of estimators to use them but gives no public ones.
``tests/test_dependencies.py`` checks what we expect of each.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _get_output_config as get_output_config
from sklearn.utils.validation import _check_feature_names as check_feature_names
from sklearn.utils.validation import _check_n_features as check_n_features

__all__ = [
    "Interval",
    "StrOptions",
    "check_feature_names",
    "check_n_features",
    "fit_context",
    "get_output_config",
]

_Method = TypeVar("_Method", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_Method], _Method]:
    """Check an estimator's parameters before its `fit` runs, and keep the type of the method."""
    decorate: Any = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return lambda method: decorate(method)
