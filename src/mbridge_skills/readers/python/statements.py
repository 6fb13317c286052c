"""Statements: what running a file would do to its configuration objects, as far as that is certain."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from mbridge_skills.config.view import UNKNOWN, Setting
from mbridge_skills.readers.python import operators
from mbridge_skills.readers.python.calls import Calls
from mbridge_skills.readers.python.merge import merge, same
from mbridge_skills.readers.python.values import REST, Func, LocalClass, ObjRef, Ref, State

_MAX_DEPTH = 4
_MAX_UNROLLED = 32
_MAX_ROUNDS = 5
_MANY_OBJECTS = 60
_HARMLESS_DECORATORS = frozenset(
    {"staticmethod", "classmethod", "no_type_check", "override", "deprecated", "experimental_fn"}
)


class Frame:
    """A function that runs: the states in which it has returned, and those that leave the loop."""

    def __init__(self) -> None:
        self.returns: list[tuple[Any, State]] = []
        self.leaves: list[State] = []


class Statements(Calls):
    """Runs statements. ``block`` says whether what follows is reached."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.frames = [Frame()]
        self.running: list[ast.AST] = []
        self.entered: set[ast.AST] = set()

    def block(self, body: list[ast.stmt]) -> bool:
        """Run statements; False where the end is not reached."""
        return all(self.statement(node) for node in body)

    def statement(self, node: ast.stmt) -> bool:
        """Run one statement; False where what follows is not reached."""
        self.step()
        match node:
            case ast.Expr(value=value):
                self.eval(value)
            case ast.Assign(targets=targets, value=value):
                result = self.eval(value)
                for target in targets:
                    self.assign(target, result)
            case ast.AnnAssign(target=target, value=expression) if expression is not None:
                self.assign(target, self.eval(expression))
            case ast.AugAssign(target=target, op=op, value=value):
                old = self.eval(target)
                self.assign(target, operators.binary(op, old, self.eval(value)))
            case ast.If():
                return self._if(node)
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node)
            case ast.Return(value=expression):
                result = self.eval(expression) if expression is not None else None
                self._charge(1)
                self.frames[-1].returns.append((result, self.state.copy()))
                return False
            case ast.Raise():
                return False
            case ast.Break() | ast.Continue():
                self._charge(1)
                self.frames[-1].leaves.append(self.state.copy())
                return False
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    entered = self.eval(item.context_expr)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, entered)
                return self.block(node.body)
            case ast.Try() | ast.TryStar():
                return self._try(node)
            case ast.Match():
                return self._match(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.state.names[node.name] = Func(node, inner=True)
            case ast.ClassDef():
                self.state.names[node.name] = LocalClass(node)
            case ast.Import() | ast.ImportFrom():
                self.state.names.update(imported(node))
            case ast.Delete(targets=targets):
                for target in targets:
                    self._delete(target)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                for name in names:
                    self.globals[name] = UNKNOWN
        return True

    def assign(self, target: ast.expr, value: Any) -> None:
        """``target = value``."""
        match target:
            case ast.Name(id=name):
                self.state.names[name] = value
            case ast.Attribute(value=inner, attr=name):
                owner = self.eval(inner)
                if isinstance(owner, ObjRef):
                    self.state.put(owner, name, value, self.origin(target))
            case ast.Subscript():
                self._assign_item(target, value)
            case ast.Starred(value=inner):
                self.assign(inner, UNKNOWN)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                starred = any(isinstance(part, ast.Starred) for part in parts)
                if (
                    isinstance(value, list)
                    and len(value) == len(parts)
                    and not starred
                    and UNKNOWN not in value
                ) or (isinstance(value, list) and len(value) == len(parts) > 1 and not starred):
                    items = value
                else:
                    items = [self.state.new() if isinstance(value, ObjRef) else UNKNOWN for _ in parts]
                for part, item in zip(parts, items, strict=True):
                    self.assign(part, item)

    def _assign_item(self, target: ast.Subscript, value: Any) -> None:
        owner, key = self.eval(target.value), self.eval(target.slice)
        if isinstance(owner, Ref) and owner.dotted == "os.environ":
            if isinstance(key, str):
                self.set_variable(key, value, target)
        elif isinstance(owner, dict):
            if key is None or isinstance(key, str | int | float):
                self.exchange_global(owner, {**owner, key: value})
            else:
                self.exchange_global(owner, {**dict.fromkeys(owner, UNKNOWN), REST: UNKNOWN})
        elif isinstance(owner, list):
            self.exchange_global(owner, [UNKNOWN])
        elif isinstance(owner, ObjRef):
            self.state.lose(owner)
            if isinstance(key, str) and key.isidentifier():  # env_vars["X"] of a recipe that is not known
                self.state.put(owner, key, value, self.origin(target))

    def _delete(self, target: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self.state.names[name] = UNKNOWN
            case ast.Attribute(value=inner, attr=name):
                owner = self.eval(inner)
                if isinstance(owner, ObjRef):
                    self.state.put(owner, name, UNKNOWN, self.origin(target))
            case ast.Subscript(value=inner, slice=index):
                owner, key = self.eval(inner), self.eval(index)
                if isinstance(owner, Ref) and owner.dotted == "os.environ" and isinstance(key, str):
                    self.state.environment[key] = Setting(None, self.origin(target))
                elif isinstance(owner, list | dict):
                    self.exchange_global(owner, UNKNOWN)

    def _branches(self, runs: list[Callable[[], bool]]) -> bool:
        """Run alternatives, each from here; what follows is reached from those that come to their end."""
        before = self.state
        self._charge(len(runs))
        ends: list[State] = []
        for run in runs:
            self.state = before.copy()
            if run():
                ends.append(self.state)
        self.state = before
        if not ends:
            return False
        result = ends[0]
        for end in ends[1:]:
            result = merge(result, end)
        self.state = result
        return True

    def _charge(self, copies: int) -> None:
        """Copies cost work too, in proportion to what is copied."""
        if len(self.state.heap) > _MANY_OBJECTS:
            self.state.prune()
        self.step(copies * (len(self.state.heap) + len(self.state.names)))

    def _if(self, node: ast.If) -> bool:
        truth = self.truth(node.test)
        if truth is not None:
            return self.block(node.body if truth else node.orelse)
        return self._branches([lambda: self.block(node.body), lambda: self.block(node.orelse)])

    def _match(self, node: ast.Match) -> bool:
        self.eval(node.subject)
        runs: list[Callable[[], bool]] = [lambda: True]
        for case in node.cases:
            names = [part for part in ast.walk(case.pattern) if isinstance(part, ast.MatchAs | ast.MatchStar)]
            runs.append(lambda case=case, names=names: self._case(case, names))  # type: ignore[misc]
        return self._branches(runs)

    def _case(self, case: ast.match_case, names: list[ast.MatchAs | ast.MatchStar]) -> bool:
        for part in names:
            if part.name:
                self.state.names[part.name] = UNKNOWN
        return self.block(case.body)

    def _try(self, node: ast.Try | ast.TryStar) -> bool:
        self._charge(3)
        before = self.state.copy()
        reached = self.block([*node.body, *node.orelse])
        after = self.state
        if node.handlers:
            broken = merge(before, after)
            runs: list[Callable[[], bool]] = []
            for handler in node.handlers:
                runs.append(lambda handler=handler: self.block(handler.body))  # type: ignore[misc]
            self.state = broken
            handled = self._branches(runs)
            if reached and handled:
                self.state = merge(after, self.state)
            elif reached:
                self.state = after
            reached = reached or handled
        return self.block(node.finalbody) and reached

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> bool:
        if isinstance(node, ast.While):
            if self.truth(node.test) is False:
                return self.block(node.orelse)
        else:
            items = self.eval(node.iter)
            if self._unrollable(node, items):
                for item in items:
                    self.assign(node.target, item)
                    if not self.block(node.body):
                        return False
                return self.block(node.orelse)
        outer, self.frames[-1].leaves = self.frames[-1].leaves, []
        for _ in range(_MAX_ROUNDS):
            self._charge(2)
            before = self.state
            self.state = before.copy()
            if not isinstance(node, ast.While):
                self._assign_unknown(node.target)
            ends = [self.state] if self.block(node.body) else []
            result = before
            for end in [*ends, *self.frames[-1].leaves]:
                result = merge(result, end)
            self.frames[-1].leaves = []
            self.state = result
            if same(before, result):
                break
        else:
            self.lose_everything()
        self.frames[-1].leaves = outer
        self.block(node.orelse)
        return True

    def _unrollable(self, node: ast.For | ast.AsyncFor, items: Any) -> bool:
        if (
            not isinstance(items, list)
            or len(items) > _MAX_UNROLLED
            or any(item is UNKNOWN for item in items)
        ):
            return False
        return not any(isinstance(part, ast.Break | ast.Continue) for part in ast.walk(node))

    def _assign_unknown(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.state.names[target.id] = self.state.new()
        else:
            self.assign(target, UNKNOWN)

    def lose_everything(self) -> None:
        """Anything may have happened to any object and name of the running function."""
        for uid in list(self.state.heap):
            self.state.lose(ObjRef(uid))
        for name, value in self.state.names.items():
            if not isinstance(value, ObjRef | Func | LocalClass | Ref):
                self.state.names[name] = UNKNOWN

    def enter(self, func: Func, arguments: list[Any], keywords: dict[Any, Any]) -> Any:
        """Run a function of this file; NotImplemented where that is not followed."""
        node = func.node
        if func.inner or isinstance(node, ast.Lambda):
            self._lose_captured(node)
            return NotImplemented
        decorators = [ast.unparse(each).rpartition(".")[2] for each in node.decorator_list]
        if (
            len(self.frames) > _MAX_DEPTH
            or node in self.running
            or isinstance(node, ast.AsyncFunctionDef)
            or any(each not in _HARMLESS_DECORATORS for each in decorators)
            or any(isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(node))
        ):
            return NotImplemented
        names = bind(node.args, arguments, keywords, self)
        if names is None:
            return NotImplemented
        self.entered.add(node)
        return self.run_function(node, names)

    def _lose_captured(self, node: ast.AST) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(value := self.state.names.get(part.id), ObjRef):
                self.state.lose(value)

    def run_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, names: dict[str, Any]) -> Any:
        """Run the body of a function; what it returns."""
        self.state.frames.append(names)
        self.frames.append(Frame())
        self.running.append(node)
        reached = self.block(node.body)
        frame = self.frames.pop()
        self.running.pop()
        ends = list(frame.returns)
        if reached or not ends:
            ends.append((None, self.state))
        result = "\ue001"  # no name that a file could have
        for value, state in ends:
            state.names[result] = value
        merged = ends[0][1]
        for _, state in ends[1:]:
            merged = merge(merged, state)
        self.state = merged
        return self.state.frames.pop()[result]


def imported(node: ast.Import | ast.ImportFrom) -> dict[str, Any]:
    """The names that an import binds."""
    names: dict[str, Any] = {}
    for alias in node.names:
        if isinstance(node, ast.Import):
            names[alias.asname or alias.name.partition(".")[0]] = Ref(
                alias.name if alias.asname else alias.name.partition(".")[0]
            )
        elif alias.name != "*":
            names[alias.asname or alias.name] = Ref(f"{node.module or ''}.{alias.name}")
    return names


def bind(
    parameters: ast.arguments, arguments: list[Any], keywords: dict[Any, Any], reader: Statements
) -> dict[str, Any] | None:
    """The names of the parameters; None where the call cannot be matched to them."""
    if REST in keywords or any(value is UNKNOWN for value in arguments[len(parameters.args) :]):
        return None
    positional = [*parameters.posonlyargs, *parameters.args]
    names: dict[str, Any] = {}
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(parameters.defaults))
    defaults += parameters.defaults
    pairs = list(zip(positional, defaults, strict=True)) + list(
        zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    )
    for parameter, default in pairs:
        names[parameter.arg] = reader.eval(default) if default is not None else reader.state.new()
    for parameter, value in zip(positional, arguments, strict=False):
        names[parameter.arg] = value
    if len(arguments) > len(positional) and parameters.vararg is None:
        return None
    rest = {key: value for key, value in keywords.items() if key not in names}
    names.update({key: value for key, value in keywords.items() if key in names})
    if parameters.vararg is not None:
        names[parameters.vararg.arg] = arguments[len(positional) :]
    if parameters.kwarg is not None:
        names[parameters.kwarg.arg] = rest
    elif rest:
        return None
    return names
