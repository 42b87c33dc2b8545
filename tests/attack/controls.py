"""The library, broken on purpose: every kind of attack must notice, or it proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

__all__ = ["CONTROLS", "Control", "sabotaged"]


class Control(NamedTuple):
    """Something to break, and how many tries the attack has to notice."""

    kind: str
    tries: int
    broken: Callable[[], Any]


@contextmanager
def sabotaged(name: str) -> Iterator[None]:
    """The library with one thing broken; with nothing broken for an empty name."""
    with ExitStack() as stack:
        if name:
            stack.enter_context(CONTROLS[name].broken())
        yield


def _answers_nan() -> Any:
    import falsezero as fz

    def broken(self: Any, X: Any, keep: Any = None) -> Any:
        return np.full((1, 1), np.nan)

    return patch.object(fz.AspectBernoulli, "reconstruct", broken)


def _reads_raw_errors() -> Any:
    return _everywhere("load_whole", lambda path, kind, load: load())


def _reads_wrong_indices() -> Any:
    return patch("falsezero.data.indices._check_range", lambda *arguments: None)


def _skips_pairs() -> Any:
    return patch("falsezero.audit.checks._pairs", list)


def _takes_all_shapes() -> Any:
    return patch("falsezero.io.models._check_shapes", lambda file, model: None)


def _runs_names_of_files() -> Any:
    """A loader that believes a class named by the file."""
    return patch("falsezero.io.models._LEARNT_NAME", __import__("re").compile(r"\w+"))


def _shows_tracebacks() -> Any:
    def broken(error: object) -> str:
        return f"Traceback of {error!r}"

    return patch("falsezero.cli.one_sentence", broken)


def _saves_in_place() -> Any:
    """A save that can be seen half."""

    def broken(path: Any, data: bytes) -> None:
        import os

        with open(path, "wb") as stream:
            stream.write(data[: len(data) // 2])
            stream.flush()
            os.fsync(stream.fileno())
            stream.write(data[len(data) // 2 :])

    return _everywhere("write_atomically", broken)


def _forgets_early() -> Any:
    """A shell whose checkpoint goes before the model is safe."""
    import contextlib

    return patch("falsezero.inference.checkpoint.keeping_checkpoints", contextlib.nullcontext)


def _resumes_elsewhere() -> Any:
    """A resumed fit that goes on from another point."""
    from falsezero.inference import checkpoint, tree

    def broken(self: Any, restart: int, point: Any, monitor: Any) -> Any:
        current = self._meta.get("current")
        if current is None or current["restart"] != restart:
            return point, 1.0
        monitor.resume(current["history"])
        leaves = [np.asarray(leaf) * (1 - 1e-3) for leaf in self._leaves["current"]]
        return tree.unflatten(point, leaves), current["stride"]

    return patch.object(checkpoint.Checkpoint, "resume", broken)


def _swallows_interrupts() -> Any:
    """Ctrl-C that comes out as another error."""
    from falsezero.inference import checkpoint

    write = checkpoint.write_checkpoint

    def broken(path: Path, data: bytes) -> bool:
        try:
            return write(path, data)
        except KeyboardInterrupt:
            raise SystemError("interrupted in compiled code") from None

    return patch.object(checkpoint, "write_checkpoint", broken)


def _trusts_caches() -> Any:
    """Compiled code that is run whatever its checksum says."""
    from tests.attack import caches

    trusting = {"kernels/_cache.py": ("if digest != _digest(key, data):", "if False:")}
    return patch.dict(caches.EDITS, trusting)


def _other_bits_elsewhere() -> Any:
    """Parts of a pass that are put together in the order in which workers end."""
    from falsezero.backends.dask import _OnDask

    gather = _OnDask._gather

    def broken(self: Any, tasks: list[Any]) -> list[bytes]:
        return gather(self, tasks)[::-1]

    return patch.object(_OnDask, "_gather", broken)


def _escapes_nothing() -> Any:
    return patch("html.escape", lambda text, quote=True: str(text))


def _without_policy() -> Any:
    from falsezero.report import audit_page, elements  # noqa: F401

    page = elements.document

    def broken(*arguments: Any, **named: Any) -> str:
        return str(page(*arguments, **named)).replace("Content-Security-Policy", "nothing")

    return _everywhere("document", broken)


def _everywhere(name: str, broken: Any) -> Any:
    """Replace a function in every module that has imported it."""
    import sys

    import falsezero as fz

    stack = ExitStack()
    fz.save, fz.explore  # noqa: B018
    for module in [m for n, m in sys.modules.items() if n.startswith("falsezero.")]:
        if name in vars(module):
            stack.enter_context(patch.object(module, name, broken))
    return stack


CONTROLS = {
    "answers that are not finite": Control("tables", 100, _answers_nan),
    "indices that are not checked": Control("tables", 3000, _reads_wrong_indices),
    "errors of other libraries": Control("files", 100, _reads_raw_errors),
    "arrays of any shape": Control("models", 400, _takes_all_shapes),
    "any attribute from a file": Control("models", 400, _runs_names_of_files),
    "cells that are no pairs": Control("doors", 1200, _skips_pairs),
    "tracebacks in the shell": Control("shell", 20, _shows_tracebacks),
    "saves in place": Control("kills", 40, _saves_in_place),
    "checkpoints removed early": Control("kills", 40, _forgets_early),
    "resuming from another point": Control("kills", 20, _resumes_elsewhere),
    "interrupts that become errors": Control("interrupts", 20, _swallows_interrupts),
    "saves in place on a full disk": Control("disks", 12, _saves_in_place),
    "compiled code without checksums": Control("caches", 2, _trusts_caches),
    "other bits on workers": Control("workers", 1, _other_bits_elsewhere),
    "labels that are not escaped": Control("pages", 6, _escapes_nothing),
    "pages without a policy": Control("pages", 1, _without_policy),
}
"""What can be broken, by name."""
