"""Errors a person is meant to read: what is wrong, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mbridge_skills.exit_codes import ExitCode


@dataclass(frozen=True)
class Location:
    """A place in a file. ``line`` and ``column`` count from 1; None where there is no finer place."""

    path: Path
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [str(self.path), self.line, self.column]
        return ":".join(str(part) for part in parts if part is not None)


class SkillError(Exception):
    """Base of the errors that the command line prints without a traceback."""

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, *, where: Location | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  help: {self.remedy}" if self.remedy else text


class InputError(SkillError):
    """The user's input is unreadable, invalid or contradictory (exit 2)."""


class CannotRunError(SkillError):
    """What was asked for cannot run on this machine (exit 3): not verified, never green."""

    exit_code = ExitCode.NOT_RUN
