"""JUnit XML, for CI: one test suite per block, one test case per criterion."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from mbridge_skills.criteria.base import CriterionResult, Verdict
from mbridge_skills.verify.report import BlockReport, Status, VerifyReport

# What XML 1.0 cannot hold; logs may.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: VerifyReport, *, width: int | None, colour: bool) -> str:
    """A ``testsuites`` document. What was not judged or could not run is skipped, with the reason."""
    root = ElementTree.Element("testsuites", name=f"mbridge-skills verify {report.skill}")
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for block in report.blocks:
        suite = ElementTree.SubElement(root, "testsuite", name=block.block, timestamp=report.date)
        if block.seconds is not None:
            suite.set("time", f"{block.seconds:.1f}")
        _properties(suite, block)
        for result in block.criteria:
            _case(suite, block, result)
        if block.status is Status.NOT_VERIFIED:
            case = ElementTree.SubElement(suite, "testcase", classname=_class(report, block), name="verified")
            # What was asked for and did not come about must not look green.
            kind = "error" if block.asked else "skipped"
            ElementTree.SubElement(case, kind, message=_clean(f"not verified: {block.reason}"))
        counts = {
            "tests": len(suite.findall("testcase")),
            "failures": len(suite.findall("testcase/failure")),
            "errors": len(suite.findall("testcase/error")),
            "skipped": len(suite.findall("testcase/skipped")),
        }
        for name, number in counts.items():
            suite.set(name, str(number))
            totals[name] += number
    for name, number in totals.items():
        root.set(name, str(number))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _properties(suite: ElementTree.Element, block: BlockReport) -> None:
    values = {"tier": block.tier, "label": block.label}
    versions = (block.evidence or {}).get("versions", {})
    values.update({f"version {name}": version for name, version in versions.items()})
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in values.items():
        if value:
            ElementTree.SubElement(properties, "property", name=name, value=_clean(str(value)))


def _case(suite: ElementTree.Element, block: BlockReport, result: CriterionResult) -> None:
    judgement = result.judgement
    case = ElementTree.SubElement(suite, "testcase", classname=f"verify.{block.block}", name=result.id)
    text = _clean(f"{result.title}: {judgement.value} (limit: {judgement.limit})")
    if judgement.verdict is Verdict.FAILED and result.required:
        ElementTree.SubElement(case, "failure", message=text).text = _clean(judgement.detail or "")
    elif judgement.verdict is Verdict.NOT_JUDGED:
        ElementTree.SubElement(case, "skipped", message=text)
    else:
        ElementTree.SubElement(case, "system-out").text = text


def _class(report: VerifyReport, block: BlockReport) -> str:
    return f"verify.{block.block}"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
