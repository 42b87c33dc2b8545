"""The private names of scikit-learn that falsezero uses, in one place.

scikit-learn tells authors of estimators to use them but gives no public ones.
``tests/test_dependencies.py`` checks what we expect of each.
"""

from sklearn.base import _fit_context as fit_context
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
