"""One verification from beginning to end: which blocks run, running them, judging them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mbridge_skills import atomic
from mbridge_skills.card.model import Card, VerifyBlock
from mbridge_skills.criteria import criterion
from mbridge_skills.criteria.base import CriterionResult, JudgedRun
from mbridge_skills.errors import InputError, Location
from mbridge_skills.logs.parser import LogParser
from mbridge_skills.logs.summary import LogSummary
from mbridge_skills.verify import evidence
from mbridge_skills.verify.launcher import Command, Limits, Outcome, Watchers, running
from mbridge_skills.verify.plan import TIERS, NotHere, Plan, Request, plan, with_paths
from mbridge_skills.verify.progress import Progress
from mbridge_skills.verify.report import BlockReport, Status, VerifyReport, decide


@dataclass(frozen=True)
class Options:
    """How to verify. Seconds; None leaves a limit to the block."""

    tier: str  # auto, cpu, gpu or bridge
    request: Request
    timeout: float | None = None
    stall: float | None = None
    report_folder: Path | None = None


def verify(card: Card, options: Options, progress: Callable[[Plan], Progress]) -> VerifyReport:
    """Run the blocks of the tier asked for; with ``auto``, those of the highest tier that can run here.

    Raises:
        InputError: the card has no block of that tier, or options do not fit it.
        CannotRunError: a command could not be started.
    """
    begun = datetime.now(UTC)
    plans = {block.id: plan(card, block, options.request) for block in _candidates(card, options.tier)}
    chosen = _chosen_tier(card, options.tier, plans)
    reports = []
    for tier in reversed(TIERS):
        for block in card.blocks_for(tier):
            if block.id not in plans:
                continue
            planned = plans[block.id]
            asked = tier == chosen
            if isinstance(planned, NotHere):
                reports.append(_not_here(block, planned, asked=asked))
            elif asked:
                reports.append(_run(card, planned, options, progress(planned)))
            else:
                reports.append(_not_here(block, _passed_over(tier, chosen), asked=False))
    return VerifyReport(card.name, begun.isoformat(timespec="seconds"), tuple(reports))


def judge(block: VerifyBlock, run: JudgedRun) -> tuple[CriterionResult, ...]:
    """The block's criteria, applied to a run."""
    return tuple(criterion(spec.id).apply(run, spec) for spec in block.criteria)


def _candidates(card: Card, tier: str) -> tuple[VerifyBlock, ...]:
    blocks = card.verify if tier == "auto" else card.blocks_for(tier)
    if not blocks:
        raise InputError(
            f"{card.name} has no verify block of tier {tier}",
            where=Location(card.path),
            remedy=f"choose --tier auto; its blocks: {_names(card)}",
        )
    return blocks


def _names(card: Card) -> str:
    return ", ".join(f"{block.id} (tier {block.tier})" for block in card.verify) or "none"


def _chosen_tier(card: Card, tier: str, plans: dict[str, Plan | NotHere]) -> str:
    if tier != "auto":
        return tier
    for candidate in reversed(TIERS):
        blocks = card.blocks_for(candidate)
        if blocks and all(isinstance(plans[block.id], Plan) for block in blocks):
            return candidate
    # Nothing can run: then what was asked for is the least that could have.
    return next(tier for tier in TIERS if card.blocks_for(tier))


def _passed_over(tier: str, chosen: str) -> NotHere:
    if TIERS.index(tier) < TIERS.index(chosen):
        return NotHere(f"not run: tier {chosen} shows more")
    return NotHere(f"not run: another block of tier {tier} cannot run here", remedy=f"--tier {tier}")


def _not_here(block: VerifyBlock, answer: NotHere, *, asked: bool) -> BlockReport:
    return BlockReport(
        block=block.id,
        title=block.title,
        tier=block.tier,
        status=Status.NOT_VERIFIED,
        asked=asked,
        reason=answer.reason,
        remedy=answer.remedy,
    )


def _run(card: Card, planned: Plan, options: Options, progress: Progress) -> BlockReport:
    block = planned.block
    begun = datetime.now(UTC)
    scratch = Path(tempfile.mkdtemp(prefix="mbridge-skills-"))
    log = scratch / "output.log"
    limits = Limits(options.timeout or block.timeout_s, options.stall or block.stall_s)
    command = Command(
        argv=with_paths(planned.argv, scratch),
        folder=planned.folder or scratch,
        # Whatever the command leaves in a temporary folder goes with the scratch folder.
        environment={**planned.environment, "TMPDIR": str(scratch)},
        scratch=scratch,
    )
    summary = LogSummary()
    parser = LogParser(on_line=summary.line)

    def take(data: bytes) -> None:
        summary.bytes += len(data)
        for event in parser.feed(data):
            summary.add(event)
            progress.event(event)

    with running(command) as process:
        with progress:
            progress.started(command.argv, command.environment, command.folder)
            outcome = process.follow(limits, log, Watchers(take, progress.tick))
        for event in parser.close():
            summary.add(event)
        run = JudgedRun(summary, outcome, planned.expect, planned.processes)
        criteria = judge(block, run)
        status, reason = _status(run, outcome, criteria, block.label)
        record = evidence.collect(card, planned, run, criteria, status, begun)
        kept, evidence_file = _keep(record, log, status, options.report_folder)
    return BlockReport(
        block=block.id,
        title=block.title,
        tier=block.tier,
        status=status,
        asked=True,
        reason=reason,
        label=record["label"],
        criteria=criteria,
        notes=planned.notes,
        seconds=outcome.seconds,
        log=kept,
        evidence=record,
        evidence_file=evidence_file,
    )


def _status(
    run: JudgedRun, outcome: Outcome, criteria: tuple[CriterionResult, ...], label: str
) -> tuple[Status, str | None]:
    """By the criteria, but for a run that was impossible, was broken off, or ran on another device than the
    block's label promises: that shows nothing."""
    if run.log.cannot_run is not None:
        return Status.NOT_VERIFIED, run.log.cannot_run
    if outcome.ended == "interrupted":
        return Status.NOT_VERIFIED, "interrupted before its end"
    stated = (run.log.environment or {}).get("label", label)
    if stated != label:
        return Status.NOT_VERIFIED, f"the program says that it ran {stated}, and the block is for {label}"
    return decide(criteria)


def _keep(
    record: dict[str, object], log: Path, status: Status, folder: Path | None
) -> tuple[Path | None, Path | None]:
    """Put evidence and log into the report folder; without one, keep the log of what did not pass."""
    name = str(record["id"])
    if folder is not None:
        evidence_file = folder / f"{name}.json"
        evidence.write(evidence_file, record)
        kept = folder / f"{name}.log"
        atomic.copy(log, kept)
        return kept, evidence_file
    if status is Status.PASSED:
        return None, None
    kept = Path(tempfile.gettempdir()) / f"mbridge-skills-{name}.log"
    atomic.copy(log, kept)
    return kept, None
