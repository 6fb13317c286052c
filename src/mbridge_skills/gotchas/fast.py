"""Many conditions as one Python function, for configurations of which every operand is known.

The function does what the closures of :mod:`mbridge_skills.gotchas.expression` do when nothing is unknown.
Where Python refuses an operation, it gives None and the closures decide. It is compiled from nodes that the
reader of conditions let through; no text of a gotcha reaches the compiler.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.gotchas.expression import Expression, Satisfied, answer

Hits = Callable[[Mapping[str, Any]], "tuple[list[int], list[int]] | None"]
"""Operands in; out come the numbers of the conditions that hold, and of those that may hold, in order."""
_NUMBERS = frozenset({int, float, bool, type(None)})
Numbered = Sequence[tuple[int, Expression]]


def compile_hits(decided: Numbered, possible: Numbered, satisfied: Satisfied) -> Hits:
    """One function for all these conditions. It gives None where it cannot decide.

    Those in ``decided`` ask for known releases only. Those in ``possible`` may hold where the condition does
    with an unknown release taken as satisfying what is asked, or as not satisfying it.
    """
    locals_: dict[str, str] = {}
    conditions = [(number, "add", [expression.tree]) for number, expression in decided]
    conditions += [(number, "ask", [expression.tree] * 2) for number, expression in possible]
    statements: list[ast.stmt] = []
    for number, call, trees in conditions:
        tests = [
            _lowered(tree, locals_, satisfied, otherwise=taken)
            for tree, taken in zip(trees, (True, False), strict=False)
        ]
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)
        statements.append(ast.If(test, [ast.Expr(ast.Call(_name(call), [ast.Constant(number)], []))], []))
    loads: list[ast.stmt] = [
        ast.Assign(
            [_name(local, ast.Store())], ast.Subscript(_name("values"), ast.Constant(operand), ast.Load())
        )
        for operand, local in locals_.items()
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


def _lowered(node: Any, locals_: dict[str, str], satisfied: Satisfied, otherwise: bool) -> Any:
    """A copy with operands as local variables and questions for a release answered.

    The tree of a derived name may stand in several places of one condition, so nothing is changed in place.
    """
    if isinstance(node, list):
        return [_lowered(item, locals_, satisfied, otherwise) for item in node]
    if isinstance(node, ast.Name):
        return _name(locals_.setdefault(node.id, f"v{len(locals_)}"))
    if isinstance(node, ast.Call):
        held = answer(node, satisfied)
        return ast.Constant(otherwise if held is UNKNOWN else held)
    if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
        fields = ast.iter_fields(node)
        return type(node)(**{name: _lowered(part, locals_, satisfied, otherwise) for name, part in fields})
    return node


def _name(text: str, context: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(text, context or ast.Load())
