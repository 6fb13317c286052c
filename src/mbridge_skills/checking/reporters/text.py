"""Text for a person: each finding with what happens, the source line and what to do."""

from __future__ import annotations

from mbridge_skills.checking.report import CheckReport, Located
from mbridge_skills.checking.reporters.concise import first_line, unreadable_line
from mbridge_skills.checking.reporters.excerpt import Excerpts
from mbridge_skills.checking.reporters.place import place_of
from mbridge_skills.checking.reporters.style import Paint, painter
from mbridge_skills.checking.reporters.wording import details, fixes, summary

_DEFAULT_WIDTH = 100


def render(report: CheckReport, *, width: int | None, colour: bool) -> str:
    """The report for a terminal ``width`` columns wide. Only source lines are cut: messages can be copied."""
    paint = painter(colour)
    excerpts = Excerpts(width or _DEFAULT_WIDTH)
    blocks = [_block(located, report, excerpts, paint) for located in report.findings]
    if report.unreadable:
        blocks.append("\n".join(unreadable_line(unreadable, paint) for unreadable in report.unreadable))
    return "\n\n".join([*blocks, paint(summary(report), "bold")]) + "\n"


def _block(located: Located, report: CheckReport, excerpts: Excerpts, paint: Paint) -> str:
    lines = [first_line(located, paint)]
    lines += [f"  {label}: {text}" for label, text in details(located, report)]
    lines += [paint(part, "dim") for part in excerpts.at(place_of(located))]
    lines += [f"  {paint('help:', 'help')} {fix}" for fix in fixes(located)]
    return "\n".join(lines)
