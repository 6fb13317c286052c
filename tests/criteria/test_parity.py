from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mbridge_skills.card.model import Expect
from mbridge_skills.criteria.base import Judgement, Verdict

NAME = "parity"
Judged = Callable[..., Judgement]
Text = Callable[..., str]


def test_equal(judged: Judged, smoke_log: Text) -> None:
    found = judged(NAME, smoke_log())
    assert found.verdict is Verdict.PASSED
    assert found.value == "loss 0.0e+00, grad norm 0.0e+00; iterations 1 to 4"
    assert found.limit == "loss 1e-05, grad norm 1e-05 (relative)"


@pytest.mark.parametrize(
    ("loss", "grad_norm", "verdict", "detail"),
    [
        # The reference has 3 and 1.5 here. The limits are 1/4 and 1/8.
        (3.75, 1.5, Verdict.PASSED, None),
        (2.25, 1.5, Verdict.PASSED, None),
        (3.0, 1.6875, Verdict.PASSED, None),
        (3.75, 1.6875, Verdict.PASSED, None),
        (3.750000001, 1.5, Verdict.FAILED, "loss at iteration 2: 3.75 against 3"),
        (2.249999999, 1.5, Verdict.FAILED, "loss at iteration 2: 2.25 against 3"),
        (3.0, 1.68750001, Verdict.FAILED, "grad norm at iteration 2: 1.68750001 against 1.5"),
        (
            30.0,
            15.0,
            Verdict.FAILED,
            "loss at iteration 2: 30 against 3\ngrad norm at iteration 2: 15 against 1.5",
        ),
    ],
)
def test_at_the_limit_of_the_card(
    judged: Judged,
    smoke_log: Text,
    curve: Any,
    loss: float,
    grad_norm: float,
    verdict: Verdict,
    detail: str | None,
) -> None:
    log = smoke_log(train={**curve, 2: (loss, grad_norm)})
    found = judged(NAME, log, tolerance={"fp32": {"loss": 0.25, "grad_norm": 0.125}})
    assert found.limit == "loss 0.25, grad norm 0.125 (relative)"
    assert (found.verdict, found.detail) == (verdict, detail)


@pytest.mark.parametrize(
    ("dtype", "loss", "grad_norm", "verdict"),
    [
        ("fp32", 4.00003, 2.0, Verdict.PASSED),
        ("fp32", 4.00007, 2.0, Verdict.FAILED),
        ("bf16", 4.00007, 2.0, Verdict.PASSED),
        ("bf16", 4.00009, 2.0, Verdict.FAILED),
        ("fp32", 4.0, 2.0003, Verdict.FAILED),
        ("bf16", 4.0, 2.0003, Verdict.PASSED),
        ("bf16", 4.0, 2.0005, Verdict.FAILED),
        ("fp16", 4.00007, 2.0, Verdict.FAILED),  # of no known dtype: judged by the strictest limit
    ],
)
def test_default_limits_hang_on_the_dtype(
    judged: Judged, smoke_log: Text, curve: Any, dtype: str, loss: float, grad_norm: float, verdict: Verdict
) -> None:
    log = smoke_log(train={**curve, 1: (loss, grad_norm)}, dtype=dtype)
    assert judged(NAME, log).verdict is verdict


def test_limits_of_another_dtype_do_not_count(judged: Judged, smoke_log: Text, curve: Any) -> None:
    log = smoke_log(train={**curve, 1: (5.0, 2.0)}, dtype="fp32")
    assert judged(NAME, log, tolerance={"bf16": {"loss": 1.0}}).verdict is Verdict.FAILED


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("phase", ["train", "reference"])
@pytest.mark.parametrize("iteration", [1, 2, 4])
@pytest.mark.parametrize("which", ["loss", "grad norm"])
def test_no_number_never_agrees(
    judged: Judged, smoke_log: Text, curve: Any, value: str, phase: str, iteration: int, which: str
) -> None:
    loss, grad_norm = curve[iteration]
    point = (value, grad_norm) if which == "loss" else (loss, value)
    found = judged(NAME, smoke_log(**{phase: {**curve, iteration: point}}))
    assert found.verdict is Verdict.FAILED
    assert found.detail is not None
    assert found.detail.startswith(f"{which} at iteration {iteration}: ")


def test_nan_on_both_sides_never_agrees(judged: Judged, smoke_log: Text, curve: Any) -> None:
    broken = {**curve, 1: ("nan", "nan")}
    found = judged(NAME, smoke_log(train=broken, reference=broken))
    assert (found.verdict, found.value) == (
        Verdict.FAILED,
        "loss nan, grad norm nan; iterations 1 to 4",
    )


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"reference": None}, "no reference in the log"),
        ({"train": None}, "the training or its reference did not reach the last iteration"),
        ({"train": {}}, "the training or its reference did not reach the last iteration"),
        ({"reference": {}}, "no reference in the log"),
        ({"train": (1, 2, 3)}, "the training or its reference did not reach the last iteration"),
        ({"reference": (1, 2, 3)}, "the training or its reference did not reach the last iteration"),
        ({"train": (1, 3, 4)}, "only 3 of 4 iterations can be compared"),
        ({"reference": (4,)}, "only 1 of 4 iterations can be compared"),
        # Both lack the same one: what nobody shows cannot be compared either.
        ({"train": (1, 3, 4), "reference": (1, 3, 4)}, "only 3 of 4 iterations can be compared"),
        ({"train": (4,), "reference": (4,)}, "only 1 of 4 iterations can be compared"),
    ],
)
def test_not_judged(judged: Judged, smoke_log: Text, curve: Any, changes: dict[str, Any], value: str) -> None:
    kept = {
        name: None if which is None else {number: curve[number] for number in which}
        for name, which in changes.items()
    }
    found = judged(NAME, smoke_log(**kept))
    assert (found.verdict, found.value) == (Verdict.NOT_JUDGED, value)


def test_an_iteration_twice_is_not_judged(judged: Judged, smoke_log: Text, line: Text, curve: Any) -> None:
    text = smoke_log(train=curve)
    record = f"[default1]:{line(3, 2.0, 1.0)}\n"
    assert judged(NAME, text.replace(record, record * 2, 1)).verdict is Verdict.NOT_JUDGED


def test_a_torn_record_is_not_judged(judged: Judged, smoke_log: Text) -> None:
    torn = smoke_log().replace(" | number of nan iterations:   0 |", "", 1)
    found = judged(NAME, torn)
    assert (found.verdict, found.value) == (Verdict.NOT_JUDGED, "only 3 of 4 iterations can be compared")


def test_fewer_than_planned_is_not_judged(judged: Judged, smoke_log: Text) -> None:
    assert judged(NAME, smoke_log(), expect=Expect(iterations=8)).verdict is Verdict.NOT_JUDGED


@pytest.mark.parametrize(
    ("log", "verdict"),
    [
        ("4-microbatches.passed", Verdict.PASSED),
        ("ep2", Verdict.FAILED),
        ("torch-dist", Verdict.NOT_JUDGED),
        ("test_fsdp_pretrain_basic", Verdict.NOT_JUDGED),
        ("ddp-distopt", Verdict.NOT_JUDGED),
    ],
)
def test_real_logs(judged: Judged, real: Callable[[str], object], log: str, verdict: Verdict) -> None:
    assert judged(NAME, real(log)).verdict is verdict


def test_upstream_fault_with_expert_groups_of_one_rank(judged: Judged, real: Callable[[str], object]) -> None:
    found = judged(NAME, real("ep2"))
    assert found.value == "loss 6.6e-03, grad norm 9.2e-02; iterations 1 to 4"
    assert found.detail == (
        "loss at iteration 4: 4.42818594 against 4.39898968\n"
        "grad norm at iteration 1: 0.895815199 against 0.986090664"
    )
