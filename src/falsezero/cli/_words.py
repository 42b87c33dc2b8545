"""The library's sentences in the shell's words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

__all__ = ["one_sentence"]

OPTION_OF = {
    "row": "--row",
    "column": "--column",
    "value": "--value",
    "surveyed": "--surveyed",
    "binarize": "--binarize",
    "index": "--index",
    "drop": "--drop",
    "skip": "--skip",
    "duplicates": "--duplicates",
    "layer": "--layer",
    "delimiter": "--delimiter",
    "encoding": "--encoding",
    "max_gigabytes": "--max-gigabytes",
    "keep": "--keep",
    "image_shape": "--image",
    "criterion": "--criterion",
    "n_splits": "--splits",
    "n_components": "-k",
    "n_init": "--restarts",
    "max_iter": "--max-iter",
    "tol": "--tol",
    "checkpoint": "--checkpoint",
    "random_state": "--seed",
    "n_jobs": "--jobs",
}
_ARGUMENT = re.compile(rf"(?<![\w.-])({'|'.join(OPTION_OF)})=(?=([\w'\"(]?))")
_BARE = re.compile(r"(?<![\w.'-])(max_iter|n_init|tol)(?![\w='])")

_OTHERWISE: dict[str, str | Callable[[re.Match[str]], str]] = {
    r"\bindex=False": "--no-index",
    r"\bheader=False": "--no-header",
    r"\bkind='count' to keep counts": "a model of counts, as discrete-pca is",
    r"\bkind='real' to keep any number": "a model of real numbers, as bmf is",
    r"\bmarks=\{(['\"])(.*?)\1: (\w+)\}": lambda found: _mark(found[2], found[3]),
    r"\(0: absent, None: not observed\)": "(=0: absent, =NA: not observed)",
    r"\bn_components=range\((\d+), (\d+)\)": lambda found: f"-k {found[1]}-{int(found[2]) - 1}",
    r"BinaryICA\(inference='vb'\)": "binary-ica with --option inference=vb",
    r", such as table\.select\([^;.]*\)\)": "",
    r"compare models with compare\(\)": "see falsezero compare",
}
"""What the shell says in a way of its own."""


def one_sentence(problem: object) -> str:
    """An error or warning as one line, with options where the library names parameters.

    >>> one_sentence(ValueError("found 3; values above binarize= become ones, as in binarize=0.0."))
    'found 3; values above --binarize become ones, as in --binarize 0.0.'
    >>> one_sentence(ValueError("pass index=False, or marks={'-': None} if nobody looked."))
    'pass --no-index, or --mark -=NA if nobody looked.'
    """
    sentence = " ".join(str(problem).split())
    if isinstance(problem, OSError) and problem.strerror:
        sentence = f"{problem.strerror}: {problem.filename}."
    known = isinstance(problem, (ValueError, OSError, ImportError, Warning, str))
    if isinstance(problem, MemoryError):
        reason = f" ({sentence})" if sentence else ""
        sentence = f"There is not enough memory{reason}."
    elif not sentence or not (known or sentence.endswith(".")):
        kind = type(problem).__name__
        sentence = f"{kind}: {sentence or 'no message'}; this is a mistake in falsezero, please "
        sentence += "report it."
    for pattern, words in _OTHERWISE.items():
        sentence = re.sub(pattern, words, sentence)
    sentence = _BARE.sub(lambda found: OPTION_OF[found[1]], sentence)
    return _ARGUMENT.sub(lambda found: OPTION_OF[found[1]] + (" " if found[2] else ""), sentence)


def _mark(text: str, means: str) -> str:
    meaning = "NA" if means == "None" else means
    return f"--mark {shlex.quote(f'{text}={meaning}')}"
