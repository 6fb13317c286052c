"""Expansion of words: variables, defaults, arithmetic, arrays. Commands are not run: their output is a
HOLE."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from mbridge_skills.readers.shell import arithmetic
from mbridge_skills.readers.shell.script import Script
from mbridge_skills.readers.shell.state import State
from mbridge_skills.readers.shell.text import Mark, Text, hole

if TYPE_CHECKING:
    from tree_sitter import Node

_PARAMETER = re.compile(
    r"\$\{(?P<length>#)?(?P<name>\w+|[@*#?])(?:\[(?P<index>[^\]]*)\])?(?P<operator>:?[-=?+]|##?|%%?|//?|\^\^?|,,?|:)?",
    re.ASCII,
)
_SPACING = re.compile(r"tr\s|sed\s|xargs$")
_MAX_TEXT = 200_000


class Part:
    """A piece of a word. ``split``: it stood unquoted, so that blanks in it end words."""

    __slots__ = ("ends_word", "split", "text")

    def __init__(self, text: Text, split: bool = False, ends_word: bool = False) -> None:
        self.text, self.split, self.ends_word = text, split, ends_word


class Expander:
    """Expands the words of one script in a state."""

    def __init__(self, script: Script, state: State) -> None:
        self.script = script
        self.state = state

    def words(self, node: Node) -> list[Text]:
        """The words that ``node`` becomes; none where it is an unquoted variable that is empty."""
        return assemble(self._parts(node, quoted=False))

    def text(self, node: Node) -> Text:
        """``node`` as one text, as in an assignment."""
        return join([part.text for part in self._parts(node, quoted=True)])

    def _parts(self, node: Node, quoted: bool) -> list[Part]:
        mark = self.script.mark(node)
        match node.type:
            case (
                "word"
                | "number"
                | "variable_name"
                | "test_operator"
                | "extglob_pattern"
                | "regex"
                | "string_content"
            ):
                return [Part(_unescaped(self.script.of(node)))]
            case "raw_string":
                return [Part(self.script.of(node).slice(1, -1))]
            case "ansi_c_string":
                inner = self.script.of(node).slice(2, -1)
                return [Part(inner if "\\" not in inner.value else hole(mark))]
            case "string" | "translated_string":
                return self._string(node)
            case "concatenation":
                return [part for child in node.children for part in self._parts(child, quoted)]
            case "command_name":
                return [part for child in node.children for part in self._parts(child, quoted)]
            case "simple_expansion":
                name = self.script.of(node).value.strip().removeprefix("$")
                return self._variable(name, None, mark, quoted)
            case "expansion":
                return self._expansion(node, mark, quoted)
            case "arithmetic_expansion":
                source = self.script.of(node).value.strip()
                inside = source[3:-2] if source.startswith("$((") else source[2:-1]
                return [Part(arithmetic.evaluate(inside, self.state, mark))]
            case "command_substitution":
                return [Part(self._substitution(node, mark), split=not quoted)]
            case "brace_expression" | "process_substitution":
                return [Part(hole(mark))]
        if not node.is_named:
            return [Part(self.script.of(node))]
        return [Part(hole(mark))]

    def _string(self, node: Node) -> list[Part]:
        """What stands between expansions is taken from the text: the grammar skips blanks there."""
        parts = [Part(Text())]
        at = node.start_byte + (2 if node.type == "translated_string" else 1)
        end = node.end_byte - 1
        for child in node.children:
            if not child.is_named or child.type == "string_content":
                continue
            parts.append(Part(_unquoted(self.script.between(at, self._begin(child)))))
            parts += [Part(part.text, False, part.ends_word) for part in self._parts(child, quoted=True)]
            at = child.end_byte
        parts.append(Part(_unquoted(self.script.between(at, max(at, end)))))
        return parts

    def _begin(self, node: Node) -> int:
        """Where an expansion begins: in a string the grammar counts the blanks before it as part of it."""
        text = node.text or b""
        return node.start_byte + len(text) - len(text.lstrip())

    def document(self, node: Node) -> Text:
        """The content of a here-document, expanded."""
        pieces: list[Text] = []
        at = node.start_byte
        for child in node.children:
            if not child.is_named or child.type == "heredoc_content":
                continue
            pieces.append(_unquoted(self.script.between(at, self._begin(child))))
            pieces += [part.text for part in self._parts(child, quoted=True)]
            at = child.end_byte
        pieces.append(_unquoted(self.script.between(at, node.end_byte)))
        return join(pieces)

    def _variable(self, name: str, index: str | None, mark: Mark, quoted: bool) -> list[Part]:
        if name in ("@", "*"):  # without arguments where the script itself is meant
            return _elements(self.state.arguments or [], quoted and name == "@", quoted)
        if name.isdecimal() and self.state.arguments is not None:
            given = self.state.arguments
            position = int(name) - 1
            return [Part(given[position] if 0 <= position < len(given) else Text(), not quoted)]
        value = self.state.variables.get(name)
        if isinstance(value, list):
            if index in ("@", "*"):
                return _elements(value, quoted and index == "@", quoted)
            if index is None or index.isdecimal():
                position = int(index or 0)
                if all(item.value != "\ue000" for item in value):
                    return [Part(value[position] if position < len(value) else Text(), not quoted)]
            return [Part(hole(mark), not quoted)]
        if name in self.state.variables:
            return [Part(value or Text(), not quoted)]
        if name in self.state.slurm:
            return [Part(self.state.slurm[name], not quoted)]
        return [Part(hole(mark), not quoted)]

    def _expansion(self, node: Node, mark: Mark, quoted: bool) -> list[Part]:
        source = self.script.between(self._begin(node), node.end_byte)
        match = _PARAMETER.match(source.value)
        if match is None or match["length"]:
            return [Part(hole(mark))]
        name, operator = match["name"], match["operator"]
        rest = source.slice(match.end(), -1)
        known = self._variable(name, match["index"], mark, quoted)
        if operator is None:
            return known if not rest.value else [Part(hole(mark), not quoted)]
        assigned = self._is_assigned(name)
        if operator in (":-", "-", ":=", "="):
            if assigned and (join([part.text for part in known]).value or not operator.startswith(":")):
                return known
            default = [Part(part.text, not quoted) for part in self._rest(node, rest)]
            if not assigned:
                default = [Part(part.text.unless(name), part.split) for part in default]
            if operator in (":=", "="):
                self.state.variables[name] = join([part.text for part in default])
            return default
        if operator in (":+", "+"):
            if not assigned:
                return [Part(Text())]
            return (
                [Part(part.text, not quoted) for part in self._rest(node, rest)]
                if _whole(known)
                else [Part(Text())]
            )
        if operator in (":?", "?"):
            return known
        value = join([part.text for part in known])
        return [Part(_edited(value, operator, rest.value, mark), not quoted)]

    def _is_assigned(self, name: str) -> bool:
        if name.isdecimal() or name in "@*":
            return self.state.arguments is not None
        return self.state.variables.get(name) is not None or name in self.state.slurm

    def _rest(self, node: Node, rest: Text) -> list[Part]:
        """The parts behind the operator of ``${name:-...}``."""
        inner = [child for child in node.named_children if child.type not in ("variable_name", "subscript")]
        if not inner and node.named_children and node.named_children[-1].type == "variable_name":
            return [Part(rest)]
        return [part for child in inner for part in self._parts(child, quoted=True)] or [Part(Text())]

    def _substitution(self, node: Node, mark: Mark) -> Text:
        """The output of a command. Only ``echo`` is known, behind filters that change nothing but blanks."""
        commands = node.named_children
        if len(commands) == 1 and commands[0].type == "pipeline":
            commands = commands[0].named_children
            if not all(_SPACING.match(self.script.of(each).value) for each in commands[1:]):
                return hole(mark)
            if not all(_only_blanks(self.script.of(each).value) for each in commands[1:]):
                return hole(mark)
        elif len(commands) != 1:
            return hole(mark)
        first = commands[0]
        name = first.child_by_field_name("name")
        if first.type != "command" or name is None or self.script.of(name).value != "echo":
            return hole(mark)
        words = [word for child in first.children_by_field_name("argument") for word in self.words(child)]
        if words and words[0].value in ("-n", "-e", "-en", "-ne"):
            words = words[1:] if words[0].value == "-n" else [hole(mark)]
        return join(words, " ")


def _only_blanks(filter_: str) -> bool:
    """Whether a filter does nothing but turn blanks into blanks."""
    inner = filter_.partition(" ")[2]
    return re.sub(r"\\n|\\t|\\\+|[\s'\"/]|\bs\b|/g|-[dsE]\b|\bg\b|\[:space:\]|\*|\+", "", inner) == ""


def _whole(parts: list[Part]) -> bool:
    return bool(join([part.text for part in parts]).value)


def _elements(values: list[Text], apart: bool, quoted: bool) -> list[Part]:
    """An array: "${A[@]}" is a word for each element, unquoted its elements are split further."""
    parts: list[Part] = []
    for i, value in enumerate(values):
        if i:
            parts.append(Part(Text.at(" ", value.marks[0] if value.marks else Mark(1, 1)), not quoted, apart))
        parts.append(Part(value, not quoted))
    if not values and apart:
        return [Part(Text(), split=True)]
    return parts


def join(texts: list[Text], between: str = "") -> Text:
    """All of ``texts`` in one."""
    value: list[str] = []
    marks: list[Mark] = []
    for text in texts:
        if between and value:
            value.append(between)
            marks.append(marks[-1] if marks else Mark(1, 1))
        value.append(text.value)
        marks += text.marks
        if len(marks) > _MAX_TEXT:
            return hole(marks[0])
    return Text("".join(value), marks)


def assemble(parts: list[Part]) -> list[Text]:
    """The words that ``parts`` make."""
    words: list[Text] = []
    current: Text | None = None
    for part in parts:
        if part.ends_word:
            words.append(current or Text())
            current = Text()
        elif not part.split:
            current = part.text if current is None else current + part.text
        else:
            pieces = part.text.fields()
            if part.text.value[:1].isspace() and current is not None:
                words.append(current)
                current = None
            for i, piece in enumerate(pieces):
                if i and current is not None:
                    words.append(current)
                    current = None
                current = piece if current is None else current + piece
            if part.text.value[-1:].isspace() and current is not None:
                words.append(current)
                current = None
    if current is not None:
        words.append(current)
    return words


def _unescaped(text: Text) -> Text:
    return _without(text, r"\\\n|\\(?=.)")


def _unquoted(text: Text) -> Text:
    return _without(text, r'\\\n|\\(?=[$`"\\])')


def _without(text: Text, pattern: str) -> Text:
    if "\\" not in text.value:
        return text
    pieces: list[Text] = []
    at = 0
    for match in re.finditer(f"(?:{pattern})", text.value, re.DOTALL):
        if match.start() < at:
            continue
        pieces.append(text.slice(at, match.start()))
        at = match.end()
        if match.group() == "\\":  # what is escaped stays, whatever it is
            pieces.append(text.slice(at, at + 1))
            at += 1
    pieces.append(text.slice(at))
    return join(pieces)


def _edited(value: Text, operator: str, pattern: str, mark: Mark) -> Text:
    """``${name%pattern}`` and the like, for plain patterns."""
    if not value.known or not pattern or re.search(r"[\\$`'\"\[]", pattern):
        return hole(mark)
    text = value.value
    if operator in ("%", "%%"):
        ends = range(len(text), -1, -1) if operator == "%" else range(len(text) + 1)
        return next((value.slice(0, i) for i in ends if fnmatch.fnmatchcase(text[i:], pattern)), value)
    if operator in ("#", "##"):
        begins = range(len(text) + 1) if operator == "#" else range(len(text), -1, -1)
        return next((value.slice(i) for i in begins if fnmatch.fnmatchcase(text[:i], pattern)), value)
    return hole(mark)
