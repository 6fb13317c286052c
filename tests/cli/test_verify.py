from __future__ import annotations

import json
import os
import pty
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
from mbridge_skills.verify import machine

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
                "help: leave out either --write-card or --processes and the options after --",
            ),
            (["--write-card", "--processes", "4"], "is not the run that the card describes"),
            (["--processes", "1"], "1 is not in the range x>=2"),
            (["--from-log", DDP, "--processes", "4"], "--processes and --from-log exclude each other"),
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
