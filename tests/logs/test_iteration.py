from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from mbridge_skills.logs.events import Iteration

Parse = Callable[..., list[Any]]

DATE = " [2026-11-30 19:45:37]"
RECORD = (
    " iteration       10/      20 | consumed samples:           80 | elapsed time per iteration (ms): 122.1 |"
    " learning rate: 1.000000E-06 | global batch size:     8 | lm loss: 8.367718E+00 | loss scale: 1.0 |"
    " grad norm: 0.535 | num zeros: 0 | params norm: 86.455 |"
)
CLOSING = " number of skipped iterations:   1 | number of nan iterations:   2 |"
EXPECTED = {
    "iteration": 10,
    "total": 20,
    "consumed_samples": 80,
    "step_time_ms": 122.1,
    "learning_rate": 1e-6,
    "global_batch_size": 8,
    "losses": {"lm loss": 8.367718},
    "loss_scale": 1.0,
    "grad_norm": 0.535,
    "params_norm": 86.455,
    "skipped": 1,
    "nan": 2,
    "complete": True,
}


def only(records: list[Iteration]) -> Iteration:
    (record,) = records
    return record


@pytest.mark.parametrize(
    "text",
    [
        RECORD + CLOSING,
        DATE + RECORD + CLOSING,
        " [2026-11-30 19:45:37.123456]" + RECORD + CLOSING,
        "another rank's unfinished line" + DATE + RECORD + CLOSING,
        DATE + RECORD + CLOSING + "Number of parameters in billions: 0.03",
        DATE + RECORD + CLOSING + " toks/s: 1200 | packing_eff: 93.1% |",
        DATE
        + RECORD
        + CLOSING
        + " validation loss at iteration 10 | lm loss value: 8.1E+00 | lm loss PPL: 3E+03 |",
        DATE
        + RECORD
        + CLOSING
        + "[Rank 0] (after 10 iterations) memory (GB) | mem-allocated-gigabytes: 0.4 |",
    ],
)
def test_a_whole_record(parse: Parse, text: str) -> None:
    record = only(parse(text + "\n"))
    assert {name: getattr(record, name) for name in EXPECTED} == EXPECTED


@pytest.mark.parametrize(
    "unknown", [" energy per GPU (J/iter/GPU): 81.0 |", " max attention logit: 9.1 |", " no colon |"]
)
def test_passes_over_unknown_fields(parse: Parse, unknown: str) -> None:
    record = only(parse(DATE + RECORD + unknown + CLOSING))
    assert {name: getattr(record, name) for name in EXPECTED} == EXPECTED


def test_fields_in_another_order(parse: Parse) -> None:
    head, *fields, _ = (RECORD + CLOSING).split("|")
    record = only(parse("|".join([head, *reversed(fields)]) + "|"))
    assert {name: getattr(record, name) for name in EXPECTED} == EXPECTED


def test_losses_of_experts_and_of_multi_token_prediction(parse: Parse) -> None:
    more = " load_balancing_loss: 1.2E+00 | mtp_1 loss: 9.0E+00 | z_loss: 0.01 | routed tokens: 5 |"
    record = only(parse(RECORD + more + CLOSING))
    assert record.losses == {
        "lm loss": 8.367718,
        "load_balancing_loss": 1.2,
        "mtp_1 loss": 9.0,
        "z_loss": 0.01,
    }
    assert record.loss == 8.367718


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("nan", math.nan),
        ("NAN", math.nan),
        ("inf", math.inf),
        ("-inf", -math.inf),
        ("INF", math.inf),
        ("8", 8.0),
        ("-1.5E-300", -1.5e-300),
        ("1e400", math.inf),
        ("8.123456789012345", 8.123456789012345),
    ],
)
def test_any_number(parse: Parse, value: str, expected: float) -> None:
    text = RECORD.replace("8.367718E+00", value).replace("grad norm: 0.535", f"grad norm: {value}") + CLOSING
    record = only(parse(text))
    assert record.loss == pytest.approx(expected, rel=0, abs=0, nan_ok=True)
    assert record.grad_norm == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize("value", ["", "abc", "8.3.1", "1_0", "0x10", "8,3", "--1", "tensor(8.3)"])
def test_leaves_alone_what_is_no_number(parse: Parse, value: str) -> None:
    record = only(parse(RECORD.replace("8.367718E+00", value) + CLOSING))
    assert record.losses == {}
    assert record.complete


def test_several_records_in_a_line(parse: Parse) -> None:
    second = RECORD.replace("iteration       10/", "iteration       11/").replace("8.367718", "7.000000")
    records = parse(DATE + RECORD + CLOSING + DATE + second + CLOSING)
    assert [(record.iteration, record.loss, record.complete) for record in records] == [
        (10, 8.367718, True),
        (11, 7.0, True),
    ]


def test_a_record_cut_off_by_the_next_one(parse: Parse) -> None:
    first = DATE + RECORD.replace("8.367718E+00", "8.36").split(" | loss scale")[0]
    records = parse(first + DATE + RECORD + CLOSING)
    assert [(record.losses, record.complete) for record in records] == [
        ({}, False),
        ({"lm loss": 8.367718}, True),
    ]


class TestThroughput:
    LINE = "Step Time : 0.12s GPU utilization: 2.5MODEL_TFLOP/s/GPU"

    @pytest.mark.parametrize("between", ["\n", "", "\nother output\n"])
    def test_of_the_line_before(self, parse: Parse, between: str) -> None:
        assert only(parse(self.LINE + between + DATE + RECORD + CLOSING)).tflops == 2.5

    def test_of_the_record_itself(self, parse: Parse) -> None:
        field = " throughput per GPU (TFLOP/s/GPU): 411.5 |"
        assert only(parse(self.LINE + "\n" + RECORD + field + CLOSING)).tflops == 411.5

    def test_of_another_rank(self, parse: Parse) -> None:
        log = f"[default0]:{self.LINE}\n[default7]:{DATE}{RECORD}{CLOSING}"
        record = only(parse(log))
        assert (record.rank, record.tflops) == (7, 2.5)

    def test_is_used_once(self, parse: Parse) -> None:
        records = parse(f"{self.LINE}\n{RECORD}{CLOSING}\n{RECORD}{CLOSING}\n")
        assert [record.tflops for record in records] == [2.5, None]

    def test_behind_the_record_belongs_to_the_next(self, parse: Parse) -> None:
        records = parse(f"{RECORD}{CLOSING}{self.LINE}\n{RECORD}{CLOSING}")
        assert [record.tflops for record in records] == [None, 2.5]


WHOLE = DATE + RECORD + CLOSING


@pytest.mark.parametrize("end", range(len(DATE) + 1, len(WHOLE)))
def test_a_cut_record_has_whole_fields_only(parse: Parse, end: int) -> None:
    whole = only(parse(WHOLE))
    for record in parse(WHOLE[:end]):
        assert not record.complete
        assert record.iteration == 10
        for name in EXPECTED:
            if name not in ("iteration", "losses", "complete"):
                assert getattr(record, name) in (None, getattr(whole, name))
        assert record.losses in ({}, whole.losses)


@pytest.mark.parametrize(
    ("cut", "losses"),
    [
        (" lm loss: 8.36", {}),
        (" lm loss: 8.367718E+0", {}),
        (" lm loss: 8.367718E+00", {}),
        (" lm loss: 8.367718E+00 ", {"lm loss": 8.367718}),
        (" lm loss: 8.367718E+00 |", {"lm loss": 8.367718}),
    ],
)
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_number_that_may_be_cut_is_not_reported(parse: Parse, cut: str, losses: object, end: str) -> None:
    record = only(parse(RECORD.split(" lm loss")[0] + cut + end))
    assert (record.losses, record.complete) == (losses, False)


@pytest.mark.parametrize(
    ("cut", "total"),
    [
        (" iteration       10/", None),
        (" iteration       10/      2", None),
        (" iteration       10/      20", None),
        (" iteration       10/      20 |", 20),
        (" iteration       10/      20 | ", 20),
    ],
)
def test_a_record_cut_in_its_head(parse: Parse, cut: str, total: int | None) -> None:
    record = only(parse(DATE + cut))
    assert (record.iteration, record.total, record.complete) == (10, total, False)


@pytest.mark.parametrize(
    "text",
    [
        " validation loss at iteration 10 | lm loss value: 8.367718E+00 | lm loss PPL: 4.3E+03 | ",
        " validation loss at iteration 10 on validation set | lm loss value: 8.3E+00 | ",
        "iteration 3/10 |######    | 30%",
        "iteration 3/10 | ",
        "iteration 3/10",
        "iteration 3/",
        "iteration 3 of 10 | lm loss: 8.3 |",
        "iteration: 3/10 | lm loss: 8.3 |",
        "iterations 3/10 | lm loss: 8.3 |",
        "subiteration 3/10 | lm loss: 8.3 |",
        "Evaluating iter 3/10",
        "Starting training loop at iteration 0",
        "Setting rerun_state_machine.current_iteration to 0...",
        "(after 5 iterations) memory (GB) | mem-allocated-gigabytes: 0.45087 |",
        "saving checkpoint at iteration       5 to /x in torch_dist format",
        "number of nan iterations:   0 |",
        " iteration ٣/ ٤ | lm loss: 8.3 |",
        "iteration " + "9" * 5000 + "/ 10 | lm loss: 8.3 |",
        "lm loss: 8.367718E+00 | grad norm: 0.5 |",
    ],
)
def test_leaves_it_alone(parse: Parse, text: str) -> None:
    assert parse(text + "\n", Iteration) == []
