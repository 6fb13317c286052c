"""One line per finding, for a person in a hurry, for editors and for grep."""

from __future__ import annotations

from mbridge_skills.checking.report import CheckReport, Located, Unreadable
from mbridge_skills.checking.reporters.place import place_of, place_of_unreadable, shown, shown_config
from mbridge_skills.checking.reporters.plain import line
from mbridge_skills.checking.reporters.style import Paint, painter
from mbridge_skills.checking.reporters.wording import headline, summary


def render(report: CheckReport, *, width: int | None, colour: bool) -> str:
    """``path:line:col: CODE severity: title [configuration]``, unreadable files, and the summary."""
    paint = painter(colour)
    lines = []
    for located in report.findings:
        config = shown_config(located)
        lines.append(first_line(located, paint) + (f" [{config}]" if config is not None else ""))
    lines += [unreadable_line(unreadable, paint) for unreadable in report.unreadable]
    return "\n".join([*lines, summary(report)]) + "\n"


def first_line(located: Located, paint: Paint) -> str:
    """Place, code, severity and title."""
    severity = located.finding.gotcha.severity
    place = shown(place_of(located), located.origin.note or located.config)
    return f"{paint(place, 'bold')}: {paint(f'{located.code} {severity}', severity)}: {headline(located)}"


def unreadable_line(unreadable: Unreadable, paint: Paint) -> str:
    """The file that could not be read, and why."""
    place = shown(place_of_unreadable(unreadable))
    return f"{paint(place, 'bold')}: {paint('error', 'error')}: {line(unreadable.message)}"
