"""The one decorator through which every compiled kernel passes; the only importer of numba."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba


def jit(function: Any = None, *, reassociate: bool = False) -> Callable[..., Any]:
    """Compile a kernel on first call, release the GIL, and keep the machine code on disk.

    `reassociate` lets sums be taken in another order, which is what turns a dot product into SIMD
    code; NaN and infinity keep their meaning. ``FALSEZERO_JIT=0`` leaves the function as plain
    Python, for debugging. Where no cache folder can be written (a read-only install) the kernel is
    compiled anew in each process instead of failing.
    """
    if function is None:
        return lambda function: jit(function, reassociate=reassociate)
    if os.environ.get("FALSEZERO_JIT") == "0":
        return function
    # error_model="numpy" drops the zero-division test that keeps loops from becoming SIMD code.
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    if reassociate:
        options["fastmath"] = {"reassoc", "contract", "nsz"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        return numba.njit(**options)(function)
