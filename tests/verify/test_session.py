"""Whole verifications, with a program that prints a log in place of one that trains."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mbridge_skills.card.load import load_card
from mbridge_skills.card.model import Card
from mbridge_skills.errors import InputError
from mbridge_skills.logs import markers
from mbridge_skills.verify.plan import Plan, Request
from mbridge_skills.verify.progress import Progress
from mbridge_skills.verify.report import Status, VerifyReport
from mbridge_skills.verify.session import Options, verify

TESTS = Path(__file__).parents[1]
LOGS = TESTS / "fixtures" / "logs"
SMOKE_LOG = TESTS / "criteria" / "logs" / "smoke-core-0.18.2.4-microbatches.passed.log"
EP2_LOG = TESTS / "criteria" / "logs" / "smoke-core-0.18.2.ep2-4-microbatches.failed.log"
CUT_IN_TRAINING = SMOKE_LOG.read_bytes().partition(b"successfully saved")[0]
CUT_IN_RESUMING = SMOKE_LOG.read_bytes().partition(b"successfully loaded")[0]
PASSED_LOG = LOGS / "bridge-0.6.2-core-0.19.2-2xH200.test_fsdp_pretrain_basic.passed.log"
DDP_LOG = LOGS / "bridge-0.6.2-core-0.19.2-2xH200.ddp-distopt.ok.log"
PP2_LOG = LOGS / "bridge-0.6.2-core-0.19.2-2xH200.mfsdp-pp2.failed.log"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., VerifyReport]:
    """Verify a card; what is kept without a report folder lies in the test's own folder."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def start(card: Card, tier: str = "auto", request: Request = Request(), **options: Any) -> VerifyReport:  # noqa: B008
        def progress(planned: Plan) -> Progress:
            return Progress(Console(file=io.StringIO()), planned.block.id)

        return verify(card, Options(tier, request, **options), progress)

    return start


def verdicts(report: VerifyReport) -> dict[str, str]:
    (block,) = [block for block in report.blocks if block.asked]
    return {result.id: str(result.verdict) for result in block.criteria}


class TestRunning:
    def test_passed(
        self, make_card: Callable[..., Card], run: Callable[..., VerifyReport], tmp_path: Path
    ) -> None:
        report = run(make_card("cpu"))
        (block,) = report.blocks
        assert set(verdicts(report).values()) == {"passed"}
        assert (block.status, block.asked, block.reason, block.label) == (
            Status.PASSED,
            True,
            None,
            "cpu-simulated",
        )
        assert report.exit_code == 0
        assert (block.log, block.evidence_file) == (None, None)
        assert list((tmp_path / "tmp").iterdir()) == []

    @pytest.mark.parametrize(
        ("changes", "failed"),
        [
            ({"status": 1}, {"clean-exit"}),
            ({"status": 3}, {"clean-exit"}),
            ({"log": b""}, {"final-loss-finite"}),
            ({"log": b"", "status": 1}, {"final-loss-finite", "clean-exit"}),
            ({"log": CUT_IN_TRAINING}, {"final-loss-finite", "clean-exit"}),
            ({"log": CUT_IN_RESUMING}, {"save-resume", "clean-exit"}),
            ({"log": EP2_LOG}, {"parity"}),
        ],
        ids=["exit 1", "exit 3", "empty", "empty, exit 1", "cut", "cut later", "wrong gradients"],
    )
    def test_failed(
        self,
        make_card: Callable[..., Card],
        run: Callable[..., VerifyReport],
        changes: dict[str, Any],
        failed: set[str],
    ) -> None:
        report = run(make_card("cpu", **changes))
        assert report.exit_code == 1
        assert {name for name, verdict in verdicts(report).items() if verdict == "failed"} == failed

    def test_the_log_of_what_did_not_pass_is_kept(
        self, make_card: Callable[..., Card], run: Callable[..., VerifyReport], tmp_path: Path
    ) -> None:
        (block,) = run(make_card("cpu", status=1)).blocks
        assert block.log is not None
        assert block.log.parent == tmp_path / "tmp"
        assert block.log.read_bytes() == SMOKE_LOG.read_bytes()
        assert list((tmp_path / "tmp").iterdir()) == [block.log]

    @pytest.mark.parametrize("status", [0, 1])
    def test_report_folder(
        self, make_card: Callable[..., Card], run: Callable[..., VerifyReport], tmp_path: Path, status: int
    ) -> None:
        folder = tmp_path / "kept"
        folder.mkdir()
        (block,) = run(make_card("cpu", status=status), report_folder=folder).blocks
        assert block.evidence_file is not None
        assert block.log is not None
        assert {path.name for path in folder.iterdir()} == {block.log.name, block.evidence_file.name}
        assert json.loads(block.evidence_file.read_text()) == block.evidence
        assert block.log.read_bytes() == SMOKE_LOG.read_bytes()
        assert list((tmp_path / "tmp").iterdir()) == []

    def test_impossible_is_not_failed(
        self, make_card: Callable[..., Card], run: Callable[..., VerifyReport]
    ) -> None:
        text = markers.line(markers.CANNOT_RUN, reason="CUDA is available")
        report = run(make_card("cpu", log=f"[default0]:{text}\n".encode(), status=3))
        (block,) = report.blocks
        assert (block.status, block.reason) == (Status.NOT_VERIFIED, "CUDA is available")
        assert report.exit_code == 3

    def test_a_program_that_says_cannot_run_and_ends_well_is_no_pass(
        self, make_card: Callable[..., Card], run: Callable[..., VerifyReport]
    ) -> None:
        text = markers.line(markers.CANNOT_RUN, reason="no")
        assert run(make_card("cpu", log=SMOKE_LOG.read_bytes() + f"{text}\n".encode())).exit_code == 3

    def test_iterations_on_request_change_what_is_expected(
        self, make_card: Callable[..., Card], run: Callable[..., VerifyReport]
    ) -> None:
        card = make_card("cpu")
        assert run(card, request=Request(smoke_options=("--iterations", "4"))).exit_code == 0
        report = run(card, request=Request(smoke_options=("--iterations", "6")))
        assert verdicts(report)["final-loss-finite"] == "failed"


class TestTiers:
    def test_auto_runs_the_highest_that_can(
        self, make_card: Callable[..., Card], run: Callable[..., VerifyReport]
    ) -> None:
        report = run(make_card("cpu", "gpu", "bridge"))
        assert [(block.block, block.status, block.asked) for block in report.blocks] == [
            ("bridge-block", Status.NOT_VERIFIED, False),
            ("gpu-block", Status.NOT_VERIFIED, False),
            ("cpu-block", Status.PASSED, True),
        ]
        assert report.blocks[0].reason == "no Megatron-Bridge checkout given"
        assert report.blocks[0].remedy == "--bridge DIR"
        assert report.blocks[1].reason is not None
        assert report.blocks[1].reason.startswith("needs 64 GPUs, ")
        assert report.exit_code == 0

    def test_auto_passes_over_the_lower_ones(
        self, make_card: Callable[..., Card], run: Callable[..., VerifyReport], tmp_path: Path
    ) -> None:
        (tmp_path / "tests").mkdir()
        (tmp_path / "tests/test_x.py").write_text("def test_x(): ...\n")
        card = make_card(
            "bridge",
            log=PASSED_LOG,
            needs={"gpus": 0, "processes": 2, "bridge_checkout": True},
            expect={"iterations": 10, "passes": 1},
        )
        both = card.path.read_text() + f"  - {json.dumps(CPU_BLOCK)}\n"
        card.path.write_text(both)
        report = run(load_card(card.path), request=Request(bridge=tmp_path))
        assert [(block.block, block.status, block.asked, block.reason) for block in report.blocks] == [
            ("bridge-block", Status.PASSED, True, None),
            ("cpu-block", Status.NOT_VERIFIED, False, "not run: tier bridge shows more"),
        ]
        assert report.blocks[0].notes == ("test found at tests/test_x.py",)
        assert report.exit_code == 0

    def test_auto_asks_for_all_blocks_of_a_tier(
        self, make_card: Callable[..., Card], run: Callable[..., VerifyReport]
    ) -> None:
        card = make_card("cpu")
        other = {
            **CPU_BLOCK,
            "id": "other",
            "needs": {"gpus": 0, "processes": 2, "packages": {"no-such-one": ">=1"}},
        }
        card.path.write_text(card.path.read_text() + f"  - {json.dumps(other)}\n")
        report = run(load_card(card.path))
        assert report.exit_code == 3  # nothing of the one that could run makes up for the other

    @pytest.mark.parametrize(("tier", "asked"), [("auto", "gpu-block"), ("gpu", "gpu-block")])
    def test_nothing_can_run(
        self, make_card: Callable[..., Card], run: Callable[..., VerifyReport], tier: str, asked: str
    ) -> None:
        report = run(make_card("gpu", "bridge"), tier)
        assert report.exit_code == 3
        assert [block.block for block in report.blocks if block.asked] == [asked]
        assert all(block.reason for block in report.blocks)

    @pytest.mark.parametrize(
        ("tier", "reason"), [("gpu", "needs 64 GPUs"), ("bridge", "no Megatron-Bridge checkout")]
    )
    def test_the_tier_asked_for_cannot_run(
        self, make_card: Callable[..., Card], run: Callable[..., VerifyReport], tier: str, reason: str
    ) -> None:
        report = run(make_card("cpu", "gpu", "bridge"), tier)
        (block,) = report.blocks
        assert (block.tier, block.status, block.asked) == (tier, Status.NOT_VERIFIED, True)
        assert block.reason is not None
        assert block.reason.startswith(reason)
        assert report.exit_code == 3

    def test_no_block_of_the_tier(
        self, make_card: Callable[..., Card], run: Callable[..., VerifyReport]
    ) -> None:
        with pytest.raises(InputError) as caught:
            run(make_card("cpu"), "gpu")
        assert "has no verify block of tier gpu" in caught.value.message
        assert caught.value.remedy == "choose --tier auto; its blocks: cpu-block (tier cpu)"


CPU_BLOCK = {
    "id": "cpu-block",
    "title": "Tier cpu",
    "tier": "cpu",
    "label": "cpu-simulated",
    "command": ["{python}", "-c", "pass", "{card}", "0"],
    "needs": {"gpus": 0, "processes": 2},
    "timeout_s": 60,
    "stall_s": 30,
    "expect": {"iterations": 4},
    "criteria": [{"id": "clean-exit"}],
}


def test_a_program_on_another_device_than_promised_verifies_nothing(
    make_card: Callable[..., Card], run: Callable[..., VerifyReport]
) -> None:
    log = SMOKE_LOG.read_bytes().replace(b'"label": "cpu-simulated"', b'"label": "gpu"')
    report = run(make_card("cpu", log=log))
    (block,) = report.blocks
    assert (block.status, report.exit_code) == (Status.NOT_VERIFIED, 3)
    assert block.reason == "the program says that it ran gpu, and the block is for cpu-simulated"
