"""Calls: configuration classes, functions of the same file, and a few of other modules. All else is opaque:
what it returns is not known, and what it is given may have been changed."""

from __future__ import annotations

import ast
from typing import Any

from mbridge_skills.config.view import UNKNOWN, Setting
from mbridge_skills.readers.python import operators
from mbridge_skills.readers.python.expressions import Expressions, _united
from mbridge_skills.readers.python.known import CHANGES, COMPLETE, LEAVES_ALONE, RETURNS_ITS_CONFIG, THE_RUN
from mbridge_skills.readers.python.values import REST, Func, LocalClass, ObjRef, Ref

_ENVIRON = "os.environ"


class Calls(Expressions):
    """Evaluates calls; the bodies of functions are left to ``enter``."""

    def enter(self, func: Func, arguments: list[Any], keywords: dict[Any, Any]) -> Any:
        """Run a function of this file; returns NotImplemented where that is not to be followed."""
        raise NotImplementedError

    def call(self, node: ast.Call) -> Any:
        """What a call returns."""
        receiver: Any = None
        if isinstance(node.func, ast.Attribute):
            receiver = self.eval(node.func.value)
            if isinstance(receiver, Ref):
                callee: Any = self._member(receiver, node.func.attr)
                receiver = None
            else:
                callee = None
        else:
            callee = self.eval(node.func)
        arguments, keywords = self._arguments(node)
        if receiver is not None:
            return self._method(receiver, node, arguments, keywords)
        if isinstance(callee, Func):
            result = self.enter(callee, arguments, keywords)
            if result is not NotImplemented:
                return result
            return self._opaque(node, arguments, keywords)
        if isinstance(callee, LocalClass):
            return self._construct(callee.node.name, arguments, keywords, node, local=True)
        if isinstance(callee, Ref):
            return self._foreign(callee, node, arguments, keywords)
        return self._opaque(node, arguments, keywords)

    def _member(self, receiver: Ref, name: str) -> Ref:
        return Ref(f"{receiver.dotted}.{name}")

    def _arguments(self, node: ast.Call) -> tuple[list[Any], dict[Any, Any]]:
        arguments = self._sequence(node.args)
        keywords: dict[Any, Any] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            else:
                keywords = _united(keywords, value if isinstance(value, dict) else {REST: UNKNOWN})
        return arguments, keywords

    def _foreign(self, callee: Ref, node: ast.Call, arguments: list[Any], keywords: dict[Any, Any]) -> Any:
        name = callee.last
        if callee.dotted.startswith(f"{_ENVIRON}.") or callee.dotted in (
            "os.getenv",
            "os.putenv",
            "os.unsetenv",
        ):
            return self._environ(name, node, arguments)
        match callee.dotted:
            case "setattr":
                return self._setattr(node, arguments)
            case "delattr":
                return self._lose_all(arguments, keywords)
            case "getattr" if len(arguments) >= 2 and isinstance(arguments[0], ObjRef):
                if isinstance(arguments[1], str) and arguments[1].isidentifier():
                    return self.state.get(arguments[0], arguments[1], self.origin(node))
                return self.state.new()
            case "dataclasses.replace" | "copy.replace" if arguments and isinstance(arguments[0], ObjRef):
                self.state.obj(arguments[0]).maybe = False
                return self._copied(arguments[0], keywords, node, deep=False)
            case "copy.deepcopy" | "copy.copy" if arguments:
                if isinstance(arguments[0], ObjRef):
                    return self._copied(arguments[0], {}, node, deep=name == "deepcopy")
                return arguments[0]
        value = operators.builtin(callee.dotted, arguments, keywords)
        if value is not UNKNOWN:
            return value
        if callee.dotted.startswith("torch.") and not name[:1].isupper():
            return UNKNOWN if not _objects([arguments, keywords]) else self._opaque(node, arguments, keywords)
        if name in RETURNS_ITS_CONFIG and arguments and isinstance(arguments[0], ObjRef):
            return arguments[0]
        if name in LEAVES_ALONE:
            return UNKNOWN
        if callee.dotted.startswith(THE_RUN) and name.islower() and not name.startswith(CHANGES):
            return self.state.new()
        owner = callee.dotted.rpartition(".")[0].rpartition(".")[2]
        if _is_class(name) and not _is_class(owner):
            return self._construct(name, arguments, keywords, node)
        return self._opaque(node, arguments, keywords)

    def _construct(
        self,
        name: str,
        arguments: list[Any],
        keywords: dict[Any, Any],
        node: ast.Call,
        *,
        local: bool = False,
    ) -> Any:
        """A new object of a class. Classes are taken to leave alone what they are given."""
        complete = name in COMPLETE and not local and not arguments and REST not in keywords
        ref = self.state.new(name, open=not complete, maybe=False)
        places = {keyword.arg: keyword for keyword in node.keywords}
        for key, value in keywords.items():
            if isinstance(key, str) and key != REST:
                self.state.put(ref, key, value, self.origin(places.get(key, node)))
        return ref

    def _copied(self, ref: ObjRef, changes: dict[Any, Any], node: ast.Call, *, deep: bool) -> ObjRef:
        original = self.state.obj(ref)
        copy = self.state.new(original.kind, open=original.open or REST in changes, maybe=original.maybe)
        for name, slot in list(original.fields.items()):
            value = slot.value
            if isinstance(value, ObjRef):
                child = self.state.obj(value)
                if deep or child.home:
                    self.step()
                    value = self._copied(value, {}, node, deep=deep)
                    if child.home:
                        self.state.obj(value).home = (copy.uid, name)
            self.state.put(copy, name, value, slot.origin)
        places = {keyword.arg: keyword for keyword in node.keywords}
        for key, value in changes.items():
            if isinstance(key, str) and key != REST:
                self.state.put(copy, key, value, self.origin(places.get(key, node)))
        return copy

    def _setattr(self, node: ast.Call, arguments: list[Any]) -> Any:
        if len(arguments) == 3 and isinstance(arguments[0], ObjRef):
            target, name, value = arguments
            if isinstance(name, str):
                self.state.put(target, name, value, self.origin(node))
            else:
                self.state.lose(target)
        return None

    def _environ(self, name: str, node: ast.Call, arguments: list[Any]) -> Any:
        variable = arguments[0] if arguments else UNKNOWN
        value = arguments[1] if len(arguments) > 1 else None
        if name == "update" and isinstance(variable, dict):
            for key, item in variable.items():
                if isinstance(key, str) and key != REST:
                    self.set_variable(key, item, node)
        elif isinstance(variable, str):
            if name in ("setdefault", "putenv", "__setitem__"):
                self.set_variable(variable, value, node)
            elif name in ("pop", "unsetenv", "__delitem__"):
                self.state.environment[variable] = Setting(None, self.origin(node))
        return UNKNOWN

    def set_variable(self, name: str, value: Any, node: ast.AST) -> None:
        """Set an environment variable."""
        text = value if isinstance(value, str) else UNKNOWN
        self.state.environment[name] = Setting(text, self.origin(node))

    def _method(self, receiver: Any, node: ast.Call, arguments: list[Any], keywords: dict[Any, Any]) -> Any:
        assert isinstance(node.func, ast.Attribute)
        name = node.func.attr
        if isinstance(receiver, list | dict):
            return self._container_method(receiver, name, arguments, keywords)
        if isinstance(receiver, str):
            return operators.method(receiver, name, arguments)
        if isinstance(receiver, ObjRef) and name not in LEAVES_ALONE and name != "finalize":
            self.state.lose(receiver)
        if name not in LEAVES_ALONE:
            self._lose_all(arguments, keywords)
        return self.state.new()

    def _container_method(self, old: Any, name: str, arguments: list[Any], keywords: dict[Any, Any]) -> Any:
        new: Any = None
        if isinstance(old, list):
            if name == "append" and len(arguments) == 1:
                new = [*old, arguments[0]]
            elif name == "extend" and len(arguments) == 1 and isinstance(arguments[0], list):
                new = [*old, *arguments[0]]
            elif name not in ("index", "count", "copy"):
                new = [UNKNOWN]
        elif name == "update" and (not arguments or isinstance(arguments[0], dict)):
            new = _united(_united(old, arguments[0] if arguments else {}), keywords)
        elif name not in ("get", "keys", "values", "items", "copy"):
            new = {**dict.fromkeys(old, UNKNOWN), REST: UNKNOWN}
        if new is not None:
            self.exchange_global(old, new)
        return operators.method(old, name, arguments) if new is None else UNKNOWN

    def exchange_global(self, old: Any, new: Any) -> None:
        """Replace a list or dictionary wherever it is held."""
        self.state.exchange(old, new)
        for name, value in list(self.globals.items()):
            if value is old:
                self.globals[name] = UNKNOWN

    def _opaque(self, node: ast.Call, arguments: list[Any], keywords: dict[Any, Any]) -> Any:
        self._lose_all(arguments, keywords)
        return self.state.new()

    def _lose_all(self, arguments: list[Any], keywords: dict[Any, Any]) -> Any:
        for ref in _objects([arguments, keywords]):
            self.state.lose(ref)
        for value in [*arguments, *keywords.values()]:
            if isinstance(value, list) and value:
                self.exchange_global(value, [UNKNOWN])
            elif isinstance(value, dict) and value:
                self.exchange_global(value, {**dict.fromkeys(value, UNKNOWN), REST: UNKNOWN})
        return UNKNOWN


def _objects(value: Any) -> list[ObjRef]:
    if isinstance(value, ObjRef):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [ref for item in value for ref in _objects(item)] if isinstance(value, list) else []


def _is_class(name: str) -> bool:
    return name[:1].isupper() and not name.isupper()
