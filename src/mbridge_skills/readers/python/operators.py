"""Operators and builtins on plain data; UNKNOWN where the result would not be, or would be huge."""

from __future__ import annotations

import ast
import operator
import posixpath
from collections.abc import Callable
from typing import Any, Final

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.readers.python.values import has_unknown

_MAX_BITS = 256
_MAX_LENGTH = 10_000
_MAX_ARGUMENTS = 2_000

_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
_COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "len": len,
    "max": max,
    "min": min,
    "abs": abs,
    "round": round,
    "list": list,
    "tuple": list,
    "dict": dict,
    "sum": sum,
    "sorted": sorted,
    "os.path.join": posixpath.join,
    "os.path.dirname": posixpath.dirname,
    "os.path.basename": posixpath.basename,
    "math.ceil": lambda x: -int(-x // 1),
    "math.floor": lambda x: int(x // 1),
}
_METHODS: Final = frozenset(
    {"lower", "upper", "strip", "lstrip", "rstrip", "startswith", "endswith", "split", "replace", "join"}
)
_FAILURES = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)


def binary(kind: ast.operator, left: Any, right: Any) -> Any:
    """``left`` operator ``right``."""
    function = _BINARY.get(type(kind))
    if function is None or has_unknown(left) or has_unknown(right):
        return UNKNOWN
    if isinstance(kind, ast.Mod) and isinstance(left, str):
        return UNKNOWN
    if isinstance(kind, ast.Mult) and not (_is_number(left) and _is_number(right)):
        return UNKNOWN
    return _small(lambda: function(left, right))


def unary(kind: ast.unaryop, value: Any) -> Any:
    """Operator ``value``."""
    if has_unknown(value):
        return UNKNOWN
    if isinstance(kind, ast.Not):
        return not value
    if not _is_number(value):
        return UNKNOWN
    if isinstance(kind, ast.USub):
        return -value
    return value if isinstance(kind, ast.UAdd) else UNKNOWN


def compare(kind: ast.cmpop, left: Any, right: Any) -> Any:
    """``left`` comparison ``right``: True, False or UNKNOWN."""
    if has_unknown(left) or has_unknown(right):
        return UNKNOWN
    if isinstance(kind, ast.Is | ast.IsNot) and not (_is_single(left) or _is_single(right)):
        return UNKNOWN
    return _small(lambda: _COMPARE[type(kind)](left, right))


def builtin(name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """A function of Python on plain data; UNKNOWN where it is none that is known."""
    function = _FUNCTIONS.get(name)
    if function is None or has_unknown(arguments) or (keywords and name != "dict") or has_unknown(keywords):
        return UNKNOWN
    return _small(lambda: function(*arguments, **keywords))


def method(receiver: Any, name: str, arguments: list[Any]) -> Any:
    """A method of a string or a dictionary that changes nothing."""
    if isinstance(receiver, dict) and name == "get" and arguments and isinstance(arguments[0], str):
        if has_unknown(receiver) and arguments[0] not in receiver:
            return UNKNOWN
        return receiver.get(*arguments[:2])
    if isinstance(receiver, dict) and name == "copy":
        return dict(receiver)
    if (
        not isinstance(receiver, str)
        or name not in _METHODS
        or has_unknown(arguments)
        or len(str(arguments)) > _MAX_ARGUMENTS
    ):
        return UNKNOWN
    return _small(lambda: getattr(receiver, name)(*arguments))


def _small(compute: Callable[[], Any]) -> Any:
    try:
        value = compute()
    except _FAILURES:
        return UNKNOWN
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return UNKNOWN
    if isinstance(value, str | list | dict) and len(value) > _MAX_LENGTH:
        return UNKNOWN
    return UNKNOWN if has_unknown(value) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _is_single(value: Any) -> bool:
    return value is None or isinstance(value, bool)
