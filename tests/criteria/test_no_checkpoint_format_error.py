from __future__ import annotations

from collections.abc import Callable

import pytest

from mbridge_skills.criteria.base import Judgement, Verdict
from mbridge_skills.verify.launcher import Outcome

NAME = "no-checkpoint-format-error"
Judged = Callable[..., Judgement]
Text = Callable[..., str]
FAILED = Outcome("exited", 1, 1.0)
DONE = "[after training is done] datetime: 2026-11-30 20:00:05 \n"


def traceback(error: str) -> str:
    return f'Traceback (most recent call last):\n  File "/x/a.py", line 1, in f\n    g()\n{error}\n'


# Exact texts of the releases.
REFUSALS = [
    "AssertionError: Megatron FSDP only supports fsdp_dtensor checkpoint format",  # Bridge 0.3, 0.4
    "AssertionError: Megatron-FSDP requires the fsdp_dtensor checkpointing format!",  # Bridge from 0.5
    "AssertionError: fsdp_dtensor checkpoint format only supports Megatron FSDP",  # Bridge 0.3 to 0.6
    "AssertionError: fsdp_dtensor sharding type is only supported with Megatron FSDP.",  # core 0.17 to 0.19
    "NotImplementedError: sharding_type fully_sharded_model_space is not supported with Megatron FSDP.",
    "ValueError: Checkpoint format 'zarr' is not supported. Supported formats are: 'torch_dist'",
    "NotImplementedError: Checkpoint format zarr not supported",
    "ValueError: Checkpoint format 'fsdp_dtensor' from config differs from inferred format 'torch_dist'",
    "AssertionError: --ckpt-format fsdp_dtensor is only tested with Megatron FSDP.",  # Megatron-LM
]


@pytest.mark.parametrize("error", REFUSALS)
@pytest.mark.parametrize("outcome", [FAILED, None, Outcome("timeout", -15, 9.0)])
def test_refused(judged: Judged, error: str, outcome: Outcome | None) -> None:
    found = judged(NAME, traceback(error), outcome=outcome)
    assert (found.verdict, found.value) == (Verdict.FAILED, error)


def test_refused_in_pytests_summary(judged: Judged) -> None:
    reason = "AssertionError: Megatron-FSDP requires the fsdp_dtensor checkpointing format!"
    found = judged(NAME, f"FAILED tests/test_a.py::test_x - {reason}\n")
    assert (found.verdict, found.value) == (Verdict.FAILED, reason)


@pytest.mark.parametrize(
    "error",
    [
        "ValueError: a mesh of one rank",
        "AssertionError: average_in_collective is not supported with Megatron FSDP",
        "AssertionError: use_tp_pp_dp_mapping is not supported with Megatron FSDP",
        "OSError: [Errno 28] No space left on device",
        "AssertionError",
    ],
)
def test_other_failures_are_not_judged(judged: Judged, error: str) -> None:
    found = judged(NAME, traceback(error), outcome=FAILED)
    assert (found.verdict, found.value) == (Verdict.NOT_JUDGED, "the run did not reach its end")


@pytest.mark.parametrize("log", ["", "text\n", "fsdp_dtensor\n"])
def test_a_log_that_does_not_tell_is_not_judged(judged: Judged, log: str) -> None:
    assert judged(NAME, log).verdict is Verdict.NOT_JUDGED


@pytest.mark.parametrize(
    "outcome",
    [FAILED, Outcome("timeout", 0, 9.0), Outcome("stalled", 0, 9.0), Outcome("interrupted", 0, 9.0)],
)
def test_a_run_without_a_good_end_is_not_judged(judged: Judged, smoke_log: Text, outcome: Outcome) -> None:
    assert judged(NAME, smoke_log(), outcome=outcome).verdict is Verdict.NOT_JUDGED


@pytest.mark.parametrize("finished", [[], [0], [1]])
def test_a_log_that_ends_early_is_not_judged(judged: Judged, smoke_log: Text, finished: list[int]) -> None:
    assert judged(NAME, smoke_log(finished=finished)).verdict is Verdict.NOT_JUDGED


@pytest.mark.parametrize("outcome", [None, Outcome("exited", 0, 9.0)])
def test_passed_names_the_format(judged: Judged, smoke_log: Text, outcome: Outcome | None) -> None:
    found = judged(NAME, smoke_log(), outcome=outcome)
    assert (found.verdict, found.value) == (Verdict.PASSED, "none (fsdp_dtensor)")


def test_passed_without_a_checkpoint_says_so(judged: Judged) -> None:
    found = judged(NAME, DONE)
    assert (found.verdict, found.value) == (Verdict.PASSED, "none (no checkpoint in this run)")


@pytest.mark.parametrize(
    ("log", "verdict"),
    [
        ("test_fsdp_pretrain_basic", Verdict.PASSED),
        ("ddp-distopt", Verdict.PASSED),
        ("4-microbatches.passed", Verdict.PASSED),
        ("torch-dist", Verdict.FAILED),
        ("makefile", Verdict.NOT_JUDGED),
        ("fsdp2", Verdict.NOT_JUDGED),
        ("mfsdp-pp2", Verdict.NOT_JUDGED),
    ],
)
def test_real_logs(judged: Judged, real: Callable[[str], object], log: str, verdict: Verdict) -> None:
    assert judged(NAME, real(log)).verdict is verdict
