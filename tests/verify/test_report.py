from __future__ import annotations

import itertools

import pytest

from mbridge_skills.criteria.base import CriterionResult, Judgement, Verdict
from mbridge_skills.exit_codes import ExitCode
from mbridge_skills.verify.report import BlockReport, Status, VerifyReport, decide

PASSED, FAILED, OPEN = Verdict.PASSED, Verdict.FAILED, Verdict.NOT_JUDGED
REQUIRED, OPTIONAL = True, False


def result(name: str, verdict: Verdict, required: bool) -> CriterionResult:
    return CriterionResult(name, name, required, Judgement(verdict, "value", "limit"))


def block(status: Status, asked: bool) -> BlockReport:
    return BlockReport("block", "Title", "cpu", status, asked)


@pytest.mark.parametrize(
    ("criteria", "status", "reason"),
    [
        ([], Status.NOT_VERIFIED, "no criterion to judge by"),
        ([(PASSED, OPTIONAL)], Status.NOT_VERIFIED, "no criterion to judge by"),
        ([(FAILED, OPTIONAL)], Status.NOT_VERIFIED, "no criterion to judge by"),
        ([(PASSED, REQUIRED)], Status.PASSED, None),
        ([(PASSED, REQUIRED), (PASSED, REQUIRED)], Status.PASSED, None),
        ([(PASSED, REQUIRED), (FAILED, OPTIONAL)], Status.PASSED, None),
        ([(PASSED, REQUIRED), (OPEN, OPTIONAL)], Status.PASSED, None),
        ([(FAILED, REQUIRED)], Status.FAILED, None),
        ([(FAILED, REQUIRED), (PASSED, REQUIRED)], Status.FAILED, None),
        ([(FAILED, REQUIRED), (OPEN, REQUIRED)], Status.FAILED, None),
        ([(OPEN, REQUIRED), (FAILED, REQUIRED)], Status.FAILED, None),
        ([(OPEN, REQUIRED)], Status.NOT_VERIFIED, "not judged: c0"),
        ([(OPEN, REQUIRED), (FAILED, OPTIONAL)], Status.NOT_VERIFIED, "not judged: c0"),
        ([(PASSED, REQUIRED), (OPEN, REQUIRED)], Status.NOT_VERIFIED, "not judged: c1"),
        ([(OPEN, REQUIRED), (PASSED, REQUIRED), (OPEN, REQUIRED)], Status.NOT_VERIFIED, "not judged: c0, c2"),
    ],
)
def test_decide(criteria: list[tuple[Verdict, bool]], status: Status, reason: str | None) -> None:
    results = [result(f"c{number}", *each) for number, each in enumerate(criteria)]
    assert decide(results) == (status, reason)


@pytest.mark.parametrize("verdicts", list(itertools.product(Verdict, repeat=3)))
def test_passed_only_where_every_required_criterion_passed(verdicts: tuple[Verdict, ...]) -> None:
    status, _ = decide([result(f"c{number}", each, REQUIRED) for number, each in enumerate(verdicts)])
    assert (status is Status.PASSED) == (set(verdicts) == {PASSED})


@pytest.mark.parametrize(
    ("blocks", "status", "code"),
    [
        ([], Status.NOT_VERIFIED, ExitCode.NOT_RUN),
        ([(Status.PASSED, True)], Status.PASSED, ExitCode.OK),
        ([(Status.PASSED, False)], Status.NOT_VERIFIED, ExitCode.NOT_RUN),  # nobody asked for it
        ([(Status.PASSED, True), (Status.PASSED, True)], Status.PASSED, ExitCode.OK),
        ([(Status.PASSED, True), (Status.NOT_VERIFIED, False)], Status.PASSED, ExitCode.OK),
        ([(Status.PASSED, True), (Status.NOT_VERIFIED, True)], Status.NOT_VERIFIED, ExitCode.NOT_RUN),
        ([(Status.NOT_VERIFIED, True)], Status.NOT_VERIFIED, ExitCode.NOT_RUN),
        ([(Status.NOT_VERIFIED, False)], Status.NOT_VERIFIED, ExitCode.NOT_RUN),
        ([(Status.FAILED, True)], Status.FAILED, ExitCode.FAILED),
        ([(Status.FAILED, True), (Status.PASSED, True)], Status.FAILED, ExitCode.FAILED),
        ([(Status.NOT_VERIFIED, True), (Status.FAILED, True)], Status.FAILED, ExitCode.FAILED),
        ([(Status.FAILED, False), (Status.PASSED, True)], Status.PASSED, ExitCode.OK),
    ],
)
def test_status_and_exit_code(blocks: list[tuple[Status, bool]], status: Status, code: ExitCode) -> None:
    report = VerifyReport("skill", "2026-11-30", tuple(block(*each) for each in blocks))
    assert (report.status, report.exit_code) == (status, code)


def test_exit_codes_are_those_of_the_readme() -> None:
    assert [int(code) for code in (ExitCode.OK, ExitCode.FAILED, ExitCode.USAGE, ExitCode.NOT_RUN)] == [
        0,
        1,
        2,
        3,
    ]
