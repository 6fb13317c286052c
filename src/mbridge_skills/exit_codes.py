"""The exit codes of every verb; README has the same table."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the shell is told. Not being able to run is never ``OK``."""

    OK = 0
    FAILED = 1  # findings, or a verification that failed
    USAGE = 2  # wrong options, unreadable or invalid input
    NOT_RUN = 3  # what was asked for could not run here: not verified
