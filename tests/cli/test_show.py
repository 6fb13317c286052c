from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from mbridge_skills.card.load import load_card
from mbridge_skills.cli.main import run
from mbridge_skills.cli.show import command

ROOT = Path(__file__).parents[2]
FSDP = "nemo-mbridge-perf-megatron-fsdp"


@pytest.fixture
def two_skills(tmp_path: Path) -> Path:
    root = tmp_path / "bundle"
    shutil.copytree(ROOT / "skills", root / "skills")
    shutil.copy(ROOT / "card.yaml", root / "card.yaml")
    other = root / "skills" / "other-skill"
    shutil.copytree(root / "skills" / FSDP, other)
    card = other / "card.yaml"
    card.write_text(card.read_text().replace(f"name: {FSDP}", "name: other-skill"))
    return root


def test_only_skill_needs_no_name() -> None:
    result = CliRunner().invoke(command, ["--bundle", str(ROOT)])
    assert result.exit_code == 0
    assert result.output.startswith(FSDP)
    assert '  ddp.data_parallel_sharding_strategy = "optim_grads_params"\n' in result.output
    assert "    ddp.megatron_fsdp_main_grads_dtype = torch.float32\n" in result.output
    assert "  cpu-smoke  tier cpu, evidence cpu-simulated\n" in result.output
    assert all(line == line.rstrip() for line in result.output.splitlines())


def test_json_is_the_card() -> None:
    result = CliRunner().invoke(command, [FSDP, "--bundle", str(ROOT), "--format", "json"])
    card = load_card(ROOT / "skills" / FSDP / "card.yaml")
    assert json.loads(result.output) == card.data
    assert json.loads(result.output)["schema"] == "card/1"


def test_name_is_needed_with_two(two_skills: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "--bundle", str(two_skills)]) == 2
    assert f"has: {FSDP}, other-skill" in capsys.readouterr().err
    assert run(["show", "other-skill", "--bundle", str(two_skills)]) == 0
    assert capsys.readouterr().out.startswith("other-skill")


def test_unknown_skill(two_skills: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "other-skil", "--bundle", str(two_skills)]) == 2
    assert "help: did you mean other-skill?" in capsys.readouterr().err
