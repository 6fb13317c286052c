"""What formats for people say of a finding, in words that are the same in all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mbridge_skills.checking.report import CheckReport, Located
from mbridge_skills.checking.reporters.place import config_name, shown_config, shown_path
from mbridge_skills.checking.reporters.plain import line, plain
from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.gotchas.gotcha import SEVERITIES, Fix


def headline(located: Located) -> str:
    """The title; where it only may hold, marked so, with the values that decide it."""
    title = line(located.finding.gotcha.title)
    if not located.possible:
        return title
    depends = f" (depends on {', '.join(map(plain, located.unknowns))})" if located.unknowns else ""
    return f"possible: {title}{depends}"


def details(located: Located, report: CheckReport) -> list[tuple[str, str]]:
    """What else there is to say, as label and text, without the fix."""
    found = []
    context = shown_config(located)
    if context is not None:
        found.append(("in", context))
    if located.conditions:
        found.append(("when", " and ".join(map(line, located.conditions))))
    if located.origin.note:
        found.append(("from", line(located.origin.note)))
    raised = raises(located)
    if raised:
        found.append(("raises", raised))
    found += [("changes", change) for change in changes(located, report)]
    return found


def raises(located: Located) -> str | None:
    """The exception and message of the release, and when it comes; None where nothing is raised."""
    finding = located.finding
    parts = [line(part) for part in (finding.exception, finding.message) if part]
    return f"{': '.join(parts)} ({finding.gotcha.phase})" if parts else None


def changes(located: Located, report: CheckReport) -> list[str]:
    """What the release makes of values without a word, one sentence part per setting."""
    release = f"in Megatron-Bridge {plain(report.bridge)}"
    return [
        f"{plain(path)} becomes {_become(value)} {release}" for path, value in located.finding.becomes.items()
    ]


def same_as(value: Any) -> str | None:
    """The path whose value is taken over, where that is what a gotcha says of a setting."""
    if isinstance(value, Mapping) and list(value) == ["same_as"]:
        return str(value["same_as"])
    return None


def _become(value: Any) -> str:
    other = same_as(value)
    return f"the value of {plain(other)}" if other is not None else shown_value(value)


def shown_value(value: Any) -> str:
    """A value as it is written in Python; a torch dtype by its name."""
    if value is UNKNOWN:
        return "another value"
    if isinstance(value, str):
        return plain(value if value.startswith("torch.") else json.dumps(value, ensure_ascii=False))
    return plain(repr(value))


def fixes(located: Located) -> list[str]:
    """What to do, one line each: settings, variables, and a note. Each says whether it is safe."""
    fix = located.finding.gotcha.fix
    if fix is None:
        return []
    steps = _steps(fix)
    mark = " (safe)" if fix.safe else " (unsafe: it changes what was asked for)"
    found = [f"set {', '.join(steps)}{mark}"] if steps else []
    if fix.note:
        found.append(line(fix.note))
    return found


def _steps(fix: Fix) -> list[str]:
    steps = [f"{plain(path)} = {shown_value(value)}" for path, value in fix.settings.items()]
    for name, value in fix.environment.items():
        steps.append(f"{plain(name)} unset" if value is None else f"{plain(name)}={plain(value)}")
    return steps


def explanation(located: Located, report: CheckReport) -> list[str]:
    """Everything about a finding but its place, line by line, the headline first."""
    lines = [headline(located)]
    lines += [f"{label}: {text}" for label, text in details(located, report)]
    return lines + [f"help: {fix}" for fix in fixes(located)]


def summary(report: CheckReport) -> str:
    """One line: how much was found in how much, what stayed unknown, and for which releases."""
    by_severity = dict.fromkeys(SEVERITIES, 0)
    for located in report.findings:
        by_severity[located.finding.gotcha.severity] += 1
    numbers = ", ".join(counted(number, severity) for severity, number in by_severity.items())
    possible = sum(located.possible for located in report.findings)
    if possible:
        numbers += f"; {possible} only possible"
    parts = [
        f"{counted(len(report.findings), 'finding')} ({numbers})"
        f" in {counted(report.configs, 'configuration')} of {counted(report.files, 'file')}",
        f"{counted(report.unknown_values, 'value')} unknown",
    ]
    if report.suppressed:
        parts.append(f"{report.suppressed} suppressed")
    if report.unlikely:
        parts.append(f"{report.unlikely} unlikely left out (--possible shows them)")
    if report.unreadable:
        parts.append(f"{counted(len(report.unreadable), 'file')} could not be read")
    return "; ".join([*parts, judged_for(report)])


def judged_for(report: CheckReport) -> str:
    """The releases, and how they were found where no option gave them."""
    text = f"judged for Megatron-Bridge {plain(report.bridge)} / megatron-core {plain(report.core)}"
    match report.release_source:
        case "option":
            return text
        case "assumed":
            return f"{text}, which is assumed (--bridge-version names another)"
        case "installed":
            return f"{text}, which is installed"
        case lock:
            return f"{text}, as in {shown_path(Path(lock))}"


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 file", "2 files"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def config_key(located: Located) -> tuple[str, str]:
    """What tells one configuration from another: its file as shown, and its name."""
    return (shown_path(located.source) if located.source else "", config_name(located))
