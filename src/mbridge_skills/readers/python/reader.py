"""A Python file -> its configurations: one for each function that makes or changes a configuration."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path
from typing import Any

from mbridge_skills.config.view import UNKNOWN, Setting, TrainingConfig
from mbridge_skills.errors import InputError, Location
from mbridge_skills.readers.layer import SECTIONS
from mbridge_skills.readers.python.expressions import TooMuchError
from mbridge_skills.readers.python.flatten import flatten, is_container
from mbridge_skills.readers.python.known import CONTAINER
from mbridge_skills.readers.python.merge import merge
from mbridge_skills.readers.python.statements import Statements, bind, imported
from mbridge_skills.readers.python.values import Counter, Func, LocalClass, ObjRef, State

_HINTS = ("cfg", "config", "recipe", "environ", "Config")


def read_python(text: str, path: Path | None = None) -> list[TrainingConfig]:
    """The configurations in ``text``, in the order of their functions; the file's own statements come last.

    Raises:
        InputError: not valid Python, with the line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a bad escape in a file that we only read
            tree = ast.parse(text)
    except SyntaxError as error:
        where = Location(path, error.lineno, error.offset) if path else None
        raise InputError(f"not valid Python: {error.msg}", where=where) from None
    except (ValueError, RecursionError, MemoryError) as error:
        where = Location(path) if path else None
        raise InputError(f"not valid Python: {error or 'nested too deep'}", where=where) from None
    if not any(hint in text for hint in _HINTS):
        return []
    try:
        return _File(tree, path).read()
    except RecursionError:
        where = Location(path) if path else None
        raise InputError("not read: nested too deep", where=where) from None


class _File:
    def __init__(self, tree: ast.Module, path: Path | None) -> None:
        self._tree = tree
        self._path = path
        self._name = path.stem if path else "python"
        self._globals: dict[str, Any] = {}
        self._environment: dict[str, Setting] = {}
        self._entered: set[ast.AST] = set()

    def read(self) -> list[TrainingConfig]:
        self._declare()
        module = self._run_module()
        found: list[tuple[ast.AST, TrainingConfig]] = []
        relevant = _relevant(self._tree)
        for prefix, node in self._functions():
            if node not in relevant:
                continue
            found += [(node, config) for config in self._run_entry(f"{prefix}{node.name}", node)]
        configs = [
            config
            for node, config in found
            if not (node in self._entered and isinstance(node, ast.FunctionDef) and node.name.startswith("_"))
        ]
        return configs + module

    def _functions(self) -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        functions: list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]] = []
        for node in self._tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append(("", node))
            elif isinstance(node, ast.ClassDef):
                functions += [
                    (f"{node.name}.", each)
                    for each in node.body
                    if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
                ]
        return functions

    def _declare(self) -> None:
        """What every function can name, wherever it is defined in the file."""
        for node in self._tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._globals[node.name] = Func(node)
            elif isinstance(node, ast.ClassDef):
                self._globals[node.name] = LocalClass(node)
        for part in ast.walk(self._tree):
            if isinstance(part, ast.Import | ast.ImportFrom) and part.col_offset == 0:
                self._globals.update(imported(part))

    def _run_module(self) -> list[TrainingConfig]:
        reader = Statements(self._path, State(Counter()), dict(self._globals))
        body = [
            node
            for node in self._tree.body
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        reader.globals["__name__"] = "__main__"
        try:
            reader.block(body)
        except TooMuchError:
            reader.lose_everything()
        self._environment = dict(reader.state.environment)
        assigned = _assigned_in_functions(self._tree)
        for name, value in reader.state.names.items():
            if isinstance(value, ObjRef):
                value = UNKNOWN
            self._globals[name] = UNKNOWN if name in assigned else value
        return self._views(self._name, reader, {}, None)

    def _run_entry(self, name: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[TrainingConfig]:
        reader = Statements(self._path, State(Counter()), dict(self._globals))
        reader.state.environment = dict(self._environment)
        parameters = bind(node.args, [], {}, reader) or {}
        reader.state.frames[-1] = parameters
        result: Any = None
        try:
            reader.running.append(node)
            reached = reader.block(node.body)
            result = self._end(reader, reached)
        except TooMuchError:
            reader.lose_everything()
        self._entered |= reader.entered
        return self._views(name, reader, parameters, result)

    def _end(self, reader: Statements, reached: bool) -> Any:
        """Join the ways in which the function ends; what it returns."""
        ends = list(reader.frames[-1].returns)
        if reached or not ends:
            ends.append((None, reader.state))
        key = "\ue001"
        for value, state in ends:
            state.names[key] = value
        merged = ends[0][1]
        for _, state in ends[1:]:
            merged = merge(merged, state)
        reader.state = merged
        return merged.names.pop(key, None)

    def _views(
        self, name: str, reader: Statements, parameters: dict[str, Any], result: Any
    ) -> list[TrainingConfig]:
        state = reader.state
        roots: dict[int, str] = {}
        if isinstance(result, ObjRef) and is_container(state, result, name):
            roots[result.uid] = ""
        else:
            for variable, value in state.names.items():
                if isinstance(value, ObjRef):
                    self._collect(state, value, variable, roots)
        several = len(roots) > 1
        views = []
        for uid, variable in roots.items():
            layer = flatten(state, ObjRef(uid))
            layer.environment = {**layer.environment, **state.environment}
            size = state.environment.get("WORLD_SIZE")
            if size is not None and isinstance(size.value, str) and size.value.isdecimal():
                layer.world_size = int(size.value[:9])
            views.append(layer.build(f"{name}:{variable}" if several else name, self._path))
        return views

    def _collect(
        self, state: State, ref: ObjRef, variable: str, roots: dict[int, str], depth: int = 0
    ) -> None:
        if is_container(state, ref, variable):
            roots.setdefault(ref.uid, variable)
        elif depth < 3:
            for name, slot in list(state.obj(ref).fields.items()):
                if isinstance(slot.value, ObjRef):
                    self._collect(state, slot.value, name, roots, depth + 1)


def _relevant(tree: ast.Module) -> set[ast.AST]:
    """The functions that touch a section of a configuration, and those that call them."""
    functions = [part for part in ast.walk(tree) if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
    calls = {node: {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} for node in functions}
    relevant: set[ast.AST] = {node for node in functions if any(map(_touches, ast.walk(node)))}
    while True:
        names = {node.name for node in functions if node in relevant}
        more = {node for node in functions if node not in relevant and calls[node] & names}
        if not more:
            return relevant
        relevant |= more


def _touches(part: ast.AST) -> bool:
    match part:
        case ast.Attribute(attr=section):
            return section in SECTIONS
        case ast.keyword(arg=section):
            return section in SECTIONS
        case ast.Name(id=name):
            return name in ("setattr", CONTAINER)
    return False


def _assigned_in_functions(tree: ast.Module) -> set[str]:
    """Names of the file that a function may rebind."""
    return {name for part in ast.walk(tree) if isinstance(part, ast.Global) for name in part.names}
