"""What triage found, for people and for programs. Texts of logs are never read as markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.text import Text

from mbridge_skills.triage.page import SEVERITY_STYLES, fix_data, fix_texts, safety_text, wrapped
from mbridge_skills.triage.result import Candidate, Place, RootCause, Triage
from mbridge_skills.triage.watch import Line

_INDENT = "  "
_LONGEST = 300  # characters of a line that are shown
_STYLES = {"explained": "bold", "unknown": "bold yellow", "no failure": "green"}
# A log may hold escape sequences; on a terminal they would do what they say.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def report_lines(path: Path, found: Triage, width: int) -> Iterator[Text]:
    """What was found about the log at ``path``, wrapped at ``width`` columns."""
    yield Text.assemble(f"{path}: ", (_headline(found), _STYLES[found.status]))
    if found.failure is not None:
        yield from _cause(found.failure, width)
    for number, candidate in enumerate(found.candidates):
        yield from _candidate(candidate, number, width)
    for one in found.noticed:
        text = f"also in the log: {one.gotcha.code} {one.gotcha.title} (line {one.evidence.number})"
        yield from wrapped(text, width, indent=_INDENT, hang=_INDENT)


def report_data(path: Path, found: Triage) -> dict[str, Any]:
    """The same for programs."""
    cause = found.failure
    return {
        "log": str(path),
        "status": found.status,
        "ended": found.ended,
        "failure": None
        if cause is None
        else {
            "line": cause.line,
            "rank": cause.rank,
            "exception": cause.exception,
            "message": cause.message,
            "before": [_line_data(line) for line in cause.before],
        },
        "candidates": [_candidate_data(one) for one in found.candidates],
        "noticed": [_candidate_data(one) for one in found.noticed],
    }


def _headline(found: Triage) -> str:
    if found.status == "explained":
        return f"explained by {found.candidates[0].gotcha.code}"
    if found.status == "unknown":
        return "unknown failure: no gotcha explains it"
    return "no failure" if found.ended else "no failure found; the log does not say that the run ended"


def _cause(cause: RootCause, width: int) -> Iterator[Text]:
    rank = "" if cause.rank is None else f"rank {cause.rank}"
    line = "" if cause.line is None else f"line {cause.line}"
    place = ", ".join(part for part in (line, rank) if part)
    text = f"failure: {place + ': ' if place else ''}{_shown(cause.text)}"
    yield from wrapped(text, width, indent=_INDENT, hang=_INDENT)
    for before in cause.before:
        yield from wrapped(f"before it: {_place(before)}", width, indent=_INDENT, hang=_INDENT)


def _candidate(candidate: Candidate, number: int, width: int) -> Iterator[Text]:
    gotcha = candidate.gotcha
    inner = _INDENT * 2
    word = "perhaps" if candidate.place is Place.LINE else "or" if number else "gotcha"
    title = f"{word}: {gotcha.code} {gotcha.title}"
    yield from wrapped(title, width, indent=_INDENT, hang=_INDENT, style=SEVERITY_STYLES[gotcha.severity])
    evidence = f"evidence ({candidate.place.text}): {_place(candidate.evidence)}"
    yield from wrapped(evidence, width, indent=inner, hang=_INDENT)
    if gotcha.fix is not None:
        yield from wrapped(f"fix ({safety_text(gotcha.fix)}):", width, indent=inner, hang=_INDENT)
        for text in fix_texts(gotcha.fix):
            yield from wrapped(text, width, indent=inner + _INDENT, hang=_INDENT)
    else:
        yield from wrapped(f"what to do: {gotcha.body}", width, indent=inner, hang=_INDENT)
    yield Text(f"{inner}more: mbridge-skills explain {gotcha.code}")


def _place(line: Line) -> str:
    return f"line {line.number}: {_shown(line.text)}"


def _shown(text: str) -> str:
    text = _CONTROL.sub("?", " ".join(text.split()))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _candidate_data(candidate: Candidate) -> dict[str, Any]:
    gotcha = candidate.gotcha
    return {
        "code": gotcha.code,
        "title": gotcha.title,
        "severity": gotcha.severity,
        "matched": candidate.place.text,
        "evidence": _line_data(candidate.evidence),
        "fix": None if gotcha.fix is None else fix_data(gotcha.fix),
        "body": gotcha.body,
    }


def _line_data(line: Line) -> dict[str, Any]:
    return {"line": line.number, "text": line.text.strip()}
