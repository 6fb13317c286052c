"""Expressions -> values. All parts are evaluated, since a call in one may change something."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from mbridge_skills.config.view import UNKNOWN, Origin
from mbridge_skills.readers.python import operators
from mbridge_skills.readers.python.known import DTYPES
from mbridge_skills.readers.python.values import REST, Func, LocalClass, ObjRef, Ref, State, has_unknown

_MAX_STEPS = 60_000
_BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)


class TooMuchError(Exception):
    """The file takes more steps than a configuration would."""


class Expressions:
    """Evaluates expressions in ``state``; calls are left to ``call``."""

    def __init__(self, path: Path | None, state: State, globals_: dict[str, Any]) -> None:
        self.path = path
        self.state = state
        self.globals = globals_
        self.steps = 0

    def call(self, node: ast.Call) -> Any:
        """What a call returns."""
        raise NotImplementedError

    def step(self, count: int = 1) -> None:
        """Count work; raises ``TooMuchError`` where it is too much."""
        self.steps += count
        if self.steps > _MAX_STEPS:
            raise TooMuchError

    def origin(self, node: ast.AST) -> Origin:
        """Where ``node`` stands."""
        line: int = getattr(node, "lineno", 1)
        column: int = getattr(node, "col_offset", 0)
        return Origin(self.path, line, column + 1)

    def eval(self, node: ast.expr) -> Any:
        """The value of ``node``."""
        self.step()
        match node:
            case ast.Constant(value=value):
                return value if value is None or isinstance(value, bool | int | float | str) else UNKNOWN
            case ast.Name():
                return self.name(node.id)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Call():
                return self.call(node)
            case ast.List() | ast.Tuple():
                return self._sequence(node.elts)
            case ast.Dict():
                return self._dictionary(node)
            case ast.BinOp():
                left, right = self.eval(node.left), self.eval(node.right)
                if isinstance(left, dict) and isinstance(right, dict) and isinstance(node.op, ast.BitOr):
                    return _united(left, right)
                return operators.binary(node.op, left, right)
            case ast.UnaryOp():
                value = self.eval(node.operand)
                if isinstance(node.op, ast.Not) and self._is_object(value):
                    return False
                return operators.unary(node.op, value)
            case ast.BoolOp():
                return self._bool(node)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                return self._either(node)
            case ast.JoinedStr():
                return self._text(node)
            case ast.Subscript():
                return self._item(node)
            case ast.NamedExpr(target=target, value=inner):
                value = self.eval(inner)
                self.state.names[target.id] = value
                return value
            case ast.Lambda():
                return Func(node, inner=True)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.eval(child)
            elif isinstance(child, ast.comprehension):
                self.eval(child.iter)
        return UNKNOWN

    def name(self, name: str) -> Any:
        """What ``name`` means here."""
        if name in self.state.names:
            return self.state.names[name]
        if name in self.globals:
            return self.globals[name]
        return Ref(name) if name in _BUILTINS else UNKNOWN

    def attribute(self, node: ast.Attribute) -> Any:
        """``value.attribute``."""
        value = self.eval(node.value)
        if isinstance(value, ObjRef):
            return self.state.get(value, node.attr, self.origin(node))
        if isinstance(value, Ref):
            dotted = f"{value.dotted}.{node.attr}"
            return dotted if dotted in DTYPES else Ref(dotted)
        return UNKNOWN

    def _is_object(self, value: Any) -> bool:
        """Whether ``value`` is certainly an object, so neither None nor false."""
        if isinstance(value, ObjRef):
            return not self.state.obj(value).maybe
        return isinstance(value, Func | LocalClass)

    def truth(self, node: ast.expr) -> bool | None:
        """Whether ``node`` is true; None where that cannot be known."""
        value = self.eval(node)
        if self._is_object(value):
            return True
        if isinstance(value, list | dict):
            return None if has_unknown(value) else bool(value)
        return bool(value) if value is None or isinstance(value, bool | int | float | str) else None

    def _sequence(self, nodes: list[ast.expr]) -> Any:
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.eval(node.value)
                values += value if isinstance(value, list) else [UNKNOWN]
                if not isinstance(value, list):
                    return [UNKNOWN, *(self.eval(rest) for rest in nodes[len(values) :])]
            else:
                values.append(self.eval(node))
        return values

    def _dictionary(self, node: ast.Dict) -> Any:
        values: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            item = self.eval(value)
            if key is None:
                values = _united(values, item) if isinstance(item, dict) else _united(values, {REST: UNKNOWN})
                continue
            name = self.eval(key)
            if name is None or isinstance(name, bool | int | float | str):
                values[name] = item
            else:
                values = _united(values, {REST: UNKNOWN})
        return values

    def _bool(self, node: ast.BoolOp) -> Any:
        stops = isinstance(node.op, ast.Or)
        value: Any = UNKNOWN
        doubtful: list[Any] = []
        for part in node.values:
            value = self.eval(part)
            truth = True if self._is_object(value) else UNKNOWN if has_unknown(value) else bool(value)
            if truth is stops:
                if not doubtful:
                    return value
                break
            if truth is UNKNOWN:
                doubtful.append(value)
        if not doubtful:
            return value
        return self.state.one_of(*doubtful, value)

    def _compare(self, node: ast.Compare) -> Any:
        left = self.eval(node.left)
        result: Any = True
        for kind, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.eval(right_node)
            if isinstance(kind, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and self._is_none_test(left, right):
                one: Any = isinstance(kind, ast.IsNot | ast.NotEq)
            else:
                one = operators.compare(kind, left, right)
            if one is UNKNOWN or not one:
                result = one
                if one is not UNKNOWN:
                    return False
            left = right
        return result

    def _is_none_test(self, left: Any, right: Any) -> bool:
        return (left is None and self._is_object(right)) or (right is None and self._is_object(left))

    def _either(self, node: ast.IfExp) -> Any:
        truth = self.truth(node.test)
        if truth is not None:
            return self.eval(node.body if truth else node.orelse)
        first, second = self.eval(node.body), self.eval(node.orelse)
        if isinstance(first, ObjRef) or isinstance(second, ObjRef):
            return first if first == second else self.state.one_of(first, second)
        return first if type(first) is type(second) and first == second else UNKNOWN

    def _text(self, node: ast.JoinedStr) -> Any:
        parts: list[str] = []
        known = True
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
            elif isinstance(part, ast.FormattedValue):
                value = self.eval(part.value)
                plain = part.conversion == -1 and part.format_spec is None
                if has_unknown(value) or not plain or isinstance(value, list | dict):
                    known = False
                else:
                    parts.append(str(value))
        return "".join(parts) if known else UNKNOWN

    def _item(self, node: ast.Subscript) -> Any:
        value, key = self.eval(node.value), self.eval(node.slice)
        if isinstance(value, Ref) and value.dotted == "os.environ" and isinstance(key, str):
            setting = self.state.environment.get(key)
            return setting.value if setting else UNKNOWN
        if isinstance(value, ObjRef) and isinstance(key, str | int):
            return self.state.new()
        if isinstance(value, dict) and not has_unknown(key) and not isinstance(key, list | dict):
            return value.get(key, UNKNOWN)
        if (
            isinstance(value, list)
            and isinstance(key, int)
            and not has_unknown(value)
            and -len(value) <= key < len(value)
        ):
            return value[key]
        return UNKNOWN


def _united(first: dict[Any, Any], second: dict[Any, Any]) -> dict[Any, Any]:
    """``{**first, **second}``: entries that are not known may replace those before them."""
    if REST in second:
        first = dict.fromkeys(first, UNKNOWN)
    return {**first, **second}
