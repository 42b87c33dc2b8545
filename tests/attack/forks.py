"""Work in a process that is forked from this one, warm and ready, and that may be ended.

Everything that the work needs is imported and compiled here before, so that a try takes as long as
the work itself.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from typing import Any

from tests.attack.bench import HANG, Stopwatch

__all__ = ["Fork", "falsezero", "kill_at_call"]

_CONTEXT = multiprocessing.get_context("fork") if hasattr(os, "fork") else None


class Fork:
    """A process that runs ``work(*arguments)`` and sends back what that returns."""

    def __init__(self, work: Callable[..., Any], *arguments: Any):
        assert _CONTEXT is not None, "processes cannot be forked here"
        self._here, there = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=_run, args=(there, work, arguments), daemon=True)
        self._process.start()
        there.close()
        assert self._process.pid is not None
        self.pid = self._process.pid
        assert self._here.recv() == "ready"

    def answer(self) -> Any:
        """What the work returned, or None where the process was killed; raises on a hang."""
        watch = Stopwatch(self.pid)
        while not self._here.poll(0.5):
            if watch.seconds > HANG:
                self._process.kill()
                raise AssertionError(f"hung for {HANG:g} seconds")
        try:
            is_problem, answer = self._here.recv()
        except EOFError:
            is_problem, answer = False, None
        self._process.join()
        code = self._process.exitcode
        assert code in (0, -signal.SIGKILL), f"crashed with {code}"
        assert not is_problem, answer
        return answer

    def has_ended(self, seconds: float) -> bool:
        """Wait so long for its end."""
        self._process.join(seconds)
        return not self._process.is_alive()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()


def _run(pipe: Any, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    # Whoever waits in the background is deaf to interrupts; this process listens.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pipe.send("ready")
    try:
        answer = False, work(*arguments)
    except BaseException:
        answer = True, traceback.format_exc()
    pipe.send(answer)


def falsezero(*arguments: str) -> tuple[int, str, str]:
    """Run the shell's command here: its exit code, standard output and standard error."""
    from falsezero.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    return code, out.getvalue(), err.getvalue()


def kill_at_call(number: int, before: bool) -> None:
    """Let this process die at its n-th call that changes files, before it is made or after."""
    left = iter(range(number, -1, -1))

    def deadly(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            is_last = next(left, -1) == 0
            if is_last and before:
                os.kill(os.getpid(), signal.SIGKILL)
            result = call(*arguments, **named)
            if is_last:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return wrapped

    for name in ("fsync", "replace", "unlink"):
        setattr(os, name, deadly(getattr(os, name)))
