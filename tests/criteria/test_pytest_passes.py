from __future__ import annotations

from collections.abc import Callable

import pytest

from mbridge_skills.card.model import Expect
from mbridge_skills.criteria.base import Judgement, Verdict

NAME = "pytest-passes"
START = "============================= test session starts ==============================\n"
Judged = Callable[..., Judgement]


def closing(text: str) -> str:
    return f"================== {text} in 40.85s ==================\n"


ONE = Expect(passes=1)


@pytest.mark.parametrize(
    ("counts", "passes", "verdict"),
    [
        ("1 passed", 1, Verdict.PASSED),
        ("1 passed, 42 warnings", 1, Verdict.PASSED),
        ("1 passed, 3 deselected", 1, Verdict.PASSED),
        ("2 passed", 2, Verdict.PASSED),
        ("2 passed", 1, Verdict.FAILED),
        ("1 passed", 2, Verdict.FAILED),
        ("1 failed", 1, Verdict.FAILED),
        ("1 failed, 1 passed", 1, Verdict.FAILED),
        ("1 passed, 1 error", 1, Verdict.FAILED),
        ("1 passed, 2 errors", 1, Verdict.FAILED),
        ("1 error", 1, Verdict.FAILED),
        ("1 skipped", 1, Verdict.FAILED),
        ("1 xpassed", 1, Verdict.FAILED),
        ("no tests ran", 1, Verdict.FAILED),
        ("1 deselected", 1, Verdict.FAILED),
    ],
)
def test_one_process(judged: Judged, counts: str, passes: int, verdict: Verdict) -> None:
    assert judged(NAME, START + closing(counts), expect=Expect(passes=passes)).verdict is verdict


@pytest.mark.parametrize(
    ("log", "processes", "verdict", "value"),
    [
        (START * 2 + closing("1 passed") * 2, None, Verdict.PASSED, "1 passed on each of 2 ranks"),
        (START * 2 + closing("1 passed") * 2, 2, Verdict.PASSED, "1 passed on each of 2 ranks"),
        (START * 2 + closing("1 passed"), None, Verdict.FAILED, "1 passed (1 of 2 ranks reported)"),
        (START * 2, None, Verdict.FAILED, "no summary (0 of 2 ranks reported)"),
        (START, None, Verdict.FAILED, "no summary (0 of 1 ranks reported)"),
        (
            START * 2 + closing("1 passed") + closing("1 failed"),
            None,
            Verdict.FAILED,
            "1 passed; 1 failed",
        ),
        (
            START + closing("1 passed"),  # the second process never began
            2,
            Verdict.FAILED,
            "1 passed (1 reports from 2 processes)",
        ),
        (START * 2 + closing("1 passed")[:30], None, Verdict.FAILED, "no summary (0 of 2 ranks reported)"),
    ],
)
def test_several_processes(
    judged: Judged, log: str, processes: int | None, verdict: Verdict, value: str
) -> None:
    found = judged(NAME, log, expect=ONE, processes=processes)
    assert (found.verdict, found.value) == (verdict, value)


@pytest.mark.parametrize("log", ["", "1 passed\n", "tests passed in a moment\n"])
def test_no_pytest(judged: Judged, log: str) -> None:
    found = judged(NAME, log, expect=ONE)
    assert (found.verdict, found.value) == (Verdict.NOT_JUDGED, "no pytest output in the log")


def test_failures_are_named_once(judged: Judged) -> None:
    failure = "FAILED tests/test_a.py::test_x - AssertionError: assert 1 == 2\n"
    found = judged(NAME, START * 2 + (failure + closing("1 failed")) * 2, expect=ONE)
    assert found.detail == "failed: tests/test_a.py::test_x - AssertionError: assert 1 == 2"


@pytest.mark.parametrize(
    ("log", "verdict", "value"),
    [
        ("test_fsdp_pretrain_basic", Verdict.PASSED, "1 passed on each of 2 ranks"),
        ("makefile", Verdict.FAILED, "1 failed (1 of 2 ranks reported)"),
        ("mfsdp-pp2", Verdict.NOT_JUDGED, "no pytest output in the log"),
        ("fsdp2", Verdict.NOT_JUDGED, "no pytest output in the log"),
        ("ddp-distopt", Verdict.NOT_JUDGED, "no pytest output in the log"),
        ("4-microbatches.passed", Verdict.NOT_JUDGED, "no pytest output in the log"),
    ],
)
def test_real_logs(
    judged: Judged, real: Callable[[str], object], log: str, verdict: Verdict, value: str
) -> None:
    found = judged(NAME, real(log), expect=ONE)
    assert (found.verdict, found.value) == (verdict, value)


def test_real_log_against_another_number_of_processes(judged: Judged, real: Callable[[str], object]) -> None:
    assert judged(NAME, real("test_fsdp_pretrain_basic"), expect=ONE, processes=4).verdict is Verdict.FAILED
