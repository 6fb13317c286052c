"""JSON, for programs and assistants. The format is versioned by its ``format`` key."""

from __future__ import annotations

import json
from typing import Any

from mbridge_skills.verify.evidence import criterion_record
from mbridge_skills.verify.report import BlockReport, VerifyReport

FORMAT = "mbridge-skills-verify/1"


def render(report: VerifyReport, *, width: int | None, colour: bool) -> str:
    """One JSON object. The loss series stay in the evidence file: their length has no bound."""
    record = {
        "format": FORMAT,
        "skill": report.skill,
        "date": report.date,
        "status": str(report.status),
        "exit_code": int(report.exit_code),
        "blocks": [_block(block) for block in report.blocks],
    }
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    # A lone surrogate, which a log may name, has no UTF-8; JSON has an escape for it.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _block(block: BlockReport) -> dict[str, Any]:
    evidence = block.evidence or {}
    return {
        "block": block.block,
        "title": block.title,
        "tier": block.tier,
        "status": str(block.status),
        "asked": block.asked,
        "reason": block.reason,
        "remedy": block.remedy,
        "label": block.label,
        "seconds": None if block.seconds is None else round(block.seconds, 1),
        "criteria": [criterion_record(result) for result in block.criteria],
        "versions": evidence.get("versions"),
        "command": evidence.get("command"),
        "notes": list(block.notes),
        "log": str(block.log) if block.log else None,
        "evidence": str(block.evidence_file) if block.evidence_file else None,
    }
