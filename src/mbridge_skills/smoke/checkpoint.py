"""Saving and loading a checkpoint of a Megatron FSDP model and its optimizer.

``fsdp_dtensor`` is a torch.distributed.checkpoint of DTensors, as Megatron-Bridge writes it: the shards of
one parameter are uneven, so Megatron-Core prepares the state dict with one collective per tensor.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from megatron.core import dist_checkpointing
from megatron.core.distributed.fsdp.src.megatron_fsdp.uneven_dtensor import (
    preprocess_state_dict_for_uneven_dtensor,
)
from megatron.core.transformer.fsdp_dtensor_checkpoint import handle_experts_in_state_dict
from torch.distributed.tensor import DTensor

from mbridge_skills.smoke.trainee import Trainee

_OPTIMIZER_METADATA = {"distrib_optim_sharding_type": "fsdp_dtensor"}


def save(trainee: Trainee, folder: Path, ckpt_format: str) -> None:
    """Write model and optimizer state to ``folder``; collective.

    Raises:
        Whatever Megatron-Core raises where the format cannot hold a Megatron FSDP model: its optimizer
        refuses every format but ``fsdp_dtensor`` (DistributedOptimizer.sharded_state_dict).
    """
    if dist.get_rank() == 0:
        folder.mkdir(parents=True)
    dist.barrier()
    if ckpt_format == "torch_dist":
        model_state = trainee.model.sharded_state_dict()
        state = {"model": model_state, "optimizer": trainee.optimizer.sharded_state_dict(model_state)}
        dist_checkpointing.save(state, str(folder))
    else:
        dcp.save(_state(trainee, is_loading=False), checkpoint_id=folder)
    dist.barrier()


def load(trainee: Trainee, folder: Path) -> None:
    """Fill a fresh model and optimizer from an ``fsdp_dtensor`` checkpoint; collective.

    Raises:
        torch.distributed.checkpoint.CheckpointException: the checkpoint lacks a tensor or cannot be read.
    """
    prepared = _state(trainee, is_loading=True)
    dcp.load(prepared, checkpoint_id=folder)
    # dcp.load filled the tensors in place; what it replaced (plain values) is taken from ``prepared``.
    # The wrapper's own load_state_dict expects that Float16Module left its level out of the names.
    loader = trainee.model if trainee.config.bf16 else trainee.model.module
    loader.load_state_dict(trainee.model.state_dict_for_save_checkpoint(), strict=True)
    with torch.no_grad():
        trainee.optimizer.load_state_dict(prepared["optimizer"])
    dist.barrier()


def _state(trainee: Trainee, *, is_loading: bool) -> dict[str, Any]:
    model_state = trainee.model.state_dict_for_save_checkpoint()
    describe = partial(
        trainee.optimizer.sharded_state_dict, {"model": model_state}, metadata=_OPTIMIZER_METADATA
    )
    if is_loading:
        describe(is_loading=True)  # a fresh optimizer gets its state tensors here
    _give_empty_shards_a_state(trainee.optimizer)
    optimizer_state = describe(is_loading=False)
    experts = trainee.config.num_moe_experts
    if experts:
        model_state = handle_experts_in_state_dict(model_state, experts)
    state = {"model": _in_order(model_state), "optimizer": _in_order(optimizer_state)}
    _agree_on_keys(state)
    preprocess_state_dict_for_uneven_dtensor(state)
    return state


def _give_empty_shards_a_state(optimizer: Any) -> None:
    """Complete the optimizer state of parameters of which this rank holds no element.

    torch's Adam makes no state for them, so the ranks would hold different keys, and the preparation of
    the state dict, collective by collective, would never end.
    """
    for inner in getattr(optimizer, "chained_optimizers", [optimizer]):
        state = inner.optimizer.state
        template = next(iter(state.values()), None)
        if template is None:
            continue
        for parameter in (p for group in inner.optimizer.param_groups for p in group["params"]):
            if parameter not in state:
                state[parameter] = {
                    key: torch.zeros_like(parameter) if isinstance(value, DTensor) else copy.copy(value)
                    for key, value in template.items()
                }


def _in_order(state: Any) -> Any:
    """Sort every level by key: the preparation is one collective per tensor, in the order of the keys."""
    if isinstance(state, dict):
        return {key: _in_order(state[key]) for key in sorted(state, key=str)}
    return state


def _agree_on_keys(state: dict[str, Any]) -> None:
    """Refuse to start collectives that would deadlock because ranks of a mesh hold different tensors."""
    mine = {path: _ranks_of(tensor) for path, tensor in _tensors(state) if isinstance(tensor, DTensor)}
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, mine)
    for rank, held in enumerate(everyone):
        for path, peers in held.items():
            lacking = [peer for peer in peers if path not in everyone[peer]]
            if lacking:
                raise RuntimeError(
                    f"rank {rank} holds {path} to save, but ranks {lacking} of its mesh do not"
                )


def _ranks_of(tensor: DTensor) -> list[int]:
    return [int(rank) for rank in tensor.device_mesh.mesh.flatten().tolist()]


def _tensors(state: Any, path: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(state, torch.Tensor):
        yield path, state
    elif isinstance(state, dict):
        for key, value in state.items():
            yield from _tensors(value, f"{path}/{key}")
