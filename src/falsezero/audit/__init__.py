"""The answer: which zeros are surprising, how well that works on this table, where to look next."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from falsezero.audit.audit import Audit
from falsezero.audit.calibration import calibrate
from falsezero.audit.run import audit
from falsezero.audit.run import audit as run_audit

__all__ = ["Audit", "audit", "calibrate"]


class _CallableModule(ModuleType):
    """`falsezero.audit` is a package and a function; importing the one must not hide the other."""

    def __call__(self, *args: Any, **kwargs: Any) -> Audit:
        # The name `audit` may have become that of the submodule in the meantime.
        return run_audit(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
