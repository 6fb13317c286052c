"""A shell script and its syntax tree, by tree-sitter's grammar of bash."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from mbridge_skills.readers.shell.text import Mark, Text

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class Script:
    """A script. ``text`` says where it was written: in a file, or piecewise in strings of another script."""

    def __init__(self, text: Text) -> None:
        self.text = text
        data = text.value.encode("utf-8", "replace")
        self._chars: list[int] | None = None
        if len(data) != len(text.value):
            self._chars = [i for i, char in enumerate(text.value) for _ in char.encode("utf-8", "replace")]
            self._chars.append(len(text.value))
        self.root = _parser().parse(data).root_node

    def between(self, begin: int, end: int) -> Text:
        """The text between two byte offsets."""
        if self._chars is not None:
            begin, end = self._chars[begin], self._chars[end]
        return self.text.slice(begin, end)

    def of(self, node: Node) -> Text:
        """The text of a node."""
        return self.between(node.start_byte, node.end_byte)

    def mark(self, node: Node) -> Mark:
        """Where a node begins."""
        marks = self.of(node).marks
        return marks[0] if marks else Mark(1, 1)

    def first_error(self) -> Node | None:
        """The first place that the grammar has no rule for."""
        if not self.root.has_error:
            return None
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node.type == "ERROR" or node.is_missing:
                return node
            waiting += reversed([child for child in node.children if child.has_error or child.is_missing])
        return self.root


def located(text: str) -> Text:
    """The text of a file, each character with its line and column."""
    marks: list[Mark] = []
    for number, line in enumerate(text.split("\n"), 1):
        marks += [Mark(number, column) for column in range(1, len(line) + 2)]
    return Text(text, marks[: len(text)])
