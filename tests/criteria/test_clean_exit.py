from __future__ import annotations

from collections.abc import Callable

import pytest

from mbridge_skills.criteria.base import Judgement, Verdict
from mbridge_skills.verify.launcher import Outcome

NAME = "clean-exit"
Judged = Callable[..., Judgement]
Text = Callable[..., str]


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (Outcome("exited", 0, 1.0), Verdict.PASSED),
        (None, Verdict.PASSED),
        (Outcome("exited", 1, 1.0), Verdict.FAILED),
        (Outcome("exited", 3, 1.0), Verdict.FAILED),
        (Outcome("exited", -9, 1.0), Verdict.FAILED),
        (Outcome("timeout", -15, 1.0), Verdict.FAILED),
        (Outcome("timeout", 0, 1.0), Verdict.FAILED),
        (Outcome("stalled", -15, 1.0), Verdict.FAILED),
        (Outcome("interrupted", -15, 1.0), Verdict.FAILED),
    ],
)
def test_of_a_log_that_reached_its_end(
    judged: Judged, smoke_log: Text, outcome: Outcome | None, verdict: Verdict
) -> None:
    found = judged(NAME, smoke_log(), outcome=outcome)
    assert (found.verdict, found.limit) == (verdict, "exit code 0 on every rank")


@pytest.mark.parametrize("outcome", [None, Outcome("exited", 0, 1.0)])
@pytest.mark.parametrize("finished", [[], [0], [1]])
def test_of_a_log_without_every_last_line(
    judged: Judged, smoke_log: Text, outcome: Outcome | None, finished: list[int]
) -> None:
    assert judged(NAME, smoke_log(finished=finished), outcome=outcome).verdict is Verdict.FAILED


@pytest.mark.parametrize("log", ["", "text\n", "loss is fine, all done\n"])
def test_of_a_log_that_does_not_tell(judged: Judged, log: str) -> None:
    found = judged(NAME, log)
    assert (found.verdict, found.value) == (
        Verdict.NOT_JUDGED,
        "neither an end nor a failure is in the log",
    )


def test_a_hang_shows_where_each_rank_stands(judged: Judged, smoke_log: Text) -> None:
    found = judged(NAME, smoke_log(finished=[1]), outcome=Outcome("stalled", -15, 42.0))
    assert found.value == "hang: no output until ended after 42 s"
    assert found.detail is not None
    assert [text.partition(":")[0] for text in found.detail.splitlines()] == [
        "last line of rank 0",
        "last line of rank 1",
    ]
