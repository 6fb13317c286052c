"""YAML in, plain data and the place of every node out.

Built from libyaml's events, since neither duplicate keys nor the places of nodes survive PyYAML's loading.
Scalars follow YAML 1.2: only ``true`` and ``false`` are booleans (so that ``on:`` is a key), and a date stays
text. Anchors, aliases and tags are refused: a card reads the same to a person and to a program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from mbridge_skills.card.problems import CardProblem, DataPath, json_pointer
from mbridge_skills.errors import InputError, Location

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_DEPTH = 40

_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {text: text.lower() == "true" for text in ("true", "True", "TRUE", "false", "False", "FALSE")}
_INT = re.compile(r"[-+]?[0-9]{1,300}")
_OTHER_BASE = re.compile(r"0o[0-7]{1,300}|0x[0-9a-fA-F]{1,300}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


@dataclass(frozen=True)
class Place:
    """Where a node stands. All lines and columns count from 0; ends are exclusive."""

    key: tuple[int, int]  # of its key, or of the value itself where it has none
    start: tuple[int, int]
    end: tuple[int, int]  # behind its last character that is not a blank or a comment
    block: bool = False  # a collection written over lines, by indentation

    def location(self, path: Path) -> Location:
        """For an error message."""
        return Location(path, self.key[0] + 1, self.key[1] + 1)


@dataclass
class Document:
    """One YAML file: its data, where each node stands, and what is wrong with it as YAML."""

    path: Path
    text: str
    data: Any = None
    places: dict[DataPath, Place] = field(default_factory=dict)
    problems: list[CardProblem] = field(default_factory=list)

    def problem(self, path: DataPath, message: str) -> CardProblem:
        """A problem at the node under ``path``, or at the nearest node above it that there is."""
        known = path
        while known and known not in self.places:
            known = known[:-1]
        place = self.places.get(known)
        where = place.location(self.path) if place else Location(self.path)
        return CardProblem(where, json_pointer(path), message)


def read_bytes_as_text(path: Path) -> str:
    """The text of ``path``, line endings as they are.

    Raises:
        InputError: there is no such file, it cannot be read, or it is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise InputError("no such file", where=Location(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=Location(path)) from None
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text (byte {error.start})", where=Location(path)) from None


def read_document(path: Path) -> Document:
    """Read the YAML file at ``path``; what is wrong with it as YAML is in ``problems``.

    Raises:
        InputError: the file cannot be read at all.
    """
    return parse_document(read_bytes_as_text(path), path)


def parse_document(text: str, path: Path, *, first_line: int = 0) -> Document:
    """Parse ``text``; ``path`` and ``first_line`` (from 0) say where it is from. Bad YAML does not raise."""
    document = Document(path, text)
    builder = _Builder(document, first_line)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except _StopReading:
        document.data = None
    except yaml.MarkedYAMLError as error:
        document.data = None
        mark = error.problem_mark or error.context_mark
        place = Location(path, mark.line + 1 + first_line, mark.column + 1) if mark else Location(path)
        message = " ".join(filter(None, (error.context, error.problem)))
        document.problems.append(CardProblem(place, "", f"not valid YAML: {message}"))
    except yaml.YAMLError as error:
        document.data = None
        message = str(getattr(error, "reason", None) or error).splitlines()[0]
        document.problems.append(CardProblem(Location(path), "", f"not valid YAML: {message}"))
    return document


class _StopReading(Exception):
    """Reading on would make no sense; the problem is already noted."""


@dataclass
class _Frame:
    """A collection that is still being read."""

    value: dict[str, Any] | list[Any]
    path: DataPath
    place: Place
    flow: bool
    key: str | None = None
    key_at: tuple[int, int] | None = None


class _Builder:
    def __init__(self, document: Document, first_line: int) -> None:
        self._document = document
        self._first_line = first_line
        self._stack: list[_Frame] = []
        self._documents = 0

    def take(self, event: Any) -> None:
        """Take the next event of the parser."""
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent):
            self._open(event, {})
        elif isinstance(event, yaml.SequenceStartEvent):
            self._open(event, [])
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close(event)
        elif isinstance(event, yaml.AliasEvent):
            self._note(event, "an alias is not allowed here: write the value out")
            raise _StopReading
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._note(event, "a second YAML document: expected one only")
                raise _StopReading

    def _start(self, event: Any) -> tuple[int, int]:
        return (event.start_mark.line + self._first_line, event.start_mark.column)

    def _end(self, event: Any) -> tuple[int, int]:
        return (event.end_mark.line + self._first_line, event.end_mark.column)

    def _note(self, event: Any, message: str, path: DataPath | None = None) -> None:
        line, column = self._start(event)
        pointer = json_pointer(self._next_path() if path is None else path)
        where = Location(self._document.path, line + 1, column + 1)
        self._document.problems.append(CardProblem(where, pointer, message))

    def _next_path(self) -> DataPath:
        if not self._stack:
            return ()
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            return (*frame.path, len(frame.value))
        return frame.path if frame.key is None else (*frame.path, frame.key)

    def _expects_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is None

    def _refuse_extras(self, event: Any) -> None:
        if event.anchor is not None:
            self._note(event, "an anchor is not allowed here")
        if event.tag is not None:
            self._note(event, f"the tag {event.tag} is not allowed here: write a plain value")

    def _open(self, event: Any, value: dict[str, Any] | list[Any]) -> None:
        if self._expects_key():
            self._note(event, "expected a string as key, got a list or mapping")
            raise _StopReading
        if len(self._stack) >= _MAX_DEPTH:
            self._note(event, f"nested deeper than {_MAX_DEPTH} levels")
            raise _StopReading
        self._refuse_extras(event)
        start = self._start(event)
        key_at = self._stack[-1].key_at if self._stack else None
        place = Place(key_at or start, start, start, not event.flow_style)
        self._stack.append(_Frame(value, self._next_path(), place, bool(event.flow_style)))

    def _close(self, event: Any) -> None:
        frame = self._stack.pop()
        place = replace(frame.place, end=self._end(event)) if frame.flow else frame.place
        self._put(frame.value, place)

    def _scalar(self, event: Any) -> None:
        self._refuse_extras(event)
        value = _resolve(event.value) if event.implicit[0] else event.value  # quoted is text
        if isinstance(value, float) and not math.isfinite(value):
            self._note(event, f"expected a finite number, got {event.value}")
            value = 0.0
        start = self._start(event)
        if self._expects_key():
            self._key(event, value, start)
            return
        end = self._end(event)
        if event.style in ("|", ">"):
            end = self._end_of_block_text(start, end)
        key_at = self._stack[-1].key_at if self._stack else None
        self._put(value, Place(key_at or start, start, end))

    def _end_of_block_text(self, start: tuple[int, int], end: tuple[int, int]) -> tuple[int, int]:
        """The parser's end is behind the blank lines that follow; the content ends before them."""
        lines = split_lines(self._document.text)
        last = end[0] - self._first_line - (1 if end[1] == 0 else 0)
        last = min(last, len(lines) - 1)
        while last > start[0] - self._first_line and not lines[last].strip():
            last -= 1
        return (last + self._first_line, len(lines[last].rstrip("\r\n")))

    def _key(self, event: Any, value: Any, start: tuple[int, int]) -> None:
        frame = self._stack[-1]
        assert isinstance(frame.value, dict)
        key = value if isinstance(value, str) else str(event.value)
        path = (*frame.path, key)
        if key is not value:
            self._note(event, f"expected a string as key, got {event.value or 'nothing'}: quote it", path)
        if key in frame.value:
            first = self._document.places[path].key[0] + 1
            self._note(event, f'duplicate key "{key}": it is already on line {first}', path)
        frame.key, frame.key_at = key, start

    def _put(self, value: Any, place: Place) -> None:
        path = self._next_path()
        self._document.places[path] = place
        if not self._stack:
            self._document.data = value
            return
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        else:
            assert frame.key is not None
            frame.value[frame.key] = value
            frame.key = frame.key_at = None
        frame.place = replace(frame.place, end=max(frame.place.end, place.end))


def _resolve(text: str) -> Any:
    """The value of an unquoted scalar."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.fullmatch(text):
        return int(text)
    if _OTHER_BASE.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _NOT_FINITE.fullmatch(text):
        return math.nan
    return text


_LINE = re.compile("[^\r\n\x85\u2028\u2029]*(?:\r\n|[\r\n\x85\u2028\u2029])|[^\r\n\x85\u2028\u2029]+")


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` with their endings, cut where YAML counts a new line."""
    return _LINE.findall(text)


def walk(data: Any, path: DataPath = ()) -> Iterator[tuple[DataPath, Any]]:
    """Every node of ``data`` with its path, parents first."""
    yield path, data
    if isinstance(data, dict):
        for key, value in data.items():
            yield from walk(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from walk(value, (*path, index))
