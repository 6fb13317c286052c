"""Names that conditions use for what several settings give together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from mbridge_skills.gotchas.expression import Expression, parse

_DEFINITIONS: Final[Mapping[str, str]] = {
    # Either flag turns it on: validate() copies it to the other one (Bridge, training/config.py).
    "megatron_fsdp": "ddp.use_megatron_fsdp or dist.use_megatron_fsdp",
    "saves_or_loads": "checkpoint.save is not None or checkpoint.load is not None",
    "model_parallel_size": (
        "model.tensor_model_parallel_size * model.pipeline_model_parallel_size * model.context_parallel_size"
    ),
    "data_parallel_size": "world_size // model_parallel_size",
    # From Bridge 0.6 on, experts are not split over tensor parallel ranks unless that is set
    # (models/transformer_config.py::_set_moe_expert_tensor_parallel_default).
    "expert_tensor_parallel_size": (
        'model.expert_tensor_parallel_size or (1 if bridge(">=0.6") and model.expert_model_parallel_size > 1'
        " else model.tensor_model_parallel_size)"
    ),
    "expert_data_parallel_size": (
        "world_size // (expert_tensor_parallel_size * model.expert_model_parallel_size"
        " * model.pipeline_model_parallel_size)"
    ),
    "num_microbatches": "train.global_batch_size // (train.micro_batch_size * data_parallel_size)",
    # A distributed optimizer on either side turns it on for both.
    "distributed_optimizer": "ddp.use_distributed_optimizer or optimizer.use_distributed_optimizer",
    "eval_global_batch_size": "validation.eval_global_batch_size or train.global_batch_size",
    "eval_micro_batch_size": "validation.eval_micro_batch_size or train.micro_batch_size",
    # Captured by core >= 0.18 as an implementation of its own, before that as a scope of "local".
    "full_iteration_graph": (
        'model.cuda_graph_impl == "full_iteration" or model.cuda_graph_impl == "local" and ('
        'model.cuda_graph_scope is not None and "full_iteration" in model.cuda_graph_scope or '
        'model.cuda_graph_modules is not None and "full_iteration" in model.cuda_graph_modules)'
    ),
}


@cache
def derived_names() -> Mapping[str, Expression]:
    """Each name with the expression that it stands for."""
    known: dict[str, Expression] = {}
    for name, text in _DEFINITIONS.items():
        known[name] = parse(text, known)
    return known
