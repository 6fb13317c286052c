"""``$(( ))``: integers, variables and the usual operators. Anything else is a HOLE."""

from __future__ import annotations

import ast
import operator
import re
from typing import Any

from mbridge_skills.readers.shell.state import State
from mbridge_skills.readers.shell.text import Mark, Text, hole

_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)|\b([A-Za-z_]\w*)\b", re.ASCII)
_MAX_LENGTH = 400


class _NotKnownError(Exception):
    """The expression has something in it that is not known."""


def evaluate(source: str, state: State, mark: Mark) -> Text:
    """The value of an arithmetic expression as text."""
    unless: list[str] = []

    def value_of(match: re.Match[str]) -> str:
        name = match[1] or match[2] or match[3]
        value = state.variables.get(name, state.slurm.get(name))
        if not isinstance(value, Text) or not re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", value.value.strip()):
            raise _NotKnownError
        unless.extend(each.unless for each in value.marks if each.unless)
        return f"({value.value.strip()})"

    try:
        expression = _VARIABLE.sub(value_of, source.strip())
        if len(expression) > _MAX_LENGTH or "**" in expression:
            return hole(mark)
        number = _number(ast.parse(expression.replace("/", "//"), mode="eval").body)
    except (_NotKnownError, SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return hole(mark)
    text = Text.at(str(int(number)), mark)
    return text.unless(unless[0]) if unless else text


def _number(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_number(inner)
        case ast.BinOp(op=ast.FloorDiv(), left=left, right=right):
            return _quotient(_number(left), _number(right))
        case ast.BinOp(op=ast.Mod(), left=left, right=right):
            a, b = _number(left), _number(right)
            return a - b * _quotient(a, b)
        case ast.BinOp(op=kind, left=left, right=right) if type(kind) in _OPERATORS:
            value = _OPERATORS[type(kind)](_number(left), _number(right))
            return int(value) if abs(value) < 1 << 63 else _fail()
        case ast.Compare(left=left, ops=[kind], comparators=[right]) if type(kind) in _OPERATORS:
            return int(_OPERATORS[type(kind)](_number(left), _number(right)))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _number(body) if _number(test) else _number(orelse)
    return _fail()


def _quotient(a: int, b: int) -> int:
    """Division as in C: towards zero."""
    if not b:
        return _fail()
    return abs(a) // abs(b) * (1 if (a < 0) is (b < 0) else -1)


def _fail() -> int:
    raise _NotKnownError
