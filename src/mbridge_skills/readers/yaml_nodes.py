"""YAML as people write configurations: plain data, and the place of each value.

Unlike a card, a configuration may use anchors and merge keys. Scalars are resolved as OmegaConf does:
YAML 1.1, with ``1e-4`` a number and dates as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from mbridge_skills.config.view import UNKNOWN, Origin
from mbridge_skills.errors import InputError, Location
from mbridge_skills.readers.words import HOLE

_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_NODES = 200_000
_MAX_DEPTH = 60
_CONSTRUCTOR = yaml.SafeLoader("")
_STRING = "tag:yaml.org,2002:str"
_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float")}


class _Loader(_BASE):  # type: ignore[misc]
    pass


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _BASE.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"[-+]?(?:\d[\d_]*\.[\d_]*(?:[eE][-+]?\d+)?|\d[\d_]*[eE][-+]?\d+|\.\d[\d_]*(?:[eE][-+]?\d+)?)$"
    ),
    list("-+0123456789."),
)


class Node:
    """A value of a YAML file. ``entries`` are those of a mapping; ``value`` is the whole as plain data."""

    __slots__ = ("entries", "origin", "value")

    def __init__(self, value: Any, origin: Origin, entries: dict[str, Node] | None = None) -> None:
        self.value = value
        self.origin = origin
        self.entries = entries

    def mappings(self, key: str = "") -> Iterator[tuple[str, Node]]:
        """This mapping and those below it through mappings, with the key that leads to each."""
        if self.entries is not None:
            yield key, self
            for name, node in self.entries.items():
                yield from node.mappings(f"{key}.{name}" if key else name)


def parse_yaml(text: str, path: Path | None) -> list[Node]:
    """The documents in ``text``.

    Raises:
        InputError: not valid YAML, or more nodes than a configuration has.
    """
    try:
        builder = _Builder(path)
        return [builder.node(tree, 0) for tree in yaml.compose_all(text, Loader=_Loader) if tree is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(filter(None, (error.context, error.problem)))
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise InputError(f"not valid YAML: {message}", where=_location(path, line, column)) from None
    except yaml.YAMLError as error:
        reason = str(getattr(error, "reason", None) or error).splitlines()[0]
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise InputError(f"not valid YAML: {reason}", where=_location(path, line, None)) from None
    except RecursionError:
        raise InputError("not valid YAML: nested too deep", where=_location(path, 1, None)) from None


def _location(path: Path | None, line: int, column: int | None) -> Location | None:
    return Location(path, line, column) if path else None


class _Builder:
    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._count = 0

    def node(self, tree: Any, depth: int, key: Any = None) -> Node:
        self._count += 1
        mark = (key or tree).start_mark
        if self._count > _MAX_NODES or depth > _MAX_DEPTH:
            what = "more values than a configuration has" if depth <= _MAX_DEPTH else "nested too deep"
            raise InputError(f"not read: {what}", where=_location(self._path, mark.line + 1, mark.column + 1))
        origin = Origin(self._path, mark.line + 1, mark.column + 1)
        if isinstance(tree, yaml.MappingNode):
            entries = self._entries(tree, depth)
            return Node({name: node.value for name, node in entries.items()}, origin, entries)
        if isinstance(tree, yaml.SequenceNode):
            return Node([self.node(item, depth + 1).value for item in tree.value], origin)
        return Node(_scalar(tree), origin)

    def _entries(self, tree: yaml.MappingNode, depth: int) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in tree.value:
            if key.tag == "tag:yaml.org,2002:merge" or (key.value == "<<" and key.style is None):
                for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    if isinstance(source, yaml.MappingNode):
                        for name, node in self._entries(source, depth + 1).items():
                            merged.setdefault(name, node)
            elif isinstance(key, yaml.ScalarNode):
                entries[key.value] = self.node(value, depth + 1, key)
        return {**{name: node for name, node in merged.items() if name not in entries}, **entries}


def _scalar(tree: Any) -> Any:
    if tree.tag == _STRING:
        return UNKNOWN if "${" in tree.value or HOLE in tree.value else tree.value
    if tree.tag not in _TAGS:
        return UNKNOWN
    try:
        return _CONSTRUCTOR.construct_object(tree)
    except (ValueError, yaml.YAMLError):
        return UNKNOWN
