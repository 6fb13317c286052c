"""Whole files, in the shapes that people write them in."""

from pathlib import Path

import pytest

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.readers import combine, read, read_text

EXAMPLES = Path(__file__).parents[1] / "fixtures/readers"


def values(config, *, defaults=True):
    return {
        path: setting.value
        for path, setting in config.settings.items()
        if defaults or not (setting.origin.note or "").startswith("default")
    }


def test_a_sweep_for_slurm():
    first, second = read(EXAMPLES / "sweep.sbatch")
    assert values(first) == {
        "train.train_iters": 20,
        "model.tensor_model_parallel_size": 1,
        "model.expert_model_parallel_size": 8,
        "checkpoint.save": "/shared/out_tp1",
        "ddp.use_megatron_fsdp": True,
        "checkpoint.ckpt_format": "fsdp_dtensor",
    }
    assert values(second) == {
        "train.train_iters": 20,
        "model.tensor_model_parallel_size": 2,
        "model.expert_model_parallel_size": 1,
        "checkpoint.save": "/shared/out_tp2",
    }
    assert first.world_size == second.world_size == 32
    assert first.conditions == second.conditions == ()
    assert first.environment["CUDA_DEVICE_MAX_CONNECTIONS"].value == "1"
    assert first.environment["WANDB_API_KEY"].value is UNKNOWN
    assert first.settings["ddp.use_megatron_fsdp"].origin.line == 31
    assert first.settings["checkpoint.save"].origin.note == "unless ROOT is set in the environment"


def test_megatron_arguments_with_a_switch():
    on, off = read(EXAMPLES / "pretrain.sh")
    common = {
        "model.num_layers": 32,
        "model.seq_length": 4096,
        "dataset.seq_length": 4096,
        "model.bf16": True,
        "optimizer.bf16": True,
        "model.share_embeddings_and_output_weights": False,
        "train.global_batch_size": 128,
        "ddp.use_distributed_optimizer": True,
        "optimizer.use_distributed_optimizer": True,
        "checkpoint.save": UNKNOWN,
        "model.fp8": "hybrid",
    }
    assert values(off, defaults=False) == common
    assert values(on, defaults=False) == {
        **common,
        "ddp.use_megatron_fsdp": True,
        "model.gradient_accumulation_fusion": False,
        "checkpoint.ckpt_format": "fsdp_dtensor",
    }
    assert (on.conditions, off.conditions) == (("USE_FSDP == 1",), ("USE_FSDP != 1",))
    assert on.environment["CUDA_DEVICE_MAX_CONNECTIONS"].value is None
    assert off.environment["CUDA_DEVICE_MAX_CONNECTIONS"].value == "1"
    assert on.world_size == 8


def test_recipes():
    own, changed = read(EXAMPLES / "recipes.py")
    assert values(own) == {
        "train.train_iters": 10,
        "train.global_batch_size": 16,
        "ddp.overlap_grad_reduce": True,
        "ddp.overlap_param_gather": True,
        "ddp.average_in_collective": False,
        "ddp.use_megatron_fsdp": True,
        "ddp.data_parallel_sharding_strategy": "optim_grads_params",
        "checkpoint.save": "/results/default/checkpoints",
        "checkpoint.load": None,
        "checkpoint.ckpt_format": "fsdp_dtensor",
        "mixed_precision": "bf16_mixed",
    }
    assert not own.opaque
    assert values(changed) == {
        "model.seq_length": UNKNOWN,
        "optimizer.main_grads_dtype": "torch.float32",
        "model.context_parallel_size": UNKNOWN,
        "train.manual_gc": False,
        "train.skip_train": False,
    }
    assert changed.covers("ddp.use_megatron_fsdp")
    assert own.environment["NCCL_DEBUG"].value == "WARN"
    assert not changed.environment


def test_layers_take_effect_in_order():
    own, _ = read(EXAMPLES / "recipes.py")
    launch, _ = read(EXAMPLES / "sweep.sbatch")
    (overrides,) = read_text("overrides", "checkpoint.ckpt_format=torch_dist")
    config = combine([own, launch, overrides])
    assert config.settings["checkpoint.ckpt_format"].value == "torch_dist"
    assert config.settings["train.train_iters"].value == 20
    assert config.settings["train.global_batch_size"].value == 16
    assert config.world_size == 32
    assert not config.opaque


@pytest.mark.parametrize("file", sorted(EXAMPLES.iterdir()), ids=lambda file: file.name)
def test_every_origin_is_in_the_file(file):
    lines = file.read_text().splitlines()
    for config in read(file):
        for setting in config.settings.values():
            origin = setting.origin
            if origin.line is not None:
                assert origin.path == file
                assert 1 <= origin.column <= len(lines[origin.line - 1])
