"""The conditions of gotchas: a subset of Python's expressions over settings, with unknown as a third truth
value.

An operand is a dotted config path (``ddp.use_megatron_fsdp``), a variable of the environment
(``env["CUDA_DEVICE_MAX_CONNECTIONS"]``, None where it is unset), ``world_size``, ``device_capability`` (a
tuple), or a name of :mod:`mbridge_skills.gotchas.derived`. ``bridge(">=0.5")``, ``core("<0.18")``,
``te("<2.10")`` and ``torch(">=2.11")`` ask for a release. A condition is parsed once; for a release it
becomes a closure, or, where all operands are known, plain Python code (:mod:`mbridge_skills.gotchas.fast`).

Unknown spreads: an operator with an unknown operand, or one that Python refuses (``None < 2``), gives
UNKNOWN; ``and``, ``or`` and the conditional expression give a value where the known operands decide it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mbridge_skills.config.view import UNKNOWN

Run = Callable[[Mapping[str, Any]], Any]
"""Operands by name in, value or UNKNOWN out."""
Satisfied = Callable[[str, str], bool | None]
"""Distribution and specifier in; None where that release is unknown."""

RELEASES: Final[Mapping[str, str]] = {
    "bridge": "megatron-bridge",
    "core": "megatron-core",
    "te": "transformer-engine",
    "torch": "torch",
}
BARE_OPERANDS: Final = frozenset({"world_size", "device_capability"})
SECTIONS: Final = frozenset({"comm_overlap", "mixed_precision", "peft"})
"""Paths without a dot: sections that may be None as a whole."""
ENVIRONMENT: Final = "env:"
"""Prefix of the operands that are variables of the environment."""

_MAX_LENGTH = 2000
_MAX_DEPTH = 60

_COMPARE: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, group: item in group,
    ast.NotIn: lambda item, group: item not in group,
}
_ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


class ExpressionError(ValueError):
    """A condition that is none. ``column`` counts from 1 in its text."""

    def __init__(self, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


@dataclass(frozen=True)
class Expression:
    """A parsed condition. In ``tree`` every operand is a ``Name`` whose id is the operand's name."""

    text: str
    tree: ast.expr
    operands: frozenset[str]
    numbers: frozenset[str]  # the operands that it calculates with
    paths: frozenset[str]  # the operands that are config paths
    questions: tuple[tuple[str, str], ...]  # distribution and specifier of each question for a release

    def evaluator(self, satisfied: Satisfied) -> Run:
        """The condition as a function, with the questions for releases answered by ``satisfied``."""
        return _closure(self.tree, satisfied)


def parse(text: str, derived: Mapping[str, Expression] | None = None) -> Expression:
    """Parse the condition ``text``; ``derived`` are the names that stand for other expressions.

    Raises:
        ExpressionError: it is no expression of this subset.
    """
    if len(text) > _MAX_LENGTH:
        raise ExpressionError(f"longer than {_MAX_LENGTH} characters")
    if not text.strip():
        raise ExpressionError("not an expression: empty")
    try:
        tree = ast.parse(f"({text}\n)", mode="eval").body  # in parentheses, so that it may run over lines
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        column = max(1, (getattr(error, "offset", None) or 2) - 1)
        raise ExpressionError(f"not an expression: {getattr(error, 'msg', None) or error}", column) from None
    reader = _Reader(derived or {})
    resolved = reader.resolve(tree, 0)
    operands = frozenset(reader.operands)
    paths = frozenset(name for name in operands if is_config_path(name))
    return Expression(text, resolved, operands, frozenset(reader.numbers), paths, tuple(reader.questions))


def is_config_path(operand: str) -> bool:
    """Whether the operand is a dotted path, not world_size or a variable of the environment."""
    return not operand.startswith(ENVIRONMENT) and operand not in BARE_OPERANDS


class _Reader:
    """Checks every node against the subset, and turns dotted names into operands."""

    def __init__(self, derived: Mapping[str, Expression]) -> None:
        self._derived = derived
        self.operands: set[str] = set()
        self.numbers: set[str] = set()
        self.questions: list[tuple[str, str]] = []

    def resolve(self, node: ast.expr, depth: int) -> ast.expr:
        if depth > _MAX_DEPTH:
            raise self._error(node, f"nested deeper than {_MAX_DEPTH} levels")
        below = depth + 1
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str()):
                return node
            case ast.Name() | ast.Attribute():
                return self._name(node)
            case ast.Subscript():
                return self._variable(node)
            case ast.Call():
                return self._release(node)
            case ast.Tuple() | ast.List():
                return ast.Tuple([self.resolve(item, below) for item in node.elts], ast.Load())
            case ast.BoolOp():
                return ast.BoolOp(node.op, [self.resolve(value, below) for value in node.values])
            case ast.UnaryOp(op=ast.Not()):
                return ast.UnaryOp(node.op, self.resolve(node.operand, below))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
                return node
            case ast.IfExp():
                test, body, otherwise = (
                    self.resolve(part, below) for part in (node.test, node.body, node.orelse)
                )
                return ast.IfExp(test, body, otherwise)
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                left, right = self.resolve(node.left, below), self.resolve(node.right, below)
                self._check_numbers(left, node)
                self._check_numbers(right, node)
                return ast.BinOp(left, node.op, right)
            case ast.Compare():
                self._check_comparison(node)
                sides = [self.resolve(side, below) for side in (node.left, *node.comparators)]
                return ast.Compare(sides[0], node.ops, sides[1:])
        raise self._error(node, f"not allowed in a condition: {ast.unparse(node)[:60]}")

    def _name(self, node: ast.expr) -> ast.expr:
        name = _dotted(node)
        if name is None:
            raise self._error(node, f"not a dotted path: {ast.unparse(node)[:60]}")
        if name in self._derived:
            known = self._derived[name]
            self.operands |= known.operands
            self.numbers |= known.numbers
            self.questions += known.questions
            return known.tree
        if "." not in name and name not in BARE_OPERANDS and name not in SECTIONS:
            choices = ", ".join(sorted({*BARE_OPERANDS, *self._derived}))
            raise self._error(node, f'unknown name "{name}": expected a dotted path or one of {choices}')
        self.operands.add(name)
        return ast.Name(name, ast.Load())

    def _variable(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(value=ast.Name(id="env"), slice=ast.Constant(value=str(name))):
                self.operands.add(ENVIRONMENT + name)
                return ast.Name(ENVIRONMENT + name, ast.Load())
        raise self._error(node, 'only env["NAME"] may have a subscript')

    def _release(self, node: ast.Call) -> ast.expr:
        from mbridge_skills.card.versions import specifier_problem

        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(specifier))], keywords=[]):
                if name in RELEASES:
                    problem = specifier_problem(specifier)
                    if problem:
                        raise self._error(node, problem)
                    self.questions.append((RELEASES[name], specifier))
                    return node
        raise self._error(
            node, f'the only calls are {", ".join(RELEASES)} with a specifier, like core(">=0.18")'
        )

    def _check_numbers(self, side: ast.expr, at: ast.expr) -> None:
        """Note what may be calculated with; a text can be told here, an operand's value only later."""
        match side:
            case ast.Name(id=name):
                self.numbers.add(name)
            case ast.BoolOp(values=values):
                for value in values:
                    self._check_numbers(value, at)
            case ast.IfExp(body=body, orelse=otherwise):
                self._check_numbers(body, at)
                self._check_numbers(otherwise, at)
            case ast.Constant(value=None | str()) | ast.Tuple():
                raise self._error(at, f"cannot calculate with {ast.unparse(side)[:60]}")

    def _check_comparison(self, node: ast.Compare) -> None:
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, (ast.Is, ast.IsNot)) and not _is_singleton(right):
                raise self._error(node, '"is" goes with None, True or False only')

    @staticmethod
    def _error(node: ast.expr, message: str) -> ExpressionError:
        return ExpressionError(message, max(1, node.col_offset if node.lineno == 1 else node.col_offset + 1))


def _is_singleton(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))


def _dotted(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def answer(node: ast.Call, satisfied: Satisfied) -> Any:
    """What a question for a release gives: True, False or UNKNOWN."""
    assert isinstance(node.func, ast.Name)
    assert isinstance(node.args[0], ast.Constant)
    held = satisfied(RELEASES[node.func.id], str(node.args[0].value))
    return UNKNOWN if held is None else held


def _closure(node: ast.expr, satisfied: Satisfied) -> Run:
    match node:
        case ast.Constant(value=value):
            return lambda values: value
        case ast.Name(id=name):
            return lambda values: values[name]
        case ast.Call():
            held = answer(node, satisfied)
            return lambda values: held
        case ast.Tuple(elts=elts):
            return _group([_closure(item, satisfied) for item in elts])
        case ast.BoolOp(op=op, values=parts):
            return _connective([_closure(part, satisfied) for part in parts], isinstance(op, ast.Or))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _negation(_closure(operand, satisfied))
        case ast.UnaryOp(operand=ast.Constant(value=int() | float() as number)):
            return lambda values: -number
        case ast.IfExp():
            test, body, otherwise = (
                _closure(part, satisfied) for part in (node.test, node.body, node.orelse)
            )
            return _conditional(test, body, otherwise)
        case ast.BinOp(left=left, op=op, right=right):
            return _arithmetic(_ARITHMETIC[type(op)], _closure(left, satisfied), _closure(right, satisfied))
        case ast.Compare():
            sides = [_closure(side, satisfied) for side in (node.left, *node.comparators)]
            pairs = [
                _comparison(_COMPARE[type(op)], left, right)
                for op, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True)
            ]
            return pairs[0] if len(pairs) == 1 else _connective(pairs, stops_at=False)
    raise AssertionError(f"the reader let {ast.dump(node)} through")


def _group(items: list[Run]) -> Run:
    def run(values: Mapping[str, Any]) -> Any:
        found = tuple(item(values) for item in items)
        return UNKNOWN if any(value is UNKNOWN for value in found) else found

    return run


def _connective(parts: list[Run], stops_at: bool) -> Run:
    """``or`` where ``stops_at`` is true, else ``and``."""

    def run(values: Mapping[str, Any]) -> Any:
        unknown, last = False, None
        for part in parts:
            last = part(values)
            if last is UNKNOWN:
                unknown = True
            elif bool(last) is stops_at:
                return last
        return UNKNOWN if unknown else last

    return run


def _negation(operand: Run) -> Run:
    def run(values: Mapping[str, Any]) -> Any:
        value = operand(values)
        return UNKNOWN if value is UNKNOWN else not value

    return run


def _conditional(test: Run, body: Run, otherwise: Run) -> Run:
    def run(values: Mapping[str, Any]) -> Any:
        decided = test(values)
        if decided is UNKNOWN:
            first, second = body(values), otherwise(values)
            same = first is not UNKNOWN and type(first) is type(second) and first == second
            return first if same else UNKNOWN
        return body(values) if decided else otherwise(values)

    return run


def _comparison(compare: Callable[[Any, Any], Any], left: Run, right: Run) -> Run:
    def run(values: Mapping[str, Any]) -> Any:
        first, second = left(values), right(values)
        if first is UNKNOWN or second is UNKNOWN:
            return UNKNOWN
        try:
            return compare(first, second)
        except TypeError:
            return UNKNOWN

    return run


def _arithmetic(calculate: Callable[[Any, Any], Any], left: Run, right: Run) -> Run:
    def run(values: Mapping[str, Any]) -> Any:
        first, second = left(values), right(values)
        if not (isinstance(first, (int, float)) and isinstance(second, (int, float))):
            return UNKNOWN  # a text times a million is no number either
        try:
            return calculate(first, second)
        except ArithmeticError:
            return UNKNOWN

    return run
