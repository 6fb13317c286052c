"""The bundle of this repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from mbridge_skills.bundle.locate import find_bundle
from mbridge_skills.bundle.validate import validate_bundle
from mbridge_skills.card.load import load_card
from mbridge_skills.card.model import Card
from mbridge_skills.card.validate import validate

ROOT = Path(__file__).parents[2]
FSDP = "nemo-mbridge-perf-megatron-fsdp"


@pytest.fixture(scope="module")
def card() -> Card:
    return load_card(ROOT / "skills" / FSDP / "card.yaml")


def test_bundle_is_valid() -> None:
    assert validate_bundle(ROOT) == []


def test_every_card_is_valid() -> None:
    for skill in find_bundle(ROOT).skills.values():
        assert validate(skill.card_path) == []


def test_every_report_that_is_named_is_there() -> None:
    for skill in find_bundle(ROOT).skills.values():
        for run in load_card(skill.card_path).runs:
            assert run.report is None or (skill.folder / run.report).is_file()


def test_fsdp_minimal_override(card: Card) -> None:
    assert card.recommended_path == {
        "dist.use_megatron_fsdp": True,
        "ddp.use_megatron_fsdp": True,
        "ddp.data_parallel_sharding_strategy": "optim_grads_params",
        "ddp.average_in_collective": False,
        "checkpoint.ckpt_format": "fsdp_dtensor",
    }


@pytest.mark.parametrize(
    ("bridge", "core", "added"),
    [
        ("0.3.1", "0.16.1", {"ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"}),
        ("0.4.2", "0.17.1", {"ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"}),
        ("0.5.1", "0.18.2", set()),
        ("0.6.2", "0.19.2", {"ddp.megatron_fsdp_main_grads_dtype"}),
        ("0.6.0", "0.19.0rc0", {"ddp.megatron_fsdp_main_grads_dtype"}),
    ],
)
def test_fsdp_settings_by_release(card: Card, bridge: str, core: str, added: set[str]) -> None:
    settings, undecided = card.settings_for({"megatron-bridge": bridge, "megatron-core": core})
    assert {setting.key for setting in settings} - set(card.recommended_path) == added
    assert undecided == []


def test_fsdp_verify_blocks(card: Card) -> None:
    assert [(block.id, block.tier, block.label) for block in card.verify] == [
        ("cpu-smoke", "cpu", "cpu-simulated"),
        ("gpu-smoke", "gpu", "gpu"),
        ("bridge-functional", "bridge", "gpu"),
    ]
    cpu, gpu, _ = card.verify
    assert cpu.criteria == gpu.criteria
    assert [word.replace("cuda", "cpu") for word in gpu.command] == list(cpu.command)
