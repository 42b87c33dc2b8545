"""The interface to numba, which is imported here and nowhere else.

Compiled code is kept in our own `CodeCache`. Numba's cache notices edits in the file of a kernel
but not in the helpers that it calls, and raises on a folder or file that it cannot use.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.serialize import dumps
from numba.extending import intrinsic

from falsezero.kernels._cache import CodeCache, folders, warn_once

__all__ = ["make_entry", "make_helper", "prefetch", "type_of"]

_njit: Any = numba.njit  # its annotations leave out the options about wrappers


def make_entry(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a dispatcher for calls from Python, whose machine code is kept on disk."""
    dispatcher = _njit(no_cfunc_wrapper=True, **options)(function)
    dispatcher._cache = _KernelCache(function)
    return dispatcher


def make_helper(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a dispatcher for calls from kernels, which needs no wrappers and no file of its own.

    The machine code of a kernel contains that of its helpers. Unpacking Python's arguments is a
    third of the time that a small helper takes to compile.
    """
    return _njit(no_cfunc_wrapper=True, no_cpython_wrapper=True, **options)(function)


def type_of(value: Any) -> Any:
    """Return the type by which numba knows a global that a kernel calls."""
    return cpu_target.typing_context.resolve_value_type(value)


class _KernelCache(NullCache):  # type: ignore[misc]
    """The part of numba's cache interface through which a dispatcher loads and saves code."""

    def __init__(self, function: Callable[..., Any]) -> None:
        code = hashlib.sha256(function.__code__.co_code).hexdigest()
        line = function.__code__.co_firstlineno
        self._name = f"{function.__module__}.{function.__qualname__} {line} {code}"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compile result of a signature, or None."""
        target_context.refresh()
        data = _cache().read(self._key(signature, target_context.codegen()))
        if data is None:
            return None
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception as error:
            warn_once(Path(self._name), error)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compile result, unless it contains addresses of this process."""
        if not result.library.has_dynamic_globals:
            key = self._key(signature, result.codegen)
            _cache().write(key, dumps(result._reduce()))

    def _key(self, signature: Any, codegen: Any) -> str:
        return f"{self._name} {signature} {codegen.magic_tuple()}"


@cache
def _cache() -> CodeCache:
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    return CodeCache(folders(Path(__file__).parent, repr(versions)))


@intrinsic
def prefetch(context: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of ``array[index]`` for writing; any index is harmless."""

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
