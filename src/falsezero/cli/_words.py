"""Translate the library's messages: parameters of functions become options of the shell."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable

from falsezero.data.errors import as_sentence

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
    "loss": "--loss",
    "detection": "--detection",
    "certain": "--certain",
    "revisits": "--revisits",
    "fdr": "--fdr",
}
_ARGUMENT = re.compile(rf"(?<![\w.-])({'|'.join(OPTION_OF)})=(?=([\w'\"(]?))")
_BARE = re.compile(r"(?<![\w.'-])(max_iter|n_init|tol)(?![\w='])")

_OTHERWISE: dict[str, str | Callable[[re.Match[str]], str]] = {
    r"(?<=['\"]) and (?=(?:column|drop)=)": " ",
    r"\bindex=False": "--no-index",
    r"\bheader=False": "--no-header",
    r"\bkind='count' to keep counts": "a model of counts, as discrete-pca is",
    r"\bkind='real' to keep any number": "a model of real numbers, as bmf is",
    r"\bmarks=(\{[^}]*\})": lambda found: _each("--mark", found[1]),
    r"\bdrop=(\[[^]]*\])": lambda found: _each("--drop", found[1]),
    r"\(0: absent, None: not observed\)": "(=0: absent, =NA: not observed)",
    r"\(1: present, 0: absent\)": "(=1: present, =0: absent)",
    r"\bn_components=range\((\d+), (\d+)\)": lambda found: f"-k {found[1]}-{int(found[2]) - 1}",
    r"BinaryICA\(inference='vb'\)": "binary-ica with --option inference=vb",
    r", such as table\.select\([^;.]*\)\)": "",
    r"calibrate with revisits \(fz\.calibrate\)": "look again at some rows (--revisits)",
    r"compare models with compare\(\)": "see falsezero compare",
    r"\(loss=\), detection rates \(detection=\), or calibrate with revisits \(fz\.calibrate\)": (
        "(--loss), or list repeated looks (--look)"
    ),
}
"""Phrases that need their own translation."""


def one_sentence(problem: object) -> str:
    """An error or warning as one line, with options where the library names parameters.

    >>> one_sentence(ValueError("found 3; values above binarize= become ones, as in binarize=0.0."))
    'found 3; values above --binarize become ones, as in --binarize 0.0.'
    >>> one_sentence(ValueError("pass index=False, or marks={'-': None} if nobody looked."))
    'pass --no-index, or --mark -=NA if nobody looked.'
    """
    sentence = as_sentence(problem)
    for pattern, words in _OTHERWISE.items():
        sentence = re.sub(pattern, words, sentence)
    sentence = _BARE.sub(lambda found: OPTION_OF[found[1]], sentence)
    return _ARGUMENT.sub(lambda found: OPTION_OF[found[1]] + (" " if found[2] else ""), sentence)


def _each(option: str, listed: str) -> str:
    """An option that is given once for every entry of a list or dict."""
    try:
        entries = ast.literal_eval(listed)
    except (SyntaxError, ValueError):
        return f"{option} ..."
    if isinstance(entries, dict):
        entries = [f"{k}={'NA' if v is None else v}" for k, v in entries.items()]
    return " ".join(f"{option} {shlex.quote(entry)}" for entry in entries)
