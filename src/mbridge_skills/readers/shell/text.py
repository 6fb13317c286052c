"""Text that knows where each of its characters was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mbridge_skills.readers.words import HOLE


class Mark(NamedTuple):
    """Where a character was written, from 1, and the variable that the environment may replace it by."""

    line: int
    column: int
    unless: str | None = None


class Text:
    """A string with a mark for each character. A HOLE is a part that is not known."""

    __slots__ = ("_certain", "marks", "value")

    def __init__(self, value: str = "", marks: Iterable[Mark] = ()) -> None:
        self.value = value
        self.marks = list(marks)
        self._certain: bool | None = None

    @classmethod
    def at(cls, value: str, mark: Mark) -> Text:
        """All of ``value`` is from one place."""
        return cls(value, [mark] * len(value))

    def __add__(self, other: Text) -> Text:
        return Text(self.value + other.value, self.marks + other.marks)

    def __len__(self) -> int:
        return len(self.value)

    def slice(self, begin: int, end: int | None = None) -> Text:
        """A part of it."""
        return Text(self.value[begin:end], self.marks[begin:end])

    def unless(self, name: str) -> Text:
        """The same, but only unless the environment has the variable ``name``."""
        return Text(self.value, [Mark(mark.line, mark.column, mark.unless or name) for mark in self.marks])

    @property
    def known(self) -> bool:
        """Whether all of it is known."""
        return HOLE not in self.value

    @property
    def certain(self) -> bool:
        """Whether it is known, and the environment cannot replace it."""
        if self._certain is None:
            self._certain = self.known and not any(mark.unless for mark in self.marks)
        return self._certain

    def fields(self, separators: str | None = None) -> list[Text]:
        """What the shell splits it into."""
        return [self.slice(begin, end) for begin, end in _spans(self.value, separators)]


def _spans(value: str, separators: str | None) -> Iterator[tuple[int, int]]:
    begin: int | None = None
    for i, char in enumerate(value):
        if char.isspace() if separators is None else char in separators:
            if begin is not None:
                yield begin, i
                begin = None
        elif begin is None:
            begin = i
    if begin is not None:
        yield begin, len(value)


def hole(mark: Mark) -> Text:
    """A text that is not known."""
    return Text.at(HOLE, mark)
