"""Recording a passed run in the card: its evidence file in the skill's folder, its entry in the cards."""

from __future__ import annotations

from mbridge_skills.bundle.locate import Bundle, Skill
from mbridge_skills.card.load import load_card
from mbridge_skills.card.record import record_in_bundle, record_run
from mbridge_skills.errors import InputError, Location
from mbridge_skills.verify import evidence
from mbridge_skills.verify.plan import Request
from mbridge_skills.verify.report import BlockReport, Status, VerifyReport


def refuse_if_impossible(bundle: Bundle, request: Request) -> None:
    """Say before the run that its result could not be recorded.

    Raises:
        InputError: the bundle is the installed one, or the run is not the one that the card describes.
    """
    if bundle.source == "installed":
        raise InputError(
            "the card belongs to an installed package and is not written to",
            where=Location(bundle.root),
            remedy="work in a checkout of the bundle, or name one with --bundle DIR",
        )
    if request.changes_the_run:
        raise InputError(
            "a run with options of its own is not the run that the card describes",
            remedy="leave out either --write-card or --processes and the options after --",
        )


def record(bundle: Bundle, skill: Skill, report: VerifyReport) -> list[BlockReport]:
    """Write evidence file and card entry of every block that passed; returns those blocks.

    Raises:
        InputError: the card is invalid, or would be.
        OSError: the bundle is not writable.
    """
    recorded = []
    for block in report.blocks:
        if block.status is not Status.PASSED or block.evidence is None:
            continue
        found = block.evidence
        place = f"evidence/{found['id']}.json"
        entry = {
            "id": found["id"],
            "date": found["date"][:10],
            "block": block.block,
            "tier": block.tier,
            "label": found["label"],
            "verdict": str(block.status),
            "versions": found["versions"],
            "command": found["command"],
            "report": place,
        }
        evidence.write(skill.folder / place, found)
        changed = False
        try:
            changed = record_run(skill.card_path, entry)
        finally:
            if not changed:  # refused, or the card has a newer run of the same kind
                (skill.folder / place).unlink()
        if changed:
            recorded.append(block)
    if recorded:
        record_in_bundle(bundle.card_path, skill.name)
        _remove_replaced(skill, {block.block for block in recorded})
    return recorded


def _remove_replaced(skill: Skill, blocks: set[str]) -> None:
    """Remove evidence files of these blocks that the card names no more: a newer run took their place."""
    named = {run.report for run in load_card(skill.card_path).runs}
    for file in (skill.folder / "evidence").glob("*.json"):
        if f"evidence/{file.name}" not in named and evidence.block_of(file) in blocks:
            file.unlink()
