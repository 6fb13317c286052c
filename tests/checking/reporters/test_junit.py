from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mbridge_skills.checking.report import CheckReport, Located, Unreadable
from mbridge_skills.checking.reporters import render

COUNTS = ("tests", "failures", "errors")
Make = Callable[..., Located]
ReportOf = Callable[..., CheckReport]


def parsed(report: CheckReport) -> ElementTree.Element:
    return ElementTree.fromstring(render(report, "junit").encode())


def kinds(root: ElementTree.Element) -> dict[str | None, dict[str | None, list[str]]]:
    """Suite -> test case -> what is in it."""
    return {
        suite.get("name"): {case.get("name"): [part.tag for part in case] for case in suite.iter("testcase")}
        for suite in root
    }


def test_one_suite_per_file_and_one_case_per_configuration(report: CheckReport) -> None:
    assert kinds(parsed(report)) == {
        "train.py": {"llama": ["failure", "system-out"]},
        "(no file)": {"--overrides": ["failure"]},
        "bad.yaml": {"can be read": ["error"]},
        "without findings": {"1 configuration": []},
    }


@pytest.mark.parametrize(
    ("findings", "inside"),
    [
        ([("error", False)], ["failure"]),
        ([("warning", False)], ["failure"]),
        ([("info", False)], ["system-out"]),
        ([("error", True)], ["failure"]),  # as in the exit code
        ([("info", True)], ["system-out"]),
        ([("error", False), ("error", False)], ["failure"]),
        ([("warning", True), ("error", False), ("info", False)], ["failure", "system-out"]),
        ([("warning", True), ("info", False)], ["failure", "system-out"]),
    ],
)
def test_outcomes(
    findings: list[tuple[str, bool]], inside: list[str], make: Make, report_of: ReportOf
) -> None:
    made = [make("MB101", {"severity": severity}, possible=possible) for severity, possible in findings]
    assert kinds(parsed(report_of(*made, configs=1))) == {"train.py": {"llama": inside}}


def test_texts(report: CheckReport) -> None:
    root = parsed(report)
    case = root.find("testsuite[@name='train.py']/testcase")
    assert case is not None
    assert (case.get("classname"), case.get("file"), case.get("line")) == ("train.py", "train.py", "3")
    failure = case.find("failure")
    assert failure is not None
    assert (failure.get("message"), failure.get("type")) == (
        "MB101 Only fsdp_dtensor is saved; "
        "MB501 possible: Too few connections (depends on env:A, world_size)",
        "error",
    )
    assert failure.text is not None
    assert failure.text.splitlines()[:4] == [
        "train.py:3:2: MB101 error: Only fsdp_dtensor is saved",
        "  in: llama",
        "  raises: AssertionError: requires the fsdp_dtensor format! (validation)",
        '  help: set checkpoint.ckpt_format = "fsdp_dtensor" (safe)',
    ]
    error = root.find(".//error")
    assert error is not None
    assert error.text == "bad.yaml:7: expected a mapping"


def test_counts_add_up(report: CheckReport) -> None:
    root = parsed(report)
    for name in COUNTS:
        assert int(root.attrib[name]) == sum(int(suite.attrib[name]) for suite in root)
    assert [root.attrib[name] for name in COUNTS] == ["4", "2", "1"]


def test_a_file_that_is_read_in_part_has_one_suite(make: Make, report_of: ReportOf) -> None:
    report = report_of(make("MB101"), configs=1, unreadable=(Unreadable(Path("train.py"), None, "no"),))
    assert kinds(parsed(report)) == {"train.py": {"llama": ["failure"], "can be read": ["error"]}}


def test_the_releases_are_in_every_suite(report: CheckReport) -> None:
    for suite in parsed(report):
        values = {one.get("name"): one.get("value") for one in suite.iter("property")}
        assert (values["megatron-bridge"], values["megatron-core"]) == ("0.6.2", "0.19.2")


def test_a_hostile_file_breaks_nothing(hostile_report: CheckReport) -> None:
    root = parsed(hostile_report)
    assert [root.attrib[name] for name in COUNTS] == ["4", "2", "1"]
