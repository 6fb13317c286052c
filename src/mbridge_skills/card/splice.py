"""Changing single values in a YAML text and leaving every other character as it is."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from mbridge_skills.card.problems import DataPath
from mbridge_skills.card.reader import Document, split_lines
from mbridge_skills.errors import InputError

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_WIDTH = 1 << 16  # columns: nothing is folded, which would leave spaces at line ends
# What every YAML parser reads as the same plain text between brackets; the writer's own idea is wider.
_PLAIN_IN_FLOW = re.compile(r"[\w./=+-]([\w ./=+@%-]*[\w./=+@%-])?")


class Splicer:
    """Collects edits of one document; ``text()`` gives the result."""

    def __init__(self, document: Document) -> None:
        """``document`` must be block style at the top level.

        Raises:
            InputError: it is not, so that nothing can be added to it line by line.
        """
        self._document = document
        lines = split_lines(document.text)
        self._newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
        self._text = document.text
        if not self._text.endswith(("\n", "\r")):
            self._text += self._newline
        self._lines = split_lines(self._text)
        self._starts = [0, *accumulate(len(line) for line in self._lines)]
        self._edits: list[tuple[int, int, str]] = []
        if not document.places[()].block or document.places[()].start[1] != 0:
            raise document_error(document, (), "can only be edited in block style: one key per line")

    def text(self) -> str:
        """The document with all edits; those at the same place in the order in which they were made."""
        pieces, position = [], 0
        for start, end, new in sorted(self._edits, key=lambda edit: edit[0]):
            pieces += [self._text[position:start], new]
            position = end
        return "".join([*pieces, self._text[position:]])

    def set_key(self, path: DataPath, value: Any) -> None:
        """Give the key at ``path`` a new value, in the style of the old one.

        A key at the top level that is not there yet is added below everything else.
        """
        key = str(path[-1])
        place = self._document.places.get(path)
        if place is None:
            assert len(path) == 1
            self._insert_below(self._document.places[()].end[0], render({key: value}), 0)
            return
        new = render({key: value}, flow_from=2 if place.block else 1)
        lines = new.removesuffix("\n").split("\n")
        indent = " " * place.key[1]
        self._replace(
            place.key, place.end, self._newline.join([lines[0], *(indent + line for line in lines[1:])])
        )

    def add_item(self, path: DataPath, item: Mapping[str, Any]) -> None:
        """Add ``item`` at the end of the list at ``path``.

        Raises:
            InputError: the list has items and is in flow style ([...]).
        """
        place = self._document.places[path]
        if place.block:
            self._insert_below(place.end[0], render([item], flow_from=2), place.start[1])
            return
        if _at(self._document.data, path):
            raise document_error(
                self._document, path, "can only be added to as a block list: one item per line"
            )
        colon = place.key[1] + len(str(path[-1])) + 1
        self._replace((place.key[0], colon), place.end, "")
        self._insert_below(place.end[0], render([item], flow_from=2), place.key[1] + 2)

    def replace_item(self, path: DataPath, item: Mapping[str, Any]) -> None:
        """Put ``item`` in the place of the list item at ``path``; comments inside the old one go.

        Raises:
            InputError: the list is in flow style ([...]).
        """
        dash = self._document.places[path[:-1]]
        if not dash.block:
            raise document_error(self._document, path[:-1], "can only be edited as a block list")
        place, column = self._document.places[path], dash.start[1]
        first = place.start[0]
        while self._lines[first][: column + 1].strip() != "-":  # the dash may stand on a line of its own
            first -= 1
        end = (place.end[0], len(self._lines[place.end[0]].rstrip("\r\n")))
        new = self._indented(render([item], flow_from=2), column)
        self._replace((first, 0), end, new.removesuffix(self._newline))

    def _insert_below(self, line: int, new: str, column: int) -> None:
        at = self._starts[line + 1]
        self._edits.append((at, at, self._indented(new, column)))

    def _replace(self, start: tuple[int, int], end: tuple[int, int], new: str) -> None:
        self._edits.append((self._offset(start), self._offset(end), new))

    def _indented(self, new: str, column: int) -> str:
        lines = new.removesuffix("\n").split("\n")
        return "".join(" " * column + line + self._newline for line in lines)

    def _offset(self, at: tuple[int, int]) -> int:
        return self._starts[at[0]] + at[1]


def document_error(document: Document, path: DataPath, message: str) -> InputError:
    """An error at a place in the document."""
    problem = document.problem(path, message)
    name = f"{problem.pointer.removeprefix('/')} " if problem.pointer else ""
    return InputError(name + message, where=problem.where)


def _at(data: Any, path: DataPath) -> Any:
    for step in path:
        data = data[step]
    return data


def render(value: Any, *, flow_from: int = 2) -> str:
    """``value`` as YAML; collections ``flow_from`` levels down and deeper stand on one line."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.width = _WIDTH
    stream = io.StringIO()
    yaml.dump(_styled(value, flow_from), stream)
    return stream.getvalue()


def _styled(value: Any, block_levels: int) -> Any:
    from ruamel.yaml.comments import CommentedMap, CommentedSeq
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, SingleQuotedScalarString

    if isinstance(value, str) and _DATE.fullmatch(value):
        return datetime.date.fromisoformat(value)  # written without quotes
    if isinstance(value, str) and block_levels < 0 and not _PLAIN_IN_FLOW.fullmatch(value):
        quoted = SingleQuotedScalarString if value.isprintable() else DoubleQuotedScalarString
        return quoted(value)
    if isinstance(value, Mapping):
        styled: Any = CommentedMap((key, _styled(item, block_levels - 1)) for key, item in value.items())
    elif isinstance(value, Sequence) and not isinstance(value, str):
        styled = CommentedSeq(_styled(item, block_levels - 1) for item in value)
    else:
        return value
    if block_levels <= 0:
        styled.fa.set_flow_style()
    return styled
