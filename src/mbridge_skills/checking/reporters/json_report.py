"""JSON, for programs and assistants. The format is versioned by its ``format`` key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mbridge_skills.checking.report import CheckReport, Located
from mbridge_skills.checking.reporters.jsontext import dumps
from mbridge_skills.checking.reporters.place import config_name, place_of, relative
from mbridge_skills.checking.reporters.wording import same_as
from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.gotchas.gotcha import SEVERITIES, Fix

FORMAT = "mbridge-skills-check/1"


def render(report: CheckReport, *, width: int | None, colour: bool) -> str:
    """One JSON object. Texts are as they were found, with escapes where a terminal would act on them."""
    counts = dict.fromkeys(SEVERITIES, 0)
    for located in report.findings:
        counts[located.finding.gotcha.severity] += 1
    return dumps(
        {
            "format": FORMAT,
            "release": {
                "megatron-bridge": report.bridge,
                "megatron-core": report.core,
                "source": report.release_source,
                "assumed": report.release_source == "assumed",
            },
            "summary": {
                "findings": len(report.findings),
                **counts,
                "possible": sum(located.possible for located in report.findings),
                "suppressed": report.suppressed,
                "unlikely": report.unlikely,
                "configs": report.configs,
                "files": report.files,
                "unknown_values": report.unknown_values,
                "unreadable": len(report.unreadable),
            },
            "findings": [_finding(located) for located in report.findings],
            "unreadable": [
                {"path": _path(unreadable.path), "line": unreadable.line, "message": unreadable.message}
                for unreadable in report.unreadable
            ],
        }
    )


def _finding(located: Located) -> dict[str, Any]:
    finding, gotcha = located.finding, located.finding.gotcha
    place = place_of(located)
    return {
        "code": finding.code,
        "severity": gotcha.severity,
        "confidence": gotcha.confidence,
        "phase": gotcha.phase,
        "title": gotcha.title,
        "config": config_name(located),
        "source": _path(located.source),
        "location": {
            "path": _path(place.path),
            "line": place.line,
            "column": place.column,
            "note": located.origin.note,
        },
        "possible": located.possible,
        "unknowns": located.unknowns,
        "conditions": located.conditions,
        "exception": finding.exception,
        "message": finding.message,
        "becomes": {path: _change(value) for path, value in finding.becomes.items()},
        "fix": _fix(gotcha.fix),
    }


def _change(value: Any) -> dict[str, Any]:
    """None is a value, so that what is not known needs a form of its own."""
    if value is UNKNOWN:
        return {"unknown": True}
    other = same_as(value)
    return {"value": value} if other is None else {"same_as": other}


def _fix(fix: Fix | None) -> dict[str, Any] | None:
    if fix is None:
        return None
    return {"set": fix.settings, "environment": fix.environment, "safe": fix.safe, "note": fix.note}


def _path(path: Path | None) -> str | None:
    return None if path is None else (relative(path) or path).as_posix()
