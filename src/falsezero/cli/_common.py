"""Options and helpers of several commands: the model, progress, messages, P(u|k)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from falsezero.models import MODELS

__all__ = [
    "Number",
    "Registered",
    "Whole",
    "announce_reading",
    "build_model",
    "components_option",
    "fitting_options",
    "groups_option",
    "is_quiet",
    "is_watched",
    "jobs_option",
    "keep_option",
    "keep_weights",
    "load_model",
    "model_argument",
    "more_option",
    "name_option",
    "page_options",
    "phantoms_of",
    "quiet_option",
    "resumable",
    "say",
    "seed_option",
    "shown_number",
    "title_option",
    "together",
    "was_interrupted",
    "working",
]

DEFAULT_RESTARTS = 5

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

model_argument = click.argument("model", metavar="MODEL.fz")


class Registered(click.ParamType):
    """A name out of a registry, which may have grown since this module was imported."""

    def __init__(self, name: str, registry: Mapping[str, Any]):
        self.name, self.registry = name, registry

    def get_metavar(self, param: Any, ctx: Any = None) -> str:
        """The names, as click shows a choice."""
        return f"[{'|'.join(self.registry)}]"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """The name itself, if the registry has it."""
        if value not in self.registry:
            listed = ", ".join(map(repr, self.registry))
            self.fail(f"{value!r} is not one of {listed}.", param, ctx)
        return str(value)


class Whole(click.IntRange):
    """Whole numbers, under a name that error messages can use."""

    name = "whole number"


class Number(click.FloatRange):
    """Numbers, under a name that error messages can use."""

    name = "number"


components_option = click.option(
    "-k", "n_components", type=Whole(min=1), metavar="K", help="Number of components."
)
keep_option = click.option(
    "--keep",
    metavar="1=0,4=0.5",
    help="How much of a component to keep, numbered as in `falsezero info`: 0 removes it, 1 keeps "
    "it. Default: 0 for phantoms, 1 for the others. `all` keeps all.",
)


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _can_be_written(context: Any, parameter: Any, path: str | None) -> str | None:
    """Check the path before the work begins; without one, import nothing."""
    if path is None:
        return None
    from falsezero.data.output import check_target

    return str(check_target(path))


name_option = click.option(
    "--model",
    "name",
    type=Registered("model", MODELS),
    default="aspect-bernoulli",
    show_default=True,
    help="The model to fit.",
)

more_option = click.option(
    "--option",
    "more",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any other parameter of the model, such as inference=vb; may be repeated.",
)

seed_option = click.option(
    "--seed",
    type=Whole(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Random seed; the same seed gives the same answer.",
)


def _check_jobs(context: Any, parameter: Any, jobs: int | None) -> int | None:
    if jobs == 0:
        raise click.BadParameter("0 would do nothing; give 1 or more, or -1 for all processors.")
    return jobs


jobs_option = click.option(
    "--jobs",
    type=int,
    metavar="N",
    callback=_check_jobs,
    help="Number of threads or processes; the answer does not depend on it.",
)

title_option = click.option("--title", metavar="TEXT", help="Title of the page.")

groups_option = click.option(
    "--groups",
    metavar="FILE",
    help="A file with row labels and their groups, such as ages or parties, to show on the page.",
)

image_option = click.option(
    "--image",
    type=int,
    nargs=2,
    metavar="HEIGHT WIDTH",
    help="The columns are pixels of an image of this size.",
)

page_options = together(title_option, groups_option, image_option)

_QUIET = "falsezero.quiet"


def _remember_quiet(context: click.Context, parameter: Any, quiet: bool) -> None:
    context.meta[_QUIET] = quiet


quiet_option = click.option(
    "--quiet",
    "-q",
    is_flag=True,
    expose_value=False,
    callback=_remember_quiet,
    help="Show neither progress nor how the table was read.",
)

fitting_options = together(
    click.option(
        "--restarts",
        type=Whole(min=1),
        metavar="N",
        help=f"Random starts; the best is kept.  [default: {DEFAULT_RESTARTS}]",
    ),
    seed_option,
    click.option(
        "--max-iter", type=Whole(min=1), metavar="N", help="Largest number of iterations."
    ),
    click.option(
        "--tol",
        type=Number(min=0),
        metavar="X",
        help="Stop when an iteration gains less than this share of the objective.",
    ),
    jobs_option,
    click.option(
        "--checkpoint",
        metavar="FILE",
        callback=_can_be_written,
        help="Save progress here; the same command resumes from it after an interruption.",
    ),
)


def was_interrupted(problem: BaseException) -> bool:
    """Whether Ctrl-C was pressed; inside compiled code it surfaces as another error."""
    return isinstance(problem, KeyboardInterrupt) or isinstance(
        problem.__cause__, KeyboardInterrupt
    )


@contextmanager
def resumable(checkpoint: str | None) -> Iterator[None]:
    """Keep the checkpoint until results are written; on Ctrl-C, print how to resume."""
    from falsezero.inference.checkpoint import keeping_checkpoints

    try:
        with keeping_checkpoints():
            yield
    except BaseException as problem:
        if was_interrupted(problem) and checkpoint is not None and Path(checkpoint).exists():
            say(f"Run the same command again to resume from {checkpoint}.")
        raise


def say(message: str) -> None:
    """Print a message on standard error."""
    from falsezero.data.plain_text import printable

    click.echo(printable(message), err=True)


def is_quiet() -> bool:
    """Whether the command was given --quiet."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET))


def is_watched() -> bool:
    """Whether to show progress: on a terminal, and without --quiet."""
    return sys.stderr.isatty() and not is_quiet()


@contextmanager
def working(what: str) -> Iterator[None]:
    """On a terminal, show that work is going on, and for how long."""
    from falsezero.inference.progress import stages

    with stages("falsezero", int(is_watched()), 1) as begin:
        begin(what)
        yield


_LARGE = 10_000_000
"""File size in bytes from which reading takes noticeable time."""


def announce_reading(path: str) -> None:
    """On a terminal, say at once that a large file is being read."""
    file = Path(path)
    if is_watched() and file.is_file() and file.stat().st_size > _LARGE:
        say(f"Reading {path} ({file.stat().st_size / 1e6:,.0f} MB) ...")


def load_model(path: str) -> Any:
    """The model in a file, announced if it is large."""
    import falsezero as fz

    announce_reading(path)
    return fz.load(path)


def shown_number(component: Any) -> Any:
    """The number shown to people, who count components from 1."""
    return component + 1


def build_model(
    name: str,
    *,
    n_components: int | None = None,
    restarts: int | None = None,
    seed: int | None = None,
    max_iter: int | None = None,
    tol: float | None = None,
    jobs: int | None = None,
    checkpoint: str | None = None,
    more: tuple[str, ...] = (),
    quiet: bool = False,
) -> Any:
    """A model built from options; an option that it does not have is a usage error."""
    from falsezero.models import model_class

    kind = model_class(name)
    defaults = kind().get_params(deep=False)
    defaults.pop("callback", None)
    asked = {
        "n_components": ("-k", n_components),
        "n_init": ("--restarts", restarts),
        "max_iter": ("--max-iter", max_iter),
        "tol": ("--tol", tol),
        "n_jobs": ("--jobs", jobs),
        "checkpoint": ("--checkpoint", checkpoint),
    }
    given: dict[str, Any] = {key: value for key, (_, value) in asked.items() if value is not None}
    for key in sorted(given.keys() - defaults.keys()):
        raise click.UsageError(
            f"The model {name} has no {key}, which {asked[key][0]} sets; its parameters, each set "
            f"by --option NAME=VALUE, are {', '.join(defaults)}."
        )
    automatic: dict[str, Any] = {
        "n_init": DEFAULT_RESTARTS,
        "random_state": seed,
        "verbose": int(is_watched() and not quiet),
    }
    given = {k: v for k, v in automatic.items() if k in defaults} | given
    return kind(**(given | _more_options(name, more, defaults)))


def _more_options(name: str, more: tuple[str, ...], defaults: dict[str, Any]) -> dict[str, Any]:
    from falsezero.data.errors import suggest

    options = {}
    for item in more:
        key, equals, text = item.partition("=")
        if not equals:
            raise click.UsageError(f"--option needs NAME=VALUE, but is {item!r}.")
        if key not in defaults:
            close = suggest(key, defaults, "it has")
            raise click.UsageError(f"The model {name} has no parameter {key!r}; {close}")
        options[key] = _value(text)
    return options


def _value(text: str) -> Any:
    """JSON where it is JSON, else the text itself; Python's None, True and False too.

    >>> [_value(text) for text in ("3", "0.5", "vb", "None", "[1, 2]")]
    [3, 0.5, 'vb', None, [1, 2]]
    """
    spelled = {"None": None, "True": True, "False": False}
    try:
        return spelled[text] if text in spelled else json.loads(text)
    except ValueError:
        return text


def phantoms_of(model: Any) -> Any:
    """The result of `find_phantoms`, or None for a model that cannot have phantoms."""
    import falsezero as fz

    return fz.find_phantoms(model) if model.capabilities.cell_has_cause else None


def keep_weights(model: Any, text: str | None) -> Any:
    """P(u|k) from ``--keep``, or None where the phantoms decide."""
    import numpy as np

    if text is None:
        return None
    n_components = len(model.components_)
    keep = np.ones(n_components)
    if text.strip() == "all":
        return keep
    phantoms = phantoms_of(model)
    if phantoms is not None:
        keep = phantoms.keep
    for item in text.split(","):
        number, _, weight = item.partition("=")
        try:
            position, value = int(number) - 1, float(weight)
        except ValueError:
            position, value = -1, -1.0
        if not (0 <= position < n_components and 0 <= value <= 1):
            raise click.UsageError(
                f"--keep needs NUMBER=WEIGHT pairs such as 1=0,4=0.5, with numbers from 1 to "
                f"{n_components} and weights from 0 to 1, but found {item.strip()!r}."
            )
        keep[position] = value
    if not keep.any():
        raise click.UsageError("--keep removes every component; keep at least one.")
    return keep
