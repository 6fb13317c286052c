from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mbridge_skills.card.model import Expect
from mbridge_skills.criteria.base import Judgement, Verdict

NAME = "save-resume"
Judged = Callable[..., Judgement]
Text = Callable[..., str]


def test_reproduced(judged: Judged, smoke_log: Text) -> None:
    found = judged(NAME, smoke_log())
    assert (found.verdict, found.value) == (
        Verdict.PASSED,
        "loss 0.0e+00, grad norm 0.0e+00; iterations 3 to 4",
    )


@pytest.mark.parametrize(
    ("point", "stated", "verdict"),
    [
        # The training has 2 and 1 at iteration 3.
        ((2.00001, 1.0), {}, Verdict.PASSED),
        ((2.00003, 1.0), {}, Verdict.FAILED),
        ((2.0, 1.00002), {}, Verdict.FAILED),
        ((2.5, 1.0), {"fp32": {"loss": 0.25}}, Verdict.PASSED),
        ((2.500001, 1.0), {"fp32": {"loss": 0.25}}, Verdict.FAILED),
        (("nan", 1.0), {}, Verdict.FAILED),
        ((2.0, "inf"), {}, Verdict.FAILED),
        (("nan", 1.0), {"fp32": {"loss": 1e9}}, Verdict.FAILED),
    ],
)
def test_limits(
    judged: Judged, smoke_log: Text, curve: Any, point: Any, stated: dict[str, Any], verdict: Verdict
) -> None:
    found = judged(NAME, smoke_log(resume={3: point, 4: curve[4]}), tolerance=stated)
    assert found.verdict is verdict


def test_nan_in_the_training(judged: Judged, smoke_log: Text, curve: Any) -> None:
    assert judged(NAME, smoke_log(train={**curve, 3: ("nan", 1.0)})).verdict is Verdict.FAILED


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"loaded": None}, "the checkpoint was saved, but not loaded"),
        ({"resume": None}, "the checkpoint was saved, but not loaded"),
        ({"resume": ()}, "the resumed training did not reach the last iteration"),
        ({"resume": (3,)}, "the resumed training did not reach the last iteration"),
        ({"train": (1, 2, 3)}, "the resumed training did not reach the last iteration"),
        # Trained again from the beginning: that is no resumption, however well the losses agree.
        ({"resume": (1, 2, 3, 4)}, "iteration 2 was loaded, but training went on at iteration 1"),
        ({"resume": (4,)}, "iteration 2 was loaded, but training went on at iteration 4"),
        ({"loaded": 1}, "iteration 1 was loaded, but training went on at iteration 3"),
    ],
)
def test_failed(judged: Judged, smoke_log: Text, curve: Any, changes: dict[str, Any], value: str) -> None:
    kept = {
        name: {number: curve[number] for number in which} if isinstance(which, tuple) else which
        for name, which in changes.items()
    }
    found = judged(NAME, smoke_log(**kept))
    assert (found.verdict, found.value) == (Verdict.FAILED, value)


def test_a_torn_record_is_not_judged(judged: Judged, smoke_log: Text) -> None:
    before, resumed = smoke_log().split("successfully loaded")
    torn = resumed.replace(" | number of nan iterations:   0 |", "", 1)
    found = judged(NAME, f"{before}successfully loaded{torn}")
    assert found.verdict is Verdict.NOT_JUDGED
    assert found.value == "only 1 of 2 resumed iterations can be compared"


def test_without_a_checkpoint(judged: Judged, smoke_log: Text) -> None:
    found = judged(NAME, smoke_log(saved=False))
    assert (found.verdict, found.value) == (Verdict.NOT_JUDGED, "no checkpoint was saved")


def test_a_save_that_only_began(judged: Judged, smoke_log: Text) -> None:
    log = smoke_log().replace("successfully saved", "tried to save")
    assert judged(NAME, log).verdict is Verdict.NOT_JUDGED


def test_a_load_that_only_began(judged: Judged, smoke_log: Text) -> None:
    log = smoke_log().replace("  successfully loaded checkpoint", " loading distributed checkpoint")
    assert judged(NAME, log).verdict is Verdict.FAILED


def test_a_log_of_another_program(judged: Judged, line: Text) -> None:
    log = f"  successfully saved checkpoint from iteration       2 to /c\n{line(3)}\n{line(4)}\n"
    found = judged(NAME, log, expect=Expect())
    assert found.verdict is Verdict.NOT_JUDGED
    assert found.value == "the log does not tell the resumed iterations from the others"


def test_phases_that_share_no_iteration(judged: Judged, smoke_log: Text, curve: Any) -> None:
    log = smoke_log(loaded=9, resume={10: curve[3]}).replace("10/       4", "10/      10")
    found = judged(NAME, log, expect=Expect())
    assert found.verdict is Verdict.NOT_JUDGED


@pytest.mark.parametrize(
    ("log", "verdict"),
    [
        ("4-microbatches.passed", Verdict.PASSED),
        ("ep2", Verdict.PASSED),
        ("torch-dist", Verdict.NOT_JUDGED),
        ("test_fsdp_pretrain_basic", Verdict.NOT_JUDGED),
    ],
)
def test_real_logs(judged: Judged, real: Callable[[str], object], log: str, verdict: Verdict) -> None:
    assert judged(NAME, real(log)).verdict is verdict
