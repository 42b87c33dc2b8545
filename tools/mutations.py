"""The small changes that `tools/mutants.py` makes: which places can be changed, and how.

Comparisons, arithmetic, `and` and `or`, signs, numbers, and True and False.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

__all__ = ["lines_of", "mutated", "places", "words_of"]

_OPPOSITES = [
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot)),
    (ast.In, ast.NotIn),
]
COMPARISONS = dict(_OPPOSITES) | {b: a for a, b in _OPPOSITES}
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
}  # fmt: skip
IDLE = ("strict", "stacklevel", "flush", "copy", "optimize")
"""Keywords that change no answer."""
LEAST, MOST = 1e-6, 1e12
"""Numbers beyond are guards against division by zero and overflow: twice as much is as good."""
SPOKEN = ("warn", "print")
"""Calls whose arguments are messages."""
BOOLEAN = {ast.And: ast.Or, ast.Or: ast.And}


def places(tree: ast.Module) -> list[ast.AST]:
    """Nodes inside functions that can be changed, in the order of the source."""
    idle = {id(node) for call in ast.walk(tree) for node in _open_sizes(call)}
    nodes = (node for node in _semantic(tree) if id(node) not in idle)
    return [node for node in nodes if _changed(node) is not None]


def _open_sizes(node: ast.AST) -> Iterator[ast.AST]:
    """The 1 of each -1 that `reshape` is given: any number below zero is as good."""
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "reshape":
        for size in node.args:
            if isinstance(size, ast.UnaryOp) and isinstance(size.op, ast.USub):
                yield size.operand


def _semantic(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that decide what is computed: no messages, annotations, defaults, module constants."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "args", "bases") and not isinstance(
            node, ast.Call
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_idle(child):
                continue
            if isinstance(node, (ast.Module, ast.ClassDef)) and not isinstance(
                child, (ast.FunctionDef, ast.ClassDef)
            ):
                continue
            yield child
            yield from _semantic(child)


def _is_idle(node: ast.AST) -> bool:
    """Whether a node only speaks: an error, a warning, a message, an option of no consequence."""
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        return name in SPOKEN
    is_option = isinstance(node, ast.keyword) and node.arg in IDLE
    return is_option or isinstance(node, (ast.Raise, ast.JoinedStr))


def _changed(node: ast.AST) -> ast.AST | None:
    """What a node becomes; None for one that stays."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS and not _is_drawn(node):
        first = COMPARISONS[type(node.ops[0])]()
        return ast.Compare(node.left, [first, *node.ops[1:]], node.comparators)
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not _is_text(node):
        return ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(BOOLEAN[type(node.op)](), node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        return node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        value = node.value
        if 0 < abs(value) < LEAST or abs(value) > MOST:
            return None
        new = not value if isinstance(value, bool) else value + 1 if value in (0, 1) else value * 2
        return ast.Constant(new)
    return None


def _is_drawn(node: ast.Compare) -> bool:
    """Whether a uniform random number is compared: it is never equal to anything."""
    calls = (child.func for child in ast.walk(node) if isinstance(child, ast.Call))
    return any(isinstance(func, ast.Attribute) and func.attr == "random" for func in calls)


def _is_text(node: ast.BinOp) -> bool:
    sides = [getattr(side, "value", side) for side in (node.left, node.right)]
    return any(isinstance(side, (ast.JoinedStr, str)) for side in sides)


def words_of(node: ast.AST) -> str:
    """The change of a place in words."""
    return f"line {node.lineno}: {ast.unparse(node)} -> {ast.unparse(_changed(node))}"


def mutated(source: str, number: int) -> tuple[ast.Module, str]:
    """The syntax tree with one place changed, and the change in words.

    >>> tree, words = mutated("def f(x):\\n    return x < 3", 0)
    >>> words, ast.unparse(tree.body[0].body[0])
    ('line 2: x < 3 -> x <= 3', 'return x <= 3')
    """
    tree = ast.parse(source)
    node = places(tree)[number]
    new, words = ast.copy_location(copy.deepcopy(_changed(node)), node), words_of(node)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, new)
            elif isinstance(value, list):
                setattr(parent, name, [new if child is node else child for child in value])
    return ast.fix_missing_locations(tree), words


def lines_of(source: str, number: int) -> range:
    """Lines of the smallest statement (of a compound one, its head) around a place."""
    tree = ast.parse(source)
    line = places(tree)[number].lineno
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line)
    ]
    smallest = min(around, key=lambda node: (node.end_lineno or line) - node.lineno)
    body = getattr(smallest, "body", None)
    end = body[0].lineno - 1 if body else smallest.end_lineno or line
    return range(smallest.lineno, max(end, line, smallest.lineno) + 1)
