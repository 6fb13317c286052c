"""Workflow commands, which GitHub shows as annotations beside the changed lines."""

from __future__ import annotations

from mbridge_skills.checking.report import CheckReport
from mbridge_skills.checking.reporters.place import Place, place_of, place_of_unreadable, relative
from mbridge_skills.checking.reporters.plain import line, plain
from mbridge_skills.checking.reporters.wording import explanation, summary

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: CheckReport, *, width: int | None, colour: bool) -> str:
    """A command per finding and per unreadable file, then the summary as plain text."""
    lines = []
    for located in report.findings:
        command = _COMMANDS[located.finding.gotcha.severity]
        text = "\n".join(explanation(located, report))
        lines.append(_command(command, place_of(located), located.code, text))
    for unreadable in report.unreadable:
        place = place_of_unreadable(unreadable)
        lines.append(_command("error", place, "unreadable", line(unreadable.message)))
    return "\n".join([*lines, summary(report)]) + "\n"


def _command(command: str, place: Place, title: str, text: str) -> str:
    path = None if place.path is None else plain((relative(place.path) or place.path).as_posix())
    given = {"file": path, "line": place.line, "col": place.column, "title": title}
    properties = ",".join(f"{name}={_property(str(v))}" for name, v in given.items() if v is not None)
    return f"::{command} {properties}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
