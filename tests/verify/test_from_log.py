"""Judging logs that exist."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mbridge_skills.card.model import Card
from mbridge_skills.errors import InputError
from mbridge_skills.logs import markers
from mbridge_skills.logs.summary import summarise_chunks, summarise_file
from mbridge_skills.verify.from_log import judge_log
from mbridge_skills.verify.report import Status, VerifyReport

TESTS = Path(__file__).parents[1]
LOGS = TESTS / "fixtures" / "logs"
SMOKE_LOG = TESTS / "criteria" / "logs" / "smoke-core-0.18.2.4-microbatches.passed.log"
PASSED_LOG = LOGS / "bridge-0.6.2-core-0.19.2-2xH200.test_fsdp_pretrain_basic.passed.log"
DDP_LOG = LOGS / "bridge-0.6.2-core-0.19.2-2xH200.ddp-distopt.ok.log"
PP2_LOG = LOGS / "bridge-0.6.2-core-0.19.2-2xH200.mfsdp-pp2.failed.log"


def verdicts(report: VerifyReport) -> dict[str, str]:
    (block,) = [block for block in report.blocks if block.asked]
    return {result.id: str(result.verdict) for result in block.criteria}


class TestJudgingALog:
    """Which block's criteria, and what is expected."""

    @pytest.mark.parametrize(
        ("log", "block", "label", "status"),
        [
            (PASSED_LOG, "bridge-block", None, Status.FAILED),  # the block wants 4 iterations, the log has 10
            (DDP_LOG, "training-log", None, Status.PASSED),
            (PP2_LOG, "training-log", None, Status.FAILED),
            (SMOKE_LOG, "cpu-block", "cpu-simulated", Status.PASSED),
        ],
    )
    def test_fitting_block(
        self, make_card: Callable[..., Card], log: Path, block: str, label: str | None, status: Status
    ) -> None:
        report = judge_log(make_card("cpu", "gpu", "bridge"), summarise_file(log), None, log)
        (found,) = report.blocks
        assert (found.block, found.label, found.status) == (block, label, status)
        assert (found.asked, found.log, found.evidence, found.seconds) == (True, log, None, None)
        assert found.title.endswith("(judged from a log)")

    def test_label_gpu_leads_to_the_gpu_block(self, make_card: Callable[..., Card]) -> None:
        data = SMOKE_LOG.read_bytes().replace(b'"label": "cpu-simulated"', b'"label": "gpu"')
        report = judge_log(make_card("cpu", "gpu"), summarise_chunks([data]), None, SMOKE_LOG)
        assert (report.blocks[0].block, report.status) == ("gpu-block", Status.PASSED)

    def test_named_block(self, make_card: Callable[..., Card]) -> None:
        card = make_card("cpu", "bridge")
        report = judge_log(card, summarise_file(DDP_LOG), card.block("cpu-block"), DDP_LOG)
        assert verdicts(report) == {
            "final-loss-finite": "failed",  # the block expects 4 iterations
            "every-iteration-finite": "not judged",
            "save-resume": "not judged",
            "parity": "not judged",
            "clean-exit": "passed",
        }

    def test_no_fitting_block(self, make_card: Callable[..., Card]) -> None:
        with pytest.raises(InputError) as caught:
            judge_log(make_card("cpu"), summarise_file(DDP_LOG), None, DDP_LOG)
        assert caught.value.message == "example-skill has no verify block of tier bridge to judge this log by"
        assert caught.value.remedy == "name another of its blocks with --block"

    def test_cannot_run_is_not_verified(self, make_card: Callable[..., Card]) -> None:
        data = markers.line(markers.CANNOT_RUN, reason="no GPU").encode() + b"\n" + SMOKE_LOG.read_bytes()
        report = judge_log(make_card("cpu"), summarise_chunks([data]), None, SMOKE_LOG)
        assert (report.exit_code, report.blocks[0].reason) == (3, "no GPU")

    @pytest.mark.parametrize(
        "environment",
        [
            {},
            {"options": None, "world_size": "two"},
            {"options": [1], "world_size": -1, "label": ["gpu"]},
            {"options": {"iterations": "four", "dtype": {}}, "world_size": 10**15, "label": 7},
            {"options": {"iterations": True}, "world_size": True},
        ],
    )
    def test_an_environment_of_nonsense_is_no_pass(
        self, make_card: Callable[..., Card], environment: dict[str, Any]
    ) -> None:
        text = markers.line(markers.ENVIRONMENT, **environment)
        rest = SMOKE_LOG.read_bytes().split(b'"event": "environment"')[1].partition(b"\n")[2]
        summary = summarise_chunks([f"{text}\n".encode(), rest])
        assert summary.environment is not None
        assert judge_log(make_card("cpu"), summary, None, SMOKE_LOG).exit_code != 0
