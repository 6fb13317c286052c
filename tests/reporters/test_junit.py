from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from mbridge_skills.reporters import render
from mbridge_skills.verify.report import BlockReport, Status, VerifyReport

COUNTS = ("tests", "failures", "errors", "skipped")


def parsed(report: VerifyReport) -> ElementTree.Element:
    return ElementTree.fromstring(render(report, "junit").encode())


def kinds(suite: ElementTree.Element) -> dict[str | None, list[str]]:
    """Test case -> what is in it."""
    return {case.get("name"): [part.tag for part in case] for case in suite.iter("testcase")}


def test_one_suite_per_block_and_one_case_per_criterion(report: VerifyReport) -> None:
    root = parsed(report)
    assert root.tag == "testsuites"
    suites = {suite.get("name"): kinds(suite) for suite in root}
    assert suites == {
        "bridge": {"verified": ["skipped"]},
        "cpu": {
            "final-loss-finite": ["system-out"],
            "parity": ["failure"],
            "save-resume": ["system-out"],  # optional: it fails nothing
            "clean-exit": ["skipped"],
        },
        "gpu": {"verified": ["error"]},  # asked for and not run: not green
        "other": {"final-loss-finite": ["system-out"]},
    }


def test_counts_add_up(report: VerifyReport) -> None:
    root = parsed(report)
    for name in COUNTS:
        assert int(root.attrib[name]) == sum(int(suite.attrib[name]) for suite in root)
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[name]) == sum(case.find(tag) is not None for case in cases)
    assert [root.attrib[name] for name in COUNTS] == ["7", "1", "1", "2"]


def test_texts(report: VerifyReport) -> None:
    root = parsed(report)
    failure = root.find(".//failure")
    assert failure is not None
    assert (failure.get("message"), failure.text) == (
        "Parity: loss 1.0e-01 (limit: 1e-05)",
        "loss: 2 against 1",
    )
    skipped = root.find("testsuite[@name='cpu']/testcase/skipped")
    assert skipped is not None
    assert skipped.get("message") == "Clean exit: no end in the log (limit: exit code 0)"
    error = root.find(".//error")
    assert error is not None
    assert error.get("message") == "not verified: needs 2 GPUs, none visible"
    cpu = root.find("testsuite[@name='cpu']")
    assert cpu is not None
    assert cpu.get("time") == "12.3"
    assert {each.get("name"): each.get("value") for each in cpu.iter("property")} == {
        "tier": "cpu",
        "label": "cpu-simulated",
        "version torch": "2.13.0",
        "version megatron-core": "0.19.2",
    }


@pytest.mark.parametrize(("asked", "kind"), [(True, "error"), (False, "skipped")])
def test_not_verified(asked: bool, kind: str) -> None:
    block = BlockReport("gpu", "GPUs", "gpu", Status.NOT_VERIFIED, asked, "no GPU")
    root = parsed(VerifyReport("example-skill", "2026-11-30", (block,)))
    assert kinds(root) == {"verified": [kind]}
    assert (root.get("errors"), root.get("skipped")) == (("1", "0") if asked else ("0", "1"))


def test_not_judged_is_no_green_suite(report: VerifyReport) -> None:
    """A block that was asked for and of which a criterion could not be judged shows an error."""
    open_one = report.blocks[1].criteria[3]
    block = replace(
        report.blocks[1], status=Status.NOT_VERIFIED, criteria=(open_one,), reason="not judged: clean-exit"
    )
    root = parsed(replace(report, blocks=(block,)))
    assert kinds(root) == {"clean-exit": ["skipped"], "verified": ["error"]}


def test_hostile_texts_stay_well_formed(hostile_report: VerifyReport) -> None:
    root = parsed(hostile_report)
    assert kinds(root) == {
        "parity": ["failure"],
        "clean-exit": ["skipped"],
        "save-resume": ["system-out"],
        "verified": ["error"],
    }
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.text == 'a < b & "c" �[31mred�[0m �� � ü 損失'
    label = root.find(".//property[@name='label']")
    assert label is not None
    assert label.get("value") == failure.text


def test_every_control_character(report: VerifyReport) -> None:
    text = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0xFFFE, 0xFFFF, 0x1F600]))
    block = BlockReport("gpu", text, "gpu", Status.NOT_VERIFIED, True, reason=text, label=text)
    root = parsed(replace(report, blocks=(block,)))
    error = root.find(".//error")
    assert error is not None
    message = error.get("message")
    assert message is not None
    assert message.endswith("\U0001f600")
    assert "\x1b" not in message
