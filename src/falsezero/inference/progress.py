"""Progress bars on standard error, shown only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any

from falsezero.inference.monitor import Listener

PREPARING = "preparing (compiling, the first time)"

StageListener = Callable[[str, int, int], None]
_LISTENER: ContextVar[StageListener | None] = ContextVar("stage_listener", default=None)


def _ignore(stage: str, number: int, total: int) -> None:
    pass


@contextmanager
def reporting_to(listener: StageListener) -> Iterator[None]:
    """Report each stage that begins inside to a listener: its name, its number, and the total.

    >>> with reporting_to(lambda *stage: print(stage)), stages("Average", 0, 2) as begin:
    ...     begin("EASE")
    ...     with stages("EASE", 0, 9) as begin_part:
    ...         begin_part("not told")
    ('EASE', 1, 2)
    """
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


@contextmanager
def progress(
    estimator: Any, verbose: int | bool, total: int | None = None
) -> Iterator[tuple[Listener, ...]]:
    """Yield listeners that show a fit's progress: none, a bar, or (verbose >= 2) a line each.

    `total` is the number of iterations in all, where it is known, as for Markov chains; the bar
    then fills up, whichever chain an iteration belongs to. Before the first iteration is done, the
    bar says that the fit is being prepared. Without a terminal there is no bar, so that piped
    output stays clean.
    """
    if not verbose:
        yield ()
    elif verbose >= 2 or not sys.stderr.isatty():
        yield (_printer(type(estimator).__name__, 1 if verbose >= 2 else 50),)
    else:
        with _bar() as bar:
            name = type(estimator).__name__
            if total is None:
                yield (_bar_listener(bar, name, estimator.n_init),)
            else:
                yield (_filling_listener(bar, name, total),)


def _printer(name: str, every: int) -> Listener:
    def listen(row: dict[str, Any]) -> None:
        if row["iteration"] % every == 0 or row["what"] == "final":
            message = f"{name} {row['iteration']:5d} {row['objective']:.6g} {row['seconds']:.1f} s"
            chain = f", chain {row['chain'] + 1}" if "chain" in row else ""
            sys.stderr.write(f"{message} {row['what']}{chain}\n")  # chains must not mix lines

    return listen


def _bar_listener(bar: Any, name: str, n_init: int) -> Listener:
    task = _begin(bar, f"{name} 1/{n_init}", None)
    done = 0

    def listen(row: dict[str, Any]) -> None:
        nonlocal done
        done += row["what"] == "final"
        shown = f"{name} {min(done + 1, n_init)}/{n_init}"
        message = _status(row["iteration"], row)
        bar.update(task, completed=row["iteration"], message=message, description=shown)

    return listen


def _filling_listener(bar: Any, name: str, total: int) -> Listener:
    task = _begin(bar, name, total)
    done = 0

    def listen(row: dict[str, Any]) -> None:
        nonlocal done
        done += 1
        bar.update(task, completed=done, message=_status(done, row))

    return listen


def _bar() -> Any:
    """A progress bar on standard error that disappears when it is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[message]}"),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _begin(bar: Any, name: str, total: int | None) -> Any:
    """Draw the bar now, because compilation may block the thread that refreshes it."""
    task = bar.add_task(name, total=total, message=PREPARING)
    bar.refresh()
    return task


def _status(iterations: int, row: dict[str, Any]) -> str:
    return f"{iterations} iterations, objective {row['objective']:.6g}"


@contextmanager
def stages(name: str, verbose: int | bool, total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with the name of each stage as it begins; `total` are expected.

    Shows nothing, a bar on a terminal, or (verbose >= 2) a line for every stage. A listener that
    `reporting_to` has set is called instead.
    """
    listener = _LISTENER.get()
    if listener is not None:
        numbers = count(1)
        # Nested stages are not reported: the bar would fill up again and again.
        outer = _LISTENER.set(_ignore)
        try:
            yield lambda stage: listener(stage, next(numbers), total)
        finally:
            _LISTENER.reset(outer)
    elif not verbose or (verbose < 2 and not sys.stderr.isatty()):
        yield lambda stage: None
    elif verbose >= 2:
        yield _stage_printer(name, total)
    else:
        with _bar() as bar:
            task = _begin(bar, name, total)
            begun = 0

            def begin(stage: str) -> None:
                nonlocal begun
                bar.update(task, completed=begun, message=stage)
                begun += 1

            yield begin


def _stage_printer(name: str, total: int) -> Callable[[str], None]:
    begun = 0

    def begin(stage: str) -> None:
        nonlocal begun
        begun += 1
        print(f"{name} {begun}/{total} {stage}", file=sys.stderr)

    return begin
