"""What is found about a log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from mbridge_skills.gotchas.gotcha import Gotcha
from mbridge_skills.triage.watch import Line

Status = Literal["explained", "unknown", "no failure"]


class Place(IntEnum):
    """Where a gotcha's pattern matched, the strongest evidence first."""

    FIRST_FAILURE = 0  # exception and message of the rank that failed first
    OTHER_FAILURE = 1  # another traceback, a fault, pytest's or torchrun's reason, the first failure's frames
    ERROR_LINE = 2  # a line that calls itself an error
    LINE = 3  # any other line: no explanation by itself

    @property
    def text(self) -> str:
        """In words."""
        return ("the first failure", "a failure", "a line that says an error", "a line")[self]


@dataclass(frozen=True)
class RootCause:
    """What failed first. ``line`` and ``rank`` are None where the log does not tell."""

    line: int | None
    rank: int | None
    exception: str | None
    message: str
    before: tuple[Line, ...] = ()  # where it tells little: lines before it that say an error

    @property
    def text(self) -> str:
        """Exception and message on one line."""
        parts = [self.exception, self.message]
        return " ".join(": ".join(part for part in parts if part).split())


@dataclass(frozen=True)
class Candidate:
    """A gotcha that may explain the failure."""

    gotcha: Gotcha
    place: Place
    evidence: Line


@dataclass(frozen=True)
class Triage:
    """``explained`` where a candidate matches better than by a line of no known meaning."""

    status: Status
    failure: RootCause | None  # None where there is no failure
    candidates: tuple[Candidate, ...]  # the best first; without a failure there are none
    noticed: tuple[Candidate, ...]  # gotchas that stop nothing, recognised by lines: silent changes
    ended: bool  # whether the log says that the run reached its end, and well
