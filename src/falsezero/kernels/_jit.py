"""The decorator of all kernels; numba is imported on the first call of one."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any

__all__ = ["Kernel", "jit", "prefetch"]

_PLAIN = os.environ.get("FALSEZERO_JIT") == "0"


class Kernel:
    """A function that is compiled when it is first called, by Python or by another kernel."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._function, self._options = function, options

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.dispatcher(*arguments)
        except SystemError as error:
            # Python's error when Ctrl-C arrives while compiled code returns.
            if _was_interrupted(error):
                raise KeyboardInterrupt from None
            raise

    def __reduce__(self) -> str:
        return str(self._function.__qualname__)

    @cached_property
    def dispatcher(self) -> Any:
        """The function as Python calls it."""
        from falsezero.kernels._compiler import make_entry

        return make_entry(self._function, self._options)

    @cached_property
    def _helper(self) -> Any:
        """The function as other kernels call it."""
        from falsezero.kernels._compiler import make_helper

        return make_helper(self._function, self._options)

    @property
    def _numba_type_(self) -> Any:
        from falsezero.kernels._compiler import type_of

        return type_of(self._helper)


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether an error was caused by Ctrl-C, through any number of wrapping errors."""
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


class _Prefetch:
    """Prefetch the cache line of ``array[index]`` for writing; does nothing in plain Python."""

    def __call__(self, array: Any, index: int) -> None:
        """Do nothing: a hint that only compiled code can give."""

    @property
    def _numba_type_(self) -> Any:
        from falsezero.kernels import _compiler

        return _compiler.type_of(_compiler.prefetch)


prefetch = _Prefetch()


def jit(
    function: Any = None, *, reassociate: bool = False, inline: bool = False
) -> Callable[..., Any]:
    """Compile a kernel on first call, release the GIL, and keep the machine code on disk.

    `reassociate` lets sums be taken in another order, which is what turns a dot product into SIMD
    code; NaN and infinity keep their meaning. `inline` makes a helper part of whatever calls it: a
    call that passes arrays costs more than a short loop. ``FALSEZERO_JIT=0`` leaves the function as
    plain Python, for debugging.
    """
    if function is None:
        return lambda function: jit(function, reassociate=reassociate, inline=inline)
    if _PLAIN:
        return function
    # error_model="numpy" drops the zero-division test that keeps loops from becoming SIMD code.
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": inline}
    if reassociate:
        options["fastmath"] = {"reassoc", "contract", "nsz"}
    return Kernel(function, options)
