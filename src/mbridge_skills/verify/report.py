"""What a verification came to: records, and the one rule that turns criteria into a status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from mbridge_skills.criteria.base import CriterionResult, Verdict
from mbridge_skills.exit_codes import ExitCode


class Status(StrEnum):
    """Of a block, and of the whole verification."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_VERIFIED = "not verified"


@dataclass(frozen=True)
class BlockReport:
    """One verify block: run, judged from a log, or not verified for a reason."""

    block: str
    title: str
    tier: str
    status: Status
    asked: bool  # whether the whole verification's status hangs on it
    reason: str | None = None  # why it is not verified
    remedy: str | None = None
    label: str | None = None  # what kind of evidence it is: cpu-simulated or gpu
    criteria: tuple[CriterionResult, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float | None = None
    log: Path | None = None  # where the log was kept
    evidence: Mapping[str, Any] | None = None  # see :mod:`mbridge_skills.verify.evidence`
    evidence_file: Path | None = None


@dataclass(frozen=True)
class VerifyReport:
    """A whole verification of one skill."""

    skill: str
    date: str  # ISO 8601, UTC
    blocks: tuple[BlockReport, ...]

    @property
    def status(self) -> Status:
        """Failed where anything asked for failed; passed where all of it passed; else not verified."""
        statuses = {block.status for block in self.blocks if block.asked}
        if Status.FAILED in statuses:
            return Status.FAILED
        return Status.PASSED if statuses == {Status.PASSED} else Status.NOT_VERIFIED

    @property
    def exit_code(self) -> ExitCode:
        """The status for the shell."""
        return {
            Status.PASSED: ExitCode.OK,
            Status.FAILED: ExitCode.FAILED,
            Status.NOT_VERIFIED: ExitCode.NOT_RUN,
        }[self.status]


def decide(criteria: Iterable[CriterionResult]) -> tuple[Status, str | None]:
    """The status of a block by its required criteria, and the reason where it is not verified.

    One failed criterion fails the block; one that was not judged leaves it unverified; no criterion at all
    verifies nothing.
    """
    required = [result for result in criteria if result.required]
    if any(result.verdict is Verdict.FAILED for result in required):
        return Status.FAILED, None
    open_ones = [result.id for result in required if result.verdict is not Verdict.PASSED]
    if open_ones:
        return Status.NOT_VERIFIED, f"not judged: {', '.join(open_ones)}"
    if not required:
        return Status.NOT_VERIFIED, "no criterion to judge by"
    return Status.PASSED, None
