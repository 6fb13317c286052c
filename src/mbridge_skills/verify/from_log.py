"""Judging a log that exists, in place of running anything."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from mbridge_skills.card.model import Card, Expect, VerifyBlock
from mbridge_skills.criteria.base import JudgedRun
from mbridge_skills.errors import InputError
from mbridge_skills.logs.summary import LogSummary
from mbridge_skills.verify.report import BlockReport, Status, VerifyReport, decide
from mbridge_skills.verify.session import judge


def judge_log(card: Card, summary: LogSummary, block: VerifyBlock | None, log: Path) -> VerifyReport:
    """Judge an existing log by a block's criteria; by the fitting block where none is named."""
    fitting = block or _fitting_block(card, summary)
    expect = fitting.expect
    stated = JudgedRun(summary, None, expect).options.get("iterations")
    if type(stated) is int:
        expect = Expect(iterations=stated, passes=expect.passes)
    elif block is None and not summary.pytest_sessions:
        expect = Expect()
    criteria = judge(fitting, JudgedRun(summary, None, expect))
    status, reason = decide(criteria)
    if summary.cannot_run is not None:
        status, reason = Status.NOT_VERIFIED, summary.cannot_run
    label = (summary.environment or {}).get("label")
    report = BlockReport(
        block=fitting.id,
        title=f"{fitting.title} (judged from a log)",
        tier=fitting.tier,
        status=status,
        asked=True,
        reason=reason,
        label=label,
        criteria=criteria,
        log=log,
    )
    return VerifyReport(card.name, datetime.now(UTC).isoformat(timespec="seconds"), (report,))


def _fitting_block(card: Card, summary: LogSummary) -> VerifyBlock:
    """The block whose program wrote the log; for any other training log, the criteria that fit every log."""
    label = (summary.environment or {}).get("label")
    wanted = "bridge" if summary.environment is None else {"gpu": "gpu"}.get(str(label), "cpu")
    block = next(iter(card.blocks_for(wanted)), None)
    if block is None:
        raise InputError(
            f"{card.name} has no verify block of tier {wanted} to judge this log by",
            remedy="name another of its blocks with --block",
        )
    if summary.environment is not None or summary.pytest_sessions:
        return block
    return _training_log_block(block)


def _training_log_block(block: VerifyBlock) -> VerifyBlock:
    """``block`` without what only a pytest log can show."""
    criteria = tuple(spec for spec in block.criteria if spec.id != "pytest-passes")
    return replace(block, id="training-log", title="Training log", criteria=criteria)
