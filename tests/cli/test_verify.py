from __future__ import annotations

import gzip
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mbridge_skills.card.load import load_card
from mbridge_skills.cli.main import run
from mbridge_skills.logs.summary import summarise_chunks
from mbridge_skills.verify import machine
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


class TestUsage:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--block", "cpu-smoke"], "--block goes with --from-log; a run is chosen by --tier"),
            (["--from-log", DDP, "--bridge", "/x"], "--bridge and --from-log exclude each other"),
            (["--from-log", DDP, "--tier", "gpu"], "--tier and --from-log exclude each other"),
            (["--from-log", DDP, "--timeout", "5"], "help: leave out --timeout, or --from-log"),
            (["--from-log", DDP, "--stall", "5"], "--stall and --from-log exclude each other"),
            (["--from-log", DDP, "--report", "/x"], "--report and --from-log exclude each other"),
            (
                ["--from-log", DDP, "--", "--tp", "2"],
                "options after -- and --from-log exclude each other: nothing is run",
            ),
            (
                ["--from-log", DDP, "--write-card"],
                "help: leave out --write-card, or run the verification",
            ),
            (
                ["--from-log", DDP, "--block", "smoke"],
                "no verify block 'smoke' (there are: cpu-smoke, gpu-smoke, bridge-functional)",
            ),
            (["--tier", "cpu", "--", "--no-such"], "unrecognized arguments: --no-such"),
            (["--tier", "cpu", "--", "--iterations", "1"], "--iterations must be at least 2"),
            (["--tier", "cpu", "--", "--device", "cuda"], "help: choose the device by --tier"),
            (
                ["--write-card", "--", "--tp", "2"],
                "help: leave out either --write-card or the options after --",
            ),
            (["--tier", "tpu"], "'tpu' is not one of 'auto', 'cpu', 'gpu', 'bridge'"),
            (["--timeout", "0"], "0.0 is not in the range x>0"),
            (["--stall", "-1"], "-1.0 is not in the range x>0"),
            (["--timeout", "soon"], "'soon' is not a valid float"),
            (["--format", "xml"], "'xml' is not one of 'text', 'json', 'junit'"),
            (["--no-such"], "No such option"),
            (["one", "two"], "unexpected extra argument"),
            (["nemo-mbridge-perf-megatron-fdsp"], f"help: did you mean {SKILL}?"),
            (["other"], f"no skill 'other' in the bundle at {ROOT} (it has: {SKILL})"),
            (["--tier", "bridge", "--bridge", "/no/such/folder"], "help: --bridge DIR of a checkout"),
            (["--report", DDP, "--tier", "gpu"], "cannot make the report folder: File exists"),
        ],
    )  # fmt: skip
    def test_refused(self, capsys: Capture, words: list[str | Path], message: str) -> None:
        assert verify(*words) == 2
        captured = capsys.readouterr()
        assert message in captured.err
        assert "Traceback" not in captured.err
        assert captured.out == ""

    def test_an_invalid_card(self, tmp_path: Path, capsys: Capture) -> None:
        shutil.copytree(ROOT / "skills", tmp_path / "skills")
        shutil.copy(ROOT / "card.yaml", tmp_path / "card.yaml")
        card = tmp_path / "skills" / SKILL / "card.yaml"
        text = (
            card.read_text()
            .replace("level: conditional", "level: perhaps")
            .replace("stability:", "stabilty:")
        )
        card.write_text(text)
        lines = text.splitlines()
        assert run(["run", "verify", "--bundle", str(tmp_path), "--from-log", str(DDP)]) == 2
        error = capsys.readouterr().err
        level, stability = (
            next(number for number, line in enumerate(lines, 1) if line.startswith(start))
            for start in ("level:", "stabilty:")
        )
        assert f"{card}:{level}:1: /level: expected one of" in error
        assert f"{card}:{stability}:1" in error
        assert "Traceback" not in error

    def test_help_names_the_exit_codes(self, capsys: Capture) -> None:
        assert run(["run", "verify", "--help"]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "0 passed, 1 failed, 2 usage or configuration, 3 could not run (not verified)" in text
        assert "[-- SMOKE OPTIONS]" in text


class TestNotVerified:
    @pytest.fixture(autouse=True)
    def no_gpu(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """Whatever the machine has, it is hidden."""
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        machine.visible_gpus.cache_clear()
        yield
        machine.visible_gpus.cache_clear()

    def test_gpu(self, capsys: Capture) -> None:
        assert verify("--tier", "gpu") == 3
        text = capsys.readouterr().out
        assert "needs 2 GPUs, none visible  (help: " in text
        assert text.endswith("result: not verified\n")

    def test_bridge(self, capsys: Capture) -> None:
        assert verify("--tier", "bridge") == 3
        assert "no Megatron-Bridge checkout given  (help: --bridge DIR)" in capsys.readouterr().out

    def test_junit_is_not_green(self, capsys: Capture) -> None:
        assert verify("--tier", "gpu", "--format", "junit") == 3
        root = ElementTree.fromstring(capsys.readouterr().out.encode())
        assert (root.get("tests"), root.get("errors"), root.get("skipped")) == ("1", "1", "0")

    def test_auto_where_nothing_can_run(self, tmp_path: Path, capsys: Capture) -> None:
        shutil.copytree(ROOT / "skills", tmp_path / "skills")
        shutil.copy(ROOT / "card.yaml", tmp_path / "card.yaml")
        card = tmp_path / "skills" / SKILL / "card.yaml"
        card.write_text(card.read_text().replace('einops: ">=0.8"', 'einops: ">=0.8", no-such-one: ">=1"'))
        assert run(["run", "verify", "--bundle", str(tmp_path), "--format", "json"]) == 3
        blocks = {block["block"]: block for block in json.loads(capsys.readouterr().out)["blocks"]}
        assert [name for name, block in blocks.items() if block["asked"]] == ["cpu-smoke"]
        assert "no-such-one is not installed" in blocks["cpu-smoke"]["reason"]
        assert blocks["cpu-smoke"]["remedy"] == "pip install 'mbridge-skills[smoke]'"
        assert blocks["gpu-smoke"]["reason"] == "needs 2 GPUs, none visible"


class TestOutput:
    def test_junit_alone_on_stdout(self, capsys: Capture) -> None:
        assert verify("--from-log", PASSED, "--format", "junit") == 0
        captured = capsys.readouterr()
        root = ElementTree.fromstring(captured.out.encode())
        assert [case.get("name") for case in root.iter("testcase")] == CRITERIA
        assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("5", "0", "0")
        assert captured.err == ""

    def test_text_when_piped(self, capsys: Capture) -> None:
        assert verify("--from-log", PASSED) == 0
        lines = capsys.readouterr().out.splitlines()
        assert "\x1b" not in "".join(lines)
        assert max(len(line) for line in lines if not line.startswith("log: ")) <= 100
        assert lines[-2:] == ["", "result: passed"]

    @pytest.mark.parametrize(
        ("environment", "coloured"),
        [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False)],
    )
    def test_on_a_terminal(self, environment: dict[str, str], coloured: bool) -> None:
        primary, secondary = pty.openpty()
        base = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
        words = [sys.executable, "-m", "mbridge_skills", "run", "verify", "--bundle", str(ROOT)]
        with subprocess.Popen(
            [*words, "--from-log", str(DDP)], stdout=secondary, env={**base, "TERM": "xterm", **environment}
        ) as process:
            os.close(secondary)
            text = b""
            try:
                while data := os.read(primary, 65536):
                    text += data
            except OSError:  # Linux's way to say that the other end is closed
                pass
        os.close(primary)
        assert process.returncode == 0
        assert (b"\x1b[32mpassed" in text) is coloured
        assert (b"\x1b" in text) is coloured


PROGRAM = (
    "import pathlib, sys;"
    " sys.stdout.buffer.write(pathlib.Path(sys.argv[1]).with_name('log').read_bytes());"
    " sys.exit(int(sys.argv[2]))"
)


class TestRunning:
    """The whole command, with a program that prints a real log in place of training."""

    @pytest.fixture
    def bundle(self, tmp_path: Path) -> Callable[[int], Path]:
        def make(status: int) -> Path:
            root = tmp_path / "bundle"
            folder = root / "skills" / "example-skill"
            folder.mkdir(parents=True)
            text = (ROOT / "tests/card/examples/strict/positive/minimal.yaml").read_text()
            command = json.dumps(["{python}", "-c", PROGRAM, "{card}", str(status)])
            (folder / "card.yaml").write_text(
                text.replace('["{python}", -m, example]', command).replace("packages: {}", "")
            )
            (folder / "SKILL.md").write_text(
                "---\nname: example-skill\ndescription: An example.\n---\nText.\n"
            )
            (folder / "log").write_bytes(SMOKE.read_bytes())
            (root / "card.yaml").write_text(
                "schema: bundle/1\nname: example\nsummary: An example.\nskills:\n  - name: example-skill\n"
                "    level: experimental\n    stability: alpha\n    last_validation: null\n"
            )
            return root

        return make

    @staticmethod
    def start(root: Path, *words: str) -> int:
        return run(["run", "verify", "--bundle", str(root), *words])

    def test_json_alone_on_stdout(self, bundle: Callable[[int], Path], capsys: Capture) -> None:
        assert self.start(bundle(0), "--format", "json") == 0
        captured = capsys.readouterr()
        assert json.loads(captured.out)["status"] == "passed"
        assert "smoke: train: iteration 1/4" in captured.err

    def test_a_passed_run_is_recorded(
        self, bundle: Callable[[int], Path], capsys: Capture, tmp_path: Path
    ) -> None:
        root = bundle(0)
        assert self.start(root, "--write-card", "--report", str(tmp_path / "kept")) == 0
        assert capsys.readouterr().err.splitlines()[-1] == "recorded in the card: smoke"
        (entry,) = load_card(root / "skills/example-skill/card.yaml").runs
        assert entry.report is not None
        kept = root / "skills/example-skill" / entry.report
        (evidence,) = (tmp_path / "kept").glob("*.json")
        assert kept.read_bytes() == evidence.read_bytes()
        assert str(tmp_path) not in kept.read_text()
        assert "on: " in (root / "card.yaml").read_text()

    def test_a_failed_run_is_not(
        self, bundle: Callable[[int], Path], capsys: Capture, tmp_path: Path
    ) -> None:
        root = bundle(1)
        before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        assert self.start(root, "--write-card", "--report", str(tmp_path / "kept")) == 1
        assert capsys.readouterr().err.splitlines()[-1] == "nothing passed: card unchanged"
        assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
