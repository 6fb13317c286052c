"""Lines of a log that may matter for its failure, kept as they go by in bounded memory."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mbridge_skills.errors import InputError, Location
from mbridge_skills.gotchas.gotcha import Gotcha
from mbridge_skills.triage.literals import required_literals

LONGEST_KEPT = 500  # characters of a line
MOST_FIRST = 8  # hits of a pattern that are kept from the beginning of a log
MOST_LAST = 56  # and those from its end
MOST_BEFORE = 3  # lines that say an error, kept for a traceback that follows
MOST_TRACEBACKS = 100

_HEADER = "Traceback (most recent call last):"
_ERROR_HINTS = ("rror", "ERROR", "***", "FATAL", "CRITICAL")
_SAYS_ERROR = re.compile(
    r"(?:\b|_)(?:ERROR|CRITICAL|FATAL)\b|\berror:|\w(?:Error|Exception)\b|\*\*\* |^E\s|^>\s", re.MULTILINE
)
_WINDOW = 2000  # characters around a literal in which its pattern is tried: a line may be a megabyte


@dataclass(frozen=True)
class Line:
    """A line of a log: its number from 1, and its text without rank prefix, shortened."""

    number: int
    text: str


@dataclass(frozen=True)
class Hit:
    """A line that a pattern of a gotcha matches. ``says_error`` where the line up to there, or its head,
    calls it an error."""

    line: Line
    rank: int | None
    code: str
    length: int  # characters that were matched
    says_error: bool


@dataclass
class Watched:
    """A pattern with what was seen of it."""

    code: str
    pattern: re.Pattern[str]
    first: list[Hit] = field(default_factory=list)
    last: deque[Hit] = field(default_factory=lambda: deque(maxlen=MOST_LAST))


class LineWatch:
    """Takes the lines of one log as they come. ``line`` is made to be the ``on_line`` of a
    :class:`~mbridge_skills.logs.parser.LogParser`.

    Raises:
        InputError: a gotcha's pattern is no regular expression.
    """

    def __init__(self, gotchas: Sequence[Gotcha]) -> None:
        self.patterns = tuple(
            Watched(gotcha.code, _compiled(gotcha, pattern)) for gotcha in gotchas for pattern in gotcha.log
        )
        """All patterns; a pattern without a literal text is tried on failures only, not on lines."""
        self._by_literal: dict[str, list[Watched]] = {}
        for watched in self.patterns:
            for literal in required_literals(watched.pattern.pattern):
                self._by_literal.setdefault(literal, []).append(watched)
        self._literals = tuple(self._by_literal)
        self._errors: deque[Line] = deque(maxlen=MOST_BEFORE)
        self._before: dict[int, tuple[Line, ...]] = {}

    def line(self, number: int, rank: int | None, text: str) -> None:
        """Takes the next line: its number from 1, its rank (None where unknown), its text."""
        for hint in _ERROR_HINTS:
            if hint in text:
                self._error(number, text)
                break
        else:
            if _HEADER in text and len(self._before) < MOST_TRACEBACKS:
                self._before[number] = tuple(self._errors)
        for literal in self._literals:
            if literal in text:
                self._match(number, rank, text, literal)

    def hits(self) -> Iterator[Hit]:
        """The lines that matched, pattern by pattern: the first and the last of each."""
        for watched in self.patterns:
            yield from watched.first
            yield from watched.last

    def before(self, number: int) -> tuple[Line, ...]:
        """The last lines that say an error before the traceback whose header is line ``number``."""
        return self._before.get(number, ())

    def _error(self, number: int, text: str) -> None:
        # Bridge's own message repeats the exception that the traceback behind it has.
        if _SAYS_ERROR.search(text[:_WINDOW]) and "failed on rank=" not in text:
            self._errors.append(Line(number, text[:LONGEST_KEPT].strip()))

    def _match(self, number: int, rank: int | None, text: str, literal: str) -> None:
        at = text.find(literal)
        start = max(0, at - _WINDOW)
        window = text[start : at + len(literal) + _WINDOW]
        for watched in self._by_literal[literal]:
            found = watched.pattern.search(window)
            if found is None:
                continue
            error = _SAYS_ERROR.search(window[: found.end()]) is not None
            cut = max(0, found.start() - LONGEST_KEPT // 2) if found.end() > LONGEST_KEPT else 0
            kept = Line(number, window[cut : cut + LONGEST_KEPT].rstrip())
            hit = Hit(kept, rank, watched.code, found.end() - found.start(), error)
            if len(watched.first) < MOST_FIRST:
                watched.first.append(hit)
            else:
                watched.last.append(hit)


def _compiled(gotcha: Gotcha, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        message = f"not a regular expression: {pattern}: {error}"
        raise InputError(message, where=Location(gotcha.path)) from None
