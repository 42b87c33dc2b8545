"""The one decorator through which every compiled kernel passes; the only importer of numba."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

_PLAIN = os.environ.get("FALSEZERO_JIT") == "0"


def jit(
    function: Any = None, *, reassociate: bool = False, inline: bool = False
) -> Callable[..., Any]:
    """Compile a kernel on first call, release the GIL, and keep the machine code on disk.

    `reassociate` lets sums be taken in another order, which is what turns a dot product into SIMD
    code; NaN and infinity keep their meaning. `inline` makes a helper part of whatever calls it: a
    call that passes arrays costs more than a short loop. ``FALSEZERO_JIT=0`` leaves the function as
    plain Python, for debugging. Where no cache folder can be written (a read-only install) the
    kernel is compiled anew in each process instead of failing.
    """
    if function is None:
        return lambda function: jit(function, reassociate=reassociate, inline=inline)
    if _PLAIN:
        return function
    # error_model="numpy" drops the zero-division test that keeps loops from becoming SIMD code.
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": inline}
    if reassociate:
        options["fastmath"] = {"reassoc", "contract", "nsz"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        return numba.njit(**options)(function)


def _prefetch(context: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of ``array[index]``, to be written soon; any index is harmless."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, kind, view, [arguments[1]])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        ask = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte, number, number, number]),
            "llvm.prefetch.p0i8",
        )
        for_writing, keep_close, data = number(1), number(3), number(1)
        builder.call(ask, [builder.bitcast(place, byte), for_writing, keep_close, data])
        return context.get_dummy_value()

    return numba.types.void(array, index), emit


prefetch: Any = (lambda array, index: None) if _PLAIN else intrinsic(_prefetch)
