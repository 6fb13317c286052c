from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mbridge_skills.config.view import UNKNOWN, Origin, Setting, TrainingConfig
from mbridge_skills.gotchas.gotcha import Gotcha
from mbridge_skills.gotchas.judge import Judge, Judgement
from mbridge_skills.gotchas.load import load_gotcha, load_gotchas
from mbridge_skills.releases.table import release_of

SKILL = Path(__file__).parents[2] / "skills" / "nemo-mbridge-perf-megatron-fsdp"


@pytest.fixture(scope="module")
def gotchas() -> tuple[Gotcha, ...]:
    return load_gotchas(SKILL)


def judged(
    gotchas: tuple[Gotcha, ...], settings: dict[str, Any], bridge: str = "0.6.2", **rest: Any
) -> Judgement:
    values = {path: Setting(value, Origin(note="test")) for path, value in settings.items()}
    return Judge(gotchas, release_of(bridge)).judge(TrainingConfig("test", None, values, **rest))


def codes(judgement: Judgement) -> set[str]:
    return {finding.code for finding in judgement.findings}


FSDP = {"ddp.use_megatron_fsdp": True, "checkpoint.save": "/ckpt"}


def test_unset_paths_have_the_defaults_of_the_release(gotchas: tuple[Gotcha, ...]) -> None:
    judgement = judged(gotchas, FSDP)
    found = next(finding for finding in judgement.findings if finding.code == "MB101")
    assert found.message == "Megatron-FSDP requires the fsdp_dtensor checkpointing format!"
    assert judgement.verdict == "error"


def test_the_message_is_that_of_the_release(gotchas: tuple[Gotcha, ...]) -> None:
    found = next(one for one in judged(gotchas, FSDP, "0.4.2").findings if one.code == "MB101")
    assert found.message == "Megatron FSDP only supports fsdp_dtensor checkpoint format"


def test_an_unknown_value_is_not_its_default(gotchas: tuple[Gotcha, ...]) -> None:
    judgement = judged(gotchas, {**FSDP, "checkpoint.ckpt_format": UNKNOWN})
    assert "MB101" not in codes(judgement)
    assert "MB101" in {gotcha.code for gotcha in judgement.undecided}
    assert judgement.verdict == "unknown"


def test_what_opaque_code_may_have_set_is_unknown(gotchas: tuple[Gotcha, ...]) -> None:
    opaque = judged(gotchas, FSDP, opaque=frozenset({"checkpoint"}))
    assert "MB101" in {gotcha.code for gotcha in opaque.undecided}
    elsewhere = judged(gotchas, FSDP, opaque=frozenset({"dataset", "check"}))
    assert "MB101" in codes(elsewhere)


def test_environment(gotchas: tuple[Gotcha, ...]) -> None:
    settings = {**FSDP, "checkpoint.ckpt_format": "fsdp_dtensor"}
    for value, decided in (("1", True), ("8", False), (None, False)):
        variable = {"CUDA_DEVICE_MAX_CONNECTIONS": Setting(value, Origin())}
        assert ("MB501" in codes(judged(gotchas, settings, environment=variable))) is decided
    assert "MB501" in {gotcha.code for gotcha in judged(gotchas, settings).undecided}


@pytest.mark.parametrize(("world_size", "found"), [(4, True), (8, False), (12, True), (16, False)])
def test_world_size(gotchas: tuple[Gotcha, ...], world_size: int, found: bool) -> None:
    settings = {"model.tensor_model_parallel_size": 4, "model.context_parallel_size": 2}
    assert ("MB304" in codes(judged(gotchas, settings, world_size=world_size))) is found


def test_an_unknown_world_size_decides_nothing(gotchas: tuple[Gotcha, ...]) -> None:
    judgement = judged(gotchas, {"model.tensor_model_parallel_size": 4})
    assert "MB304" in {gotcha.code for gotcha in judgement.undecided}


def test_a_silent_change_names_only_what_changes(gotchas: tuple[Gotcha, ...]) -> None:
    one = judged(gotchas, {"ddp.use_megatron_fsdp": True, "optimizer.use_distributed_optimizer": True})
    changes = {path: value for finding in one.findings for path, value in finding.becomes.items()}
    assert changes == {"dist.use_megatron_fsdp": True, "ddp.use_distributed_optimizer": True}
    both = judged(gotchas, {"ddp.use_megatron_fsdp": True, "dist.use_megatron_fsdp": True}, "0.4.2")
    assert not [finding for finding in both.findings if finding.becomes]


def test_a_value_taken_from_another_setting(gotchas: tuple[Gotcha, ...]) -> None:
    judgement = judged(gotchas, {"model.num_moe_experts": 8, "model.ffn_hidden_size": 96})
    found = next(finding for finding in judgement.findings if finding.code == "MB322")
    assert found.becomes == {"model.moe_ffn_hidden_size": 96}


def test_an_unknown_engine_leaves_it_open(gotchas: tuple[Gotcha, ...]) -> None:
    settings = {f"env:{name}": None for name in ("CUDA_DEVICE_MAX_CONNECTIONS", "NVTE_CPU_OFFLOAD_V1")}
    settings |= {
        "model.fine_grained_activation_offloading": True,
        "model.transformer_impl": "transformer_engine",
    }
    outcomes = []
    for versions in ({}, {"transformer-engine": "2.9.0"}, {"transformer-engine": "2.10.0"}):
        judgement = Judge(gotchas, release_of("0.6.2"), versions=versions).judge_flat(settings)
        open_codes = {gotcha.code for gotcha in judgement.undecided}
        outcomes.append(("MB426" in codes(judgement), "MB426" in open_codes))
    assert outcomes == [(False, True), (False, False), (True, False)]


def gotcha_of(folder: Path, applies: str) -> Gotcha:
    path = folder / "MB999-a.md"
    path.write_text(
        f"---\ncode: MB999\ntitle: t\nseverity: error\nconfidence: proved\napplies: {{{applies}}}\n"
        "when: ddp.use_megatron_fsdp\neffect:\n  phase: validation\n  raises:\n"
        "    - {exception: ValueError, message: m}\nsources: [s]\n---\n\nText.\n"
    )
    return load_gotcha(path)


@pytest.mark.parametrize(
    ("applies", "verdict"),
    [
        ('megatron-bridge: ">=0.6"', "error"),
        ('megatron-bridge: "<0.6"', "ok"),
        ('megatron-core: ">=0.19", megatron-bridge: ">=0.6"', "error"),
        ('megatron-core: "<0.19", megatron-bridge: ">=0.6"', "ok"),
        ('torch: ">=2.9"', "unknown"),
        ('torch: ">=2.9", megatron-core: "<0.19"', "ok"),
    ],
)
def test_applicability(tmp_path: Path, applies: str, verdict: str) -> None:
    judge = Judge([gotcha_of(tmp_path, applies)], release_of("0.6.2"))
    assert judge.judge_flat({"ddp.use_megatron_fsdp": True}).verdict == verdict
    assert judge.judge_flat({"ddp.use_megatron_fsdp": False}).verdict == "ok"
