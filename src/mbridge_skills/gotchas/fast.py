"""Many conditions as one Python function, for configurations of which every operand is known.

The function does what the closures of :mod:`mbridge_skills.gotchas.expression` do when nothing is unknown.
Where Python refuses an operation, it gives None and the closures decide. It is compiled from nodes that the
reader of conditions let through; no text of a gotcha reaches the compiler.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.gotchas.expression import Expression, Satisfied, answer

Hits = Callable[[Mapping[str, Any]], "tuple[list[int], list[int]] | None"]
"""Operands in; out come the numbers of the conditions that hold, and of those that may hold."""
_NUMBERS = frozenset({int, float, bool, type(None)})
_OFTEN = 4
Numbered = Sequence[tuple[int, Expression]]


def compile_hits(decided: Numbered, possible: Numbered, satisfied: Satisfied) -> Hits:
    """One function for all these conditions. It gives None where it cannot decide.

    Those in ``decided`` ask for known releases only. Those in ``possible`` may hold where the condition does
    with an unknown release taken as satisfying what is asked, or as not satisfying it.
    """
    conditions = [(number, "add", [expression.tree]) for number, expression in decided]
    conditions += [(number, "ask", [expression.tree] * 2) for number, expression in possible]
    lowering = _Lowering(satisfied, _often_used(expression for _, expression in (*decided, *possible)))
    grouped: dict[str, tuple[ast.expr | None, list[ast.stmt]]] = {}
    for number, call, trees in conditions:
        first, rest = _split(trees[0]) if len(trees) == 1 else (None, trees)
        tests = [lowering.lowered(tree, taken) for tree, taken in zip(rest, (True, False), strict=False)]
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)
        statement = ast.If(test, [ast.Expr(ast.Call(_name(call), [ast.Constant(number)], []))], [])
        shared = None if first is None else lowering.lowered(first, True)
        grouped.setdefault(ast.dump(shared) if shared else "", (shared, []))[1].append(statement)
    statements: list[ast.stmt] = []
    for shared, inner in grouped.values():
        statements += [ast.If(shared, inner, [])] if shared else inner
    loads: list[ast.stmt] = [
        ast.Assign([_name(local, ast.Store())], _loaded(operand))
        for operand, local in lowering.locals.items()
    ]
    names = [ast.arg(name) for name in ("values", "add", "ask")]
    arguments = ast.arguments([], names, None, [], [], None, [])
    function = ast.FunctionDef("judge", arguments, [*loads, *statements] or [ast.Pass()], [], None)
    function.type_params = []  # type: ignore[attr-defined,unused-ignore]  # Python 3.12 asks for it
    module = ast.fix_missing_locations(ast.Module([function], []))
    namespace: dict[str, Any] = {"__builtins__": {}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # "0 is None" is odd, but means what it says
        exec(compile(module, "<conditions>", "exec"), namespace)
    judge = namespace["judge"]
    every = [expression for _, expression in (*decided, *possible)]
    calculated = sorted({operand for expression in every for operand in expression.numbers})

    def hits(values: Mapping[str, Any]) -> tuple[list[int], list[int]] | None:
        for operand in calculated:
            if type(values[operand]) not in _NUMBERS:
                return None
        found: list[int] = []
        ask: list[int] = []
        try:
            judge(values, found.append, ask.append)
        except (TypeError, ArithmeticError):
            return None
        return found, ask

    return hits


def _split(tree: ast.expr) -> tuple[ast.expr | None, list[ast.expr]]:
    """The first part of an ``and``, and the rest: many conditions begin alike, and are tested for it once."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        first, *rest = tree.values
        return first, [rest[0] if len(rest) == 1 else ast.BoolOp(ast.And(), rest)]
    return None, [tree]


def _often_used(expressions: Iterable[Expression]) -> set[str]:
    """The operands that are read once for all conditions; the others are read where they are needed."""
    uses = Counter(operand for expression in expressions for operand in expression.operands)
    return {operand for operand, count in uses.items() if count >= _OFTEN}


class _Lowering:
    """Copies conditions with operands as local variables or look-ups, and questions for a release answered.

    The tree of a derived name may stand in several places of one condition, so nothing is changed in place.
    """

    def __init__(self, satisfied: Satisfied, often_used: set[str]) -> None:
        self.locals: dict[str, str] = {
            operand: f"v{place}" for place, operand in enumerate(sorted(often_used))
        }
        self._satisfied = satisfied

    def lowered(self, node: Any, otherwise: bool) -> Any:
        """The copy; an unknown release is taken to satisfy what is asked if ``otherwise``."""
        if isinstance(node, list):
            return [self.lowered(item, otherwise) for item in node]
        if isinstance(node, ast.Name):
            local = self.locals.get(node.id)
            return _name(local) if local else _loaded(node.id)
        if isinstance(node, ast.Call):
            held = answer(node, self._satisfied)
            return ast.Constant(otherwise if held is UNKNOWN else held)
        if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            fields = ast.iter_fields(node)
            return type(node)(**{name: self.lowered(part, otherwise) for name, part in fields})
        return node


def _loaded(operand: str) -> ast.expr:
    return ast.Subscript(_name("values"), ast.Constant(operand), ast.Load())


def _name(text: str, context: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(text, context or ast.Load())
