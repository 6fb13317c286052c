"""What is trained: a small GPT, wrapped by Megatron FSDP or by DDP, with its optimizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from megatron.core.distributed import (
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.distributed.fsdp.mcore_fsdp_adapter import FullyShardedDataParallel
from megatron.core.models.gpt.gpt_layer_specs import (
    get_gpt_layer_local_spec,
    get_gpt_layer_with_transformer_engine_spec,
)
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.transformer_config import TransformerConfig

from mbridge_skills.smoke import shape
from mbridge_skills.smoke.options import Options
from mbridge_skills.smoke.world import World


@dataclass
class Trainee:
    """A wrapped model and its optimizer, ready for Megatron's schedule."""

    config: TransformerConfig
    model: Any  # FullyShardedDataParallel or DistributedDataParallel
    optimizer: Any  # MegatronOptimizer


def with_fsdp(options: Options, world: World, ddp: DistributedDataParallelConfig, *, seed: int) -> Trainee:
    """A new model with weights from ``seed``, wrapped by Megatron FSDP as ``ddp`` says."""
    config, model = _build(options, world, seed)
    wrapped = FullyShardedDataParallel(config=config, ddp_config=ddp, module=model, device=world.device)
    return _trainee(options, config, wrapped, ddp, gathers_params_itself=True)


def with_reference(options: Options, world: World, *, seed: int) -> Trainee:
    """The same model under DDP with the distributed optimizer: what FSDP is held against."""
    config, model = _build(options, world, seed)
    ddp = DistributedDataParallelConfig(
        use_distributed_optimizer=True, average_in_collective=False, grad_reduce_in_fp32=True
    )
    wrapped = DistributedDataParallel(config=config, ddp_config=ddp, module=model)
    wrapped.broadcast_params()
    return _trainee(options, config, wrapped, ddp, gathers_params_itself=False)


def _build(options: Options, world: World, seed: int) -> tuple[TransformerConfig, torch.nn.Module]:
    config = _transformer_config(options)
    torch.manual_seed(seed)
    model_parallel_cuda_manual_seed(seed)
    if options.transformer_impl == "local":
        spec = get_gpt_layer_local_spec(num_experts=options.experts or None)
    else:
        spec = get_gpt_layer_with_transformer_engine_spec(num_experts=options.experts or None)
    model = GPTModel(
        config=config,
        transformer_layer_spec=spec,
        vocab_size=shape.VOCABULARY,
        max_sequence_length=shape.SEQUENCE_LENGTH,
    ).to(world.device)
    return config, Float16Module(config, model) if config.bf16 else model


def _transformer_config(options: Options) -> TransformerConfig:
    experts: dict[str, Any] = {}
    if options.experts:
        experts = {
            "num_moe_experts": options.experts,
            "moe_router_topk": min(2, options.experts),
            "expert_model_parallel_size": options.ep,
            "moe_token_dispatcher_type": options.dispatcher,
            "add_bias_linear": False,
        }
    dtype = torch.bfloat16 if options.dtype == "bf16" else torch.float32
    return TransformerConfig(
        num_layers=shape.NUM_LAYERS,
        hidden_size=shape.HIDDEN_SIZE,
        num_attention_heads=shape.NUM_ATTENTION_HEADS,
        # The same weights on every device, so that runs can be compared across devices.
        use_cpu_initialization=True,
        attention_dropout=0.0,
        hidden_dropout=0.0,
        bf16=options.dtype == "bf16",
        params_dtype=dtype,
        pipeline_dtype=dtype,
        gradient_accumulation_fusion=False,
        tensor_model_parallel_size=options.tp,
        context_parallel_size=options.cp,
        # Megatron-Core trains experts under tensor parallelism with sequence parallelism only.
        sequence_parallel=bool(options.experts) and options.tp > 1,
        **experts,
    )


def _trainee(
    options: Options,
    config: TransformerConfig,
    wrapped: Any,
    ddp: DistributedDataParallelConfig,
    *,
    gathers_params_itself: bool,
) -> Trainee:
    optimizer = get_megatron_optimizer(
        OptimizerConfig(
            optimizer="adam",
            lr=shape.LEARNING_RATE,
            weight_decay=0.0,
            # Clipping would hide a wrong gradient scale; the norm is still computed and logged.
            clip_grad=1e9,
            bf16=options.dtype == "bf16",
            params_dtype=config.params_dtype,
            use_distributed_optimizer=True,
        ),
        [wrapped],
    )
    # The hooks through which Megatron's training loop reduces gradients: the same ones, set the same way.
    config.finalize_model_grads_func = finalize_model_grads
    config.grad_scale_func = optimizer.scale_loss
    if ddp.overlap_grad_reduce:
        config.no_sync_func = wrapped.no_sync
        config.grad_sync_func = wrapped.start_grad_sync
    if ddp.overlap_param_gather and not gathers_params_itself:
        config.param_sync_func = wrapped.start_param_sync
    return Trainee(config, wrapped, optimizer)
