from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mbridge_skills.card.model import Expect
from mbridge_skills.criteria.base import Judgement, Verdict

NAME = "every-iteration-finite"
Judged = Callable[..., Judgement]
Text = Callable[..., str]


def test_finite(judged: Judged, smoke_log: Text) -> None:
    found = judged(NAME, smoke_log())
    assert (found.verdict, found.value) == (Verdict.PASSED, "10 of 10 records finite, 0 skipped, 0 nan")


@pytest.mark.parametrize("phase", ["train", "resume", "reference"])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("which", ["loss", "grad norm"])
def test_one_number_is_not_finite(
    judged: Judged, smoke_log: Text, curve: Any, phase: str, value: str, which: str
) -> None:
    point = (value, 1.0) if which == "loss" else (2.0, value)
    iterations = {3: point, 4: curve[4]} if phase == "resume" else {**curve, 3: point}
    found = judged(NAME, smoke_log(**{phase: iterations}))
    assert (found.verdict, found.value) == (Verdict.FAILED, "9 of 10 records finite, 0 skipped, 0 nan")
    assert found.detail is not None
    assert found.detail.startswith("first at iteration 3 (line ")


@pytest.mark.parametrize(
    ("counts", "value"),
    [
        ({"skipped": 1}, "2 of 2 records finite, 1 skipped, 0 nan"),
        ({"skipped": 5}, "2 of 2 records finite, 5 skipped, 0 nan"),
        ({"nan": 1}, "2 of 2 records finite, 0 skipped, 1 nan"),
    ],
)
def test_counted_by_the_program(judged: Judged, line: Text, counts: dict[str, int], value: str) -> None:
    found = judged(NAME, f"{line(3, **counts)}\n{line(4)}\n")
    assert (found.verdict, found.value, found.detail) == (Verdict.FAILED, value, None)


@pytest.mark.parametrize(
    ("edit", "value"),
    [
        (lambda text: "", "no iteration in the log"),
        (lambda text: "nothing of the kind\n", "no iteration in the log"),
        (
            lambda text: text[: text.index("iteration        4/")],
            "3 of 3 records finite, 0 skipped, 0 nan, but the log ends early",
        ),
        # Between the two ends, a record that was torn apart could hide anything.
        (
            lambda text: text.replace(
                "grad norm: 1.5 | number of skipped", "grad norm: 1.5 \n| number of skipped"
            ),
            "4 of 4 records finite, 0 skipped, 0 nan, but 1 of them cut off or without a loss",
        ),
        (
            lambda text: text.replace("lm loss: 3.000000000E+00", "lm loss: tensor(3.)"),
            "4 of 4 records finite, 0 skipped, 0 nan, but 1 of them cut off or without a loss",
        ),
    ],
    ids=["empty", "other text", "ends early", "torn record", "unreadable loss"],
)
def test_not_judged(judged: Judged, smoke_log: Text, edit: Callable[[str], str], value: str) -> None:
    text = smoke_log(resume=None, reference=None, finished=())
    found = judged(NAME, edit(text))
    assert (found.verdict, found.value) == (Verdict.NOT_JUDGED, value)


def test_fails_even_where_the_log_ends_early(judged: Judged, line: Text) -> None:
    assert judged(NAME, line(1, "nan")).verdict is Verdict.FAILED


def test_no_more_than_planned(judged: Judged, line: Text) -> None:
    log = "\n".join(line(number, total=8) for number in range(1, 9))
    assert judged(NAME, log, expect=Expect(iterations=8)).verdict is Verdict.PASSED
    assert judged(NAME, log, expect=Expect(iterations=10)).verdict is Verdict.NOT_JUDGED


@pytest.mark.parametrize(
    ("log", "verdict"),
    [
        ("test_fsdp_pretrain_basic", Verdict.PASSED),
        ("ddp-distopt", Verdict.PASSED),
        ("4-microbatches.passed", Verdict.PASSED),
        ("ep2", Verdict.PASSED),  # wrong gradients, and every number finite
        ("torch-dist", Verdict.NOT_JUDGED),
        ("mfsdp-pp2", Verdict.NOT_JUDGED),
        ("fsdp2", Verdict.NOT_JUDGED),
        ("makefile", Verdict.NOT_JUDGED),
    ],
)
def test_real_logs(judged: Judged, real: Callable[[str], object], log: str, verdict: Verdict) -> None:
    assert judged(NAME, real(log), expect=Expect()).verdict is verdict
