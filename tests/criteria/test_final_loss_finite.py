from __future__ import annotations

from collections.abc import Callable

import pytest

from mbridge_skills.card.model import Expect
from mbridge_skills.criteria.base import Judgement, Verdict

NAME = "final-loss-finite"
Judged = Callable[..., Judgement]
Text = Callable[..., str]


@pytest.mark.parametrize("loss", [1.0, 0.0, -1.5, 1e300])
def test_finite(judged: Judged, line: Text, loss: float) -> None:
    found = judged(NAME, line(3) + "\n" + line(4, loss))
    assert (found.verdict, found.value) == (Verdict.PASSED, f"{loss:.6f} at iteration 4 of 4")


@pytest.mark.parametrize(
    ("loss", "value"),
    [
        ("nan", "nan at iteration 4 of 4"),
        ("NaN", "nan at iteration 4 of 4"),
        ("inf", "inf at iteration 4 of 4"),
        ("-inf", "-inf at iteration 4 of 4"),
        ("-", "no loss at iteration 4 of 4"),
        ("", "no loss at iteration 4 of 4"),
    ],
)
def test_not_finite(judged: Judged, line: Text, loss: str, value: str) -> None:
    found = judged(NAME, line(4, loss))
    assert (found.verdict, found.value) == (Verdict.FAILED, value)


@pytest.mark.parametrize(
    ("expected", "total", "last", "value"),
    [
        (4, 4, 3, "the log ends at iteration 3 of 4"),
        (4, 3, 3, "the log ends at iteration 3 of 4"),  # the plan counts, not what the log calls its total
        (4, 5, 5, "the log ends at iteration 5 of 4"),
        (None, 5, 4, "the log ends at iteration 4 of 5"),
    ],
)
def test_ends_elsewhere(
    judged: Judged, line: Text, expected: int | None, total: int, last: int, value: str
) -> None:
    found = judged(NAME, line(last, total=total), expect=Expect(iterations=expected))
    assert (found.verdict, found.value) == (Verdict.FAILED, value)


def test_total_of_the_log_where_nothing_is_planned(judged: Judged, line: Text) -> None:
    assert judged(NAME, line(7, total=7), expect=Expect()).verdict is Verdict.PASSED


@pytest.mark.parametrize("log", ["", "\n\n", "text\n", "Traceback (most recent call last):\n"])
def test_nothing(judged: Judged, log: str) -> None:
    found = judged(NAME, log)
    assert (found.verdict, found.value) == (Verdict.FAILED, "no iteration in the log")


def test_cut_off_record(judged: Judged, line: Text) -> None:
    whole = line(4)
    cut = whole[: whole.index(" | loss scale")] + " | "
    found = judged(NAME, cut)
    assert (found.verdict, found.value) == (Verdict.FAILED, "the record of iteration 4 of 4 is cut off")


def test_of_other_phases_does_not_count(judged: Judged, smoke_log: Text, curve: dict[int, object]) -> None:
    found = judged(NAME, smoke_log(train={1: curve[1], 2: curve[2]}))
    assert (found.verdict, found.value) == (Verdict.FAILED, "the log ends at iteration 2 of 4")


@pytest.mark.parametrize(
    ("log", "expected", "value"),
    [
        ("test_fsdp_pretrain_basic", 10, "8.367718 at iteration 10 of 10"),
        ("ddp-distopt", None, "8.555599 at iteration 6 of 6"),
        ("4-microbatches.passed", 4, "4.445633 at iteration 4 of 4"),
    ],
)
def test_real_logs(
    judged: Judged, real: Callable[[str], object], log: str, expected: int | None, value: str
) -> None:
    found = judged(NAME, real(log), expect=Expect(iterations=expected))
    assert (found.verdict, found.value) == (Verdict.PASSED, value)
