from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mbridge_skills.card.record import record_run
from mbridge_skills.cli.list import command
from mbridge_skills.cli.main import run

ROOT = Path(__file__).parents[2]
FSDP = "nemo-mbridge-perf-megatron-fsdp"


def _bundle(root: Path, card: str) -> Path:
    folder = root / "skills" / "example-skill"
    folder.mkdir(parents=True)
    (root / "card.yaml").write_text("schema: bundle/1\nname: example\nsummary: An example.\nskills: []\n")
    (folder / "SKILL.md").write_text("---\nname: example-skill\n---\n")
    (folder / "card.yaml").write_text(card)
    return root


def test_text() -> None:
    result = CliRunner().invoke(command, ["--bundle", str(ROOT)])
    assert result.exit_code == 0
    head, row, *more = result.output.splitlines()
    assert head.split() == ["Skill", "Level", "Stability", "Validated"]
    assert row.split()[:3] == [FSDP, "conditional", "beta"]
    assert max(map(len, (head, row, *more))) <= 80


def test_name_stays_whole_beside_a_long_validation(tmp_path: Path) -> None:
    root = tmp_path / "bundle"
    shutil.copytree(ROOT / "skills", root / "skills")
    shutil.copy(ROOT / "card.yaml", root / "card.yaml")
    card = root / "skills" / FSDP / "card.yaml"
    for block, tier, label in (("cpu-smoke", "cpu", "cpu-simulated"), ("gpu-smoke", "gpu", "gpu")):
        given = {"date": "2099-01-01", "block": block, "tier": tier, "label": label, "verdict": "passed"}
        record_run(card, {**given, "versions": {"megatron-core": "0.19.2"}, "command": ["python"]})
    result = CliRunner().invoke(command, ["--bundle", str(root)])
    assert result.output.split()[4:] == [
        FSDP, "conditional", "beta", "2099-01-01", "cpu-simulated,", "gpu",
    ]  # fmt: skip
    assert max(map(len, result.output.splitlines())) <= 80


def test_json() -> None:
    result = CliRunner().invoke(command, ["--bundle", str(ROOT), "--format", "json"])
    data = json.loads(result.output)
    assert data["format"] == "skill-list/1"
    assert data["bundle"] == {"name": "mbridge-skills", "root": str(ROOT), "source": "option"}
    (skill,) = data["skills"]
    assert skill["name"] == FSDP
    assert [block["tier"] for block in skill["verify"]] == ["cpu", "gpu", "bridge"]
    assert Path(skill["card"]).is_file()


def test_colour_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    environment["TERM"] = "xterm-256color"
    words = [sys.executable, "-m", "mbridge_skills", "list", "--bundle", str(ROOT)]

    def output(**extra: str) -> str:
        done = subprocess.run(words, env=environment | extra, capture_output=True, text=True, check=True)
        return done.stdout

    assert "\x1b[" not in output()
    assert "\x1b[33mconditional" in output(FORCE_COLOR="1")
    assert "\x1b[33m" not in output(FORCE_COLOR="1", NO_COLOR="1")


def test_bundle_without_skills(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    (tmp_path / "card.yaml").write_text("schema: bundle/1\nname: example\nsummary: An example.\nskills: []\n")
    result = CliRunner().invoke(command, ["--bundle", str(tmp_path)])
    assert "has no skills" in " ".join(result.output.split())


def test_invalid_card_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = _bundle(tmp_path, "schema: card/1\n")
    assert run(["list", "--bundle", str(root)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert 'missing key "title"' in captured.err


def test_no_bundle_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "--bundle", str(tmp_path / "nowhere")]) == 2
    assert "no such folder" in capsys.readouterr().err
