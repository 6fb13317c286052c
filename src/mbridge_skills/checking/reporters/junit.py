"""JUnit XML, for CI: one test suite per file, one test case per configuration."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from mbridge_skills.checking.report import CheckReport, Located
from mbridge_skills.checking.reporters.place import place_of, place_of_unreadable, shown, shown_path
from mbridge_skills.checking.reporters.plain import line, plain
from mbridge_skills.checking.reporters.wording import config_key, counted, explanation, headline, judged_for

_COUNTS = {"tests": "", "failures": "/failure", "errors": "/error"}
_NO_FILE = "(no file)"


def render(report: CheckReport, *, width: int | None, colour: bool) -> str:
    """A ``testsuites`` document.

    Errors and warnings are failures, also those that only may hold: their message says so, and the exit
    code of a check counts them too. A file that could not be read is an error.
    """
    root = ElementTree.Element("testsuites", name="mbridge-skills check")
    suites: dict[str, ElementTree.Element] = {}
    by_config: dict[tuple[str, str], list[Located]] = {}
    for located in report.findings:
        by_config.setdefault(config_key(located), []).append(located)
    for (path, config), findings in by_config.items():
        _case(_suite(root, suites, path or _NO_FILE, report), config, findings, report)
    for unreadable in report.unreadable:
        path = shown_path(unreadable.path)
        suite = _suite(root, suites, path, report)
        case = ElementTree.SubElement(suite, "testcase", classname=path, name="can be read", file=path)
        error = ElementTree.SubElement(case, "error", message=line(unreadable.message), type="unreadable")
        error.text = f"{shown(place_of_unreadable(unreadable))}: {line(unreadable.message)}"
    _clean_ones(root, suites, report, report.configs - len(by_config))
    _count(root)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(
    root: ElementTree.Element, suites: dict[str, ElementTree.Element], name: str, report: CheckReport
) -> ElementTree.Element:
    if name not in suites:
        suites[name] = ElementTree.SubElement(root, "testsuite", name=name)
        properties = ElementTree.SubElement(suites[name], "properties")
        values = {
            "megatron-bridge": report.bridge,
            "megatron-core": report.core,
            "release source": judged_for(report),
        }
        for key, value in values.items():
            ElementTree.SubElement(properties, "property", name=key, value=plain(value))
    return suites[name]


def _case(suite: ElementTree.Element, config: str, findings: Sequence[Located], report: CheckReport) -> None:
    path = suite.attrib["name"]
    case = ElementTree.SubElement(suite, "testcase", classname=path, name=config)
    place = place_of(findings[0])
    if place.path is not None:
        case.set("file", shown_path(place.path))
    if place.line is not None:
        case.set("line", str(place.line))
    failing = [located for located in findings if located.finding.gotcha.severity != "info"]
    if failing:
        # One element holds all of them: most readers of the format show only the first.
        message = "; ".join(f"{located.code} {headline(located)}" for located in failing)
        severity = failing[0].finding.gotcha.severity
        failure = ElementTree.SubElement(case, "failure", message=message, type=severity)
        failure.text = _text(failing, report)
    rest = [located for located in findings if located not in failing]
    if rest:
        ElementTree.SubElement(case, "system-out").text = _text(rest, report)


def _text(findings: Sequence[Located], report: CheckReport) -> str:
    return "\n\n".join(
        f"{shown(place_of(located), located.origin.note or located.config)}: {located.code} "
        f"{located.finding.gotcha.severity}: " + "\n  ".join(explanation(located, report))
        for located in findings
    )


def _clean_ones(
    root: ElementTree.Element, suites: dict[str, ElementTree.Element], report: CheckReport, number: int
) -> None:
    """One case for the configurations without findings, whose names a report does not hold."""
    if number > 0:
        suite = _suite(root, suites, "without findings", report)
        name = counted(number, "configuration")
        ElementTree.SubElement(suite, "testcase", classname="without findings", name=name)


def _count(root: ElementTree.Element) -> None:
    totals = dict.fromkeys(_COUNTS, 0)
    for suite in root:
        for name, below in _COUNTS.items():
            number = len(suite.findall(f"testcase{below}"))
            suite.set(name, str(number))
            totals[name] += number
    for name, number in totals.items():
        root.set(name, str(number))
