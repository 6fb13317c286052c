"""Words of a command line: text, and where each stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mbridge_skills.config.view import Origin
from mbridge_skills.errors import InputError, Location

HOLE = "\ue000"
"""Stands in a text for a part that cannot be known without running something."""

_ESCAPED = '$`"\\\n'


@dataclass(frozen=True)
class Word:
    """One argument, as the program would get it. ``text`` has a HOLE where a part of it is not known."""

    text: str
    origin: Origin

    @property
    def known(self) -> bool:
        """Whether all of it is known."""
        return HOLE not in self.text


def split_words(text: str, path: Path | None = None, note: str | None = None) -> list[Word]:
    """Split ``text`` as a POSIX shell would, without expanding anything; ``#`` begins a comment.

    Raises:
        InputError: a quotation is not closed.
    """
    words: list[Word] = []
    current: list[str] | None = None
    begin = 0
    i = 0
    while i < len(text):
        char = text[i]
        if char.isspace():
            if current is not None:
                words.append(Word("".join(current), _origin(text, begin, path, note)))
                current = None
            i += 1
            continue
        if current is None:
            if char == "#":
                i = _end_of_line(text, i)
                continue
            current, begin = [], i
        if char == "'":
            end = text.find("'", i + 1)
            if end < 0:
                raise _not_closed(text, i, path)
            current.append(text[i + 1 : end])
            i = end + 1
        elif char == '"':
            i = _double_quoted(text, i, current, path)
        elif char == "\\" and i + 1 < len(text):
            if text[i + 1] != "\n":
                current.append(text[i + 1])
            elif not current:
                current = None
            i += 2
        else:
            current.append(char)
            i += 1
    if current is not None:
        words.append(Word("".join(current), _origin(text, begin, path, note)))
    return words


def _double_quoted(text: str, begin: int, into: list[str], path: Path | None) -> int:
    i = begin + 1
    while i < len(text):
        if text[i] == '"':
            return i + 1
        if text[i] == "\\" and i + 1 < len(text) and text[i + 1] in _ESCAPED:
            if text[i + 1] != "\n":
                into.append(text[i + 1])
            i += 2
        else:
            into.append(text[i])
            i += 1
    raise _not_closed(text, begin, path)


def _end_of_line(text: str, i: int) -> int:
    end = text.find("\n", i)
    return len(text) if end < 0 else end


def _place(text: str, i: int) -> tuple[int, int]:
    return text.count("\n", 0, i) + 1, i - (text.rfind("\n", 0, i) + 1) + 1


def _origin(text: str, i: int, path: Path | None, note: str | None) -> Origin:
    return Origin(path, *_place(text, i), note)


def _not_closed(text: str, i: int, path: Path | None) -> InputError:
    line, column = _place(text, i)
    return InputError(
        f"a quotation that begins in column {column} is not closed",
        where=Location(path, line, column) if path else None,
    )
