"""The library's sentences in the shell's words."""

from __future__ import annotations

import re

__all__ = ["one_sentence"]

OPTION_OF = {
    "row": "--row",
    "column": "--column",
    "value": "--value",
    "surveyed": "--surveyed",
    "binarize": "--binarize",
    "index": "--index",
    "duplicates": "--duplicates",
    "layer": "--layer",
    "delimiter": "--delimiter",
    "encoding": "--encoding",
    "keep": "--keep",
    "n_components": "-k",
    "n_init": "--restarts",
    "max_iter": "--max-iter",
    "tol": "--tol",
    "checkpoint": "--checkpoint",
    "random_state": "--seed",
    "n_jobs": "--jobs",
}
_ARGUMENT = re.compile(rf"(?<![\w.-])({'|'.join(OPTION_OF)})=(?=([\w'\"]?))")
_BARE = re.compile(r"(?<![\w.'-])(max_iter|n_init|tol)(?![\w='])")


def one_sentence(problem: object) -> str:
    """An error or warning as one line, with options where the library names parameters.

    >>> one_sentence(ValueError("found 3; values above binarize= become ones, as in binarize=0.0."))
    'found 3; values above --binarize become ones, as in --binarize 0.0.'
    """
    said = " ".join(str(problem).split())
    if isinstance(problem, OSError) and problem.strerror:
        said = f"{problem.strerror}: {problem.filename}."
    known = isinstance(problem, (ValueError, OSError, ImportError, Warning, str))
    if isinstance(problem, MemoryError):
        said = f"There is not enough memory ({said})." if said else "There is not enough memory."
    elif not said or not (known or said.endswith(".")):
        kind = type(problem).__name__
        said = f"{kind}: {said or 'no message'}; this is a mistake in falsezero, please report it."
    said = _BARE.sub(lambda found: OPTION_OF[found[1]], said)
    return _ARGUMENT.sub(lambda found: OPTION_OF[found[1]] + (" " if found[2] else ""), said)
