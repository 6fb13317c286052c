from __future__ import annotations

from typing import Any

import pytest

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.errors import InputError
from mbridge_skills.releases.table import (
    ABSENT,
    CORE_OF_BRIDGE,
    NEWEST,
    REFERENCE_MODEL,
    default,
    is_path,
    nearest,
    release_of,
)


@pytest.mark.parametrize(
    ("path", "release", "expected"),
    [
        ("ddp.use_megatron_fsdp", "0.3.0", False),
        ("ddp.data_parallel_sharding_strategy", "0.6.2", "no_shard"),
        ("checkpoint.ckpt_format", "0.6.2", "torch_dist"),
        ("checkpoint.also_save_hf_checkpoint", "0.5.1", ABSENT),
        ("checkpoint.also_save_hf_checkpoint", "0.6.0", False),
        ("ddp.preserve_fp32_weights", "0.3.1", True),
        ("ddp.preserve_fp32_weights", "0.4.0", ABSENT),
        ("ddp.megatron_fsdp_main_params_dtype", "0.6.2", "torch.float32"),
        ("dist.use_gloo_process_groups", "0.4.2", True),
        ("model.bf16", "0.6.2", False),
        ("model.tensor_model_parallel_size", "0.6.2", 1),
        ("model.num_layers", "0.6.2", UNKNOWN),
        ("model.gradient_accumulation_fusion", "0.6.2", UNKNOWN),  # True where a kernel is installed
        ("rerun_state_machine.check_for_nan_in_loss", "0.6.2", True),
        ("mixed_precision.fp8_recipe", "0.6.2", None),
        ("peft", "0.6.2", None),
    ],
)
def test_default(path: str, release: str, expected: Any) -> None:
    found = default(path, release)
    assert found == expected
    assert type(found) is type(expected)


def test_a_path_that_no_release_has() -> None:
    assert not is_path("ddp.use_megatron_fdsp")
    with pytest.raises(KeyError):
        default("ddp.use_megatron_fdsp", NEWEST)


def test_the_reference_model_has_paths_of_all_releases() -> None:
    for path in REFERENCE_MODEL:
        assert all(default(path, release) is not ABSENT for release in CORE_OF_BRIDGE), path


@pytest.mark.parametrize(
    ("bridge", "expected"),
    [
        ("0.3.0", "0.3.0"),
        ("0.6.1", "0.6.0"),
        ("0.6.2.post1", "0.6.2"),
        ("0.6.0rc0", "0.6.0"),
        ("0.6.0+g12ab", "0.6.0"),
        ("0.7.0.dev1", "0.6.2"),
        ("1.0", "0.6.2"),
    ],
)
def test_nearest(bridge: str, expected: str) -> None:
    assert nearest(bridge) == expected


@pytest.mark.parametrize("bridge", ["0.2.0", "0.3.0.dev0.x", "main", ""])
def test_nearest_refuses(bridge: str) -> None:
    with pytest.raises(InputError):
        nearest(bridge)


def test_release_of() -> None:
    assert (release_of().bridge, release_of().core) == (NEWEST, CORE_OF_BRIDGE[NEWEST])
    assert release_of("0.5.1").core == "0.18.2"
    assert release_of("0.5.1", "0.18.0").core == "0.18.0"
    with pytest.raises(InputError, match="no release number"):
        release_of("0.5.1", "main")
