from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mbridge_skills.card.load import load_card
from mbridge_skills.cli.main import run
from mbridge_skills.logs.summary import summarise_chunks
from mbridge_skills.verify.from_log import judge_log

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "tests" / "fixtures" / "logs"
SMOKE_LOGS = ROOT / "tests" / "criteria" / "logs"
SKILL = "nemo-mbridge-perf-megatron-fsdp"
PREFIX = "bridge-0.6.2-core-0.19.2-2xH200."
PASSED = LOGS / f"{PREFIX}test_fsdp_pretrain_basic.passed.log"
DDP = LOGS / f"{PREFIX}ddp-distopt.ok.log"
SMOKE = SMOKE_LOGS / "smoke-core-0.18.2.4-microbatches.passed.log"
CRITERIA = [
    "pytest-passes",
    "final-loss-finite",
    "no-checkpoint-format-error",
    "every-iteration-finite",
    "clean-exit",
]

Capture = pytest.CaptureFixture[str]


def verify(*words: str | Path) -> int:
    return run(["run", "verify", "--bundle", str(ROOT), *map(str, words)])


@pytest.fixture
def report(capsys: Capture) -> Callable[..., tuple[int, Any]]:
    """Judge a log; gives the exit code and the only block of the report."""

    def judge(log: Path, *words: str) -> tuple[int, Any]:
        code = verify("--from-log", log, "--format", "json", *words)
        record = json.loads(capsys.readouterr().out)
        assert record["exit_code"] == code
        (block,) = record["blocks"]
        return code, block

    return judge


def verdicts(block: Any) -> dict[str, str]:
    return {each["id"]: each["verdict"] for each in block["criteria"]}


class TestRealLogs:
    def test_upstreams_passed_test(self, report: Callable[..., tuple[int, Any]]) -> None:
        code, block = report(PASSED)
        assert code == 0
        assert verdicts(block) == dict.fromkeys(CRITERIA, "passed")
        assert (block["block"], block["status"], block["asked"]) == ("bridge-functional", "passed", True)

    def test_a_training_log(self, report: Callable[..., tuple[int, Any]]) -> None:
        code, block = report(DDP)
        assert code == 0
        assert verdicts(block) == dict.fromkeys(CRITERIA[1:], "passed")

    def test_the_smoke_program(self, report: Callable[..., tuple[int, Any]]) -> None:
        code, block = report(SMOKE)
        assert (code, block["label"], set(verdicts(block).values())) == (0, "cpu-simulated", {"passed"})

    @pytest.mark.parametrize(
        ("log", "failed", "cause"),
        [
            (
                LOGS / f"{PREFIX}dataset-helpers-makefile.failed.log",
                {"pytest-passes", "final-loss-finite", "clean-exit"},
                "rank 0 ended with exit code 1: SystemExit: 1 (rank 0)",
            ),
            (
                LOGS / f"{PREFIX}fsdp2-distributed-optimizer.failed.log",
                {"final-loss-finite", "clean-exit"},
                "rank 0 ended with exit code 1: TypeError: 'method' object is not iterable (rank 0)",
            ),
            (
                LOGS / f"{PREFIX}mfsdp-pp2.failed.log",
                {"final-loss-finite", "clean-exit"},
                "rank 0 ended with exit code 1: EinopsError: Error while processing rearrange-reduction",
            ),
            (
                SMOKE_LOGS / "smoke-core-0.18.2.torch-dist.failed.log",
                {"final-loss-finite", "no-checkpoint-format-error", "clean-exit"},
                "rank 0 ended with exit code 1: NotImplementedError: sharding_type",
            ),
            (
                SMOKE_LOGS / "smoke-core-0.18.2.ep2-4-microbatches.failed.log",
                {"parity"},
                "every rank reached its last line",
            ),
            (
                LOGS / "made-megatron-lm-tee-moe.out-of-memory.log",
                {"final-loss-finite", "clean-exit"},
                "rank 2 ended with exit code 1: OutOfMemoryError: CUDA out of memory.",
            ),
            (
                LOGS / "made-srun-labels.oom-kill.log",
                {"final-loss-finite", "clean-exit"},
                "out-of-memory: slurmstepd: error: Detected 1 oom_kill event",
            ),
            (
                LOGS / "made-megatron-lm-undated.cut.log",
                {"final-loss-finite", "every-iteration-finite"},
                "neither an end nor a failure is in the log",
            ),
        ],
        ids=lambda value: value.name if isinstance(value, Path) else None,
    )
    def test_failed(
        self, report: Callable[..., tuple[int, Any]], log: Path, failed: set[str], cause: str
    ) -> None:
        code, block = report(log)
        assert code == 1
        assert {name for name, verdict in verdicts(block).items() if verdict == "failed"} == failed
        (end,) = [each["value"] for each in block["criteria"] if each["id"] == "clean-exit"]
        assert end.startswith(cause)

    def test_text_shows_the_cause(self, capsys: Capture) -> None:
        assert verify("--from-log", LOGS / f"{PREFIX}mfsdp-pp2.failed.log") == 1
        text = " ".join(capsys.readouterr().out.split())
        assert "EinopsError" in text
        assert text.endswith("result: failed")


def cuts(data: bytes, end: int, spread: int) -> list[int]:
    """Offsets up to ``end``: evenly spread, and inside of every line that says something."""
    told = re.compile(
        rb"iteration +\d+/|test session starts|\d passed,|after training is done|\"event\":|successfully"
    )
    inside = {found.start() + step for found in told.finditer(data) for step in (0, 5, 40, 160, 250, 310)}
    return sorted({*range(0, end, end // spread), *(each for each in inside if each < end), end - 1, end})


class TestCutLogs:
    """However much of a log is there: without its end it is no pass."""

    @pytest.mark.parametrize(
        ("log", "last"),
        [
            # Up to the last figure of pytest's last closing line; what follows it is decoration.
            (PASSED, re.compile(rb"1 passed, 42 warnings in \d+\.\d")),
            (SMOKE, re.compile(rb'"event": "finished", "rank": 0')),
            (DDP, re.compile(rb"after training is done\] datetime")),
        ],
        ids=["pytest", "smoke", "training"],
    )
    def test_is_never_a_pass(self, log: Path, last: re.Pattern[bytes]) -> None:
        data = log.read_bytes()
        card = load_card(ROOT / "skills" / SKILL / "card.yaml")
        end = [found.end() for found in last.finditer(data)][-1]
        offsets = cuts(data, end, spread=400)
        passed = [
            offset
            for offset in offsets
            if judge_log(card, summarise_chunks([data[:offset]]), None, log).exit_code == 0
        ]
        assert passed == []
        assert judge_log(card, summarise_chunks([data]), None, log).exit_code == 0

    def test_through_the_command_line(self, tmp_path: Path, capsys: Capture) -> None:
        data = PASSED.read_bytes()
        log = tmp_path / "cut.log"
        codes = {}
        for offset in cuts(data, data.rindex(b"1 passed"), spread=50):
            log.write_bytes(data[:offset])
            codes[offset] = verify("--from-log", log)
            assert capsys.readouterr().out.endswith(("result: failed\n", "result: not verified\n"))
        assert len(codes) > 60
        assert set(codes.values()) <= {1, 3}


class TestFilesOfAllKinds:
    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\n",
            b"\x00" * 5000,
            bytes(range(256)) * 500,
            b"\x7fELF" + b"\xff\xfe" * 9999,
            b"\xef\xbb\xbf",
        ],
        ids=["empty", "newline", "zeros", "bytes", "elf", "mark"],
    )
    def test_no_log_at_all_is_a_failure(
        self, report: Callable[..., tuple[int, Any]], tmp_path: Path, data: bytes
    ) -> None:
        log = tmp_path / "x.log"
        log.write_bytes(data)
        code, block = report(log)
        assert code == 1
        assert verdicts(block)["final-loss-finite"] == "failed"
        assert "passed" not in verdicts(block).values()

    @pytest.mark.parametrize("form", ["text", "json", "junit"])
    def test_a_log_that_names_what_cannot_be_printed(self, tmp_path: Path, form: str) -> None:
        log = tmp_path / "x.log"
        log.write_text('[mbridge-skills] {"event": "cannot-run", "reason": "\\ud800\\u001b[31m"}\n')
        words = [sys.executable, "-m", "mbridge_skills", "run", "verify", "--bundle", str(ROOT)]
        done = subprocess.run(
            [*words, "--from-log", str(log), "--format", form], capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (3, b"")
        assert b"\x1b" not in done.stdout

    def test_missing(self, tmp_path: Path, capsys: Capture) -> None:
        assert verify("--from-log", tmp_path / "x.log") == 2
        assert (
            capsys.readouterr().err
            == f"error: {tmp_path}/x.log: cannot read the log: No such file or directory\n"
        )

    def test_folder(self, tmp_path: Path, capsys: Capture) -> None:
        assert verify("--from-log", tmp_path) == 2
        assert capsys.readouterr().err == f"error: {tmp_path}: cannot read the log: Is a directory\n"

    def test_gzipped(self, report: Callable[..., tuple[int, Any]], tmp_path: Path) -> None:
        log = tmp_path / "x.log.gz"
        log.write_bytes(gzip.compress(PASSED.read_bytes()))
        assert report(log)[0] == 0

    def test_gzipped_under_another_name(self, report: Callable[..., tuple[int, Any]], tmp_path: Path) -> None:
        log = tmp_path / "x.log"
        log.write_bytes(gzip.compress(PASSED.read_bytes()))
        assert report(log)[0] == 0

    @pytest.mark.parametrize("length", [3, 15, 500, -100, -9, -1])
    def test_gzipped_and_cut(self, tmp_path: Path, capsys: Capture, length: int) -> None:
        log = tmp_path / "x.log.gz"
        log.write_bytes(gzip.compress(PASSED.read_bytes())[:length])
        assert verify("--from-log", log) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith(f"error: {log}: cannot read the log: ")
        assert len(captured.err.splitlines()) == 1

    def test_gzipped_with_a_wrong_sum(self, tmp_path: Path, capsys: Capture) -> None:
        data = bytearray(gzip.compress(PASSED.read_bytes()))
        data[-8] ^= 0xFF
        log = tmp_path / "x.log.gz"
        log.write_bytes(data)
        assert verify("--from-log", log) == 2
        assert "CRC check failed" in capsys.readouterr().err

    def test_gzipped_and_damaged(self, tmp_path: Path, capsys: Capture) -> None:
        data = bytearray(gzip.compress(PASSED.read_bytes()))
        data[2000:2100] = bytes(100)
        log = tmp_path / "x.log.gz"
        log.write_bytes(data)
        assert verify("--from-log", log) == 2
        error = capsys.readouterr().err
        assert "damaged gzip data" in error or "CRC check failed" in error
