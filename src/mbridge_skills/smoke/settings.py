"""From the card's recommended settings to the objects that Megatron-Core takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import torch
from megatron.core.distributed import DistributedDataParallelConfig

from mbridge_skills.card.load import load_card
from mbridge_skills.smoke.options import Options

# Settings that Megatron-Bridge has and a program on Megatron-Core alone does not: which wrapper is used
# follows from ddp.use_megatron_fsdp here, and there is no launcher configuration.
_BRIDGE_ONLY = ("dist.",)


@dataclass(frozen=True)
class Settings:
    """What the FSDP phases train with."""

    ddp: Mapping[str, Any]  # fields of DistributedDataParallelConfig
    ckpt_format: str
    applied: Mapping[str, Any]  # dotted path -> value, as the card says, for the record
    deviations: tuple[str, ...]  # where the run differs from the card, and why

    def fsdp_config(self) -> DistributedDataParallelConfig:
        """The configuration of the FSDP wrapper.

        Raises:
            ValueError: the card sets a field that this release's DistributedDataParallelConfig has not.
        """
        known = {field.name for field in dataclasses.fields(DistributedDataParallelConfig)}
        unknown = sorted(set(self.ddp) - known)
        if unknown:
            release = metadata.version("megatron-core")
            raise ValueError(f"the card sets ddp.{unknown[0]}, which megatron-core {release} does not have")
        return DistributedDataParallelConfig(**self.ddp)


def from_card(options: Options) -> Settings:
    """The card's recommended path with the overrides for the installed megatron-core, then the options.

    Raises:
        InputError: the card is invalid.
        ValueError: the card sets something that a run on Megatron-Core cannot follow.
    """
    versions = {"megatron-core": metadata.version("megatron-core")}
    chosen = load_card(options.card).settings_for(versions)
    applied = {setting.key: setting.value for setting in chosen.settings}
    if options.strategy:
        applied["ddp.data_parallel_sharding_strategy"] = options.strategy
    if options.ckpt_format:
        applied["checkpoint.ckpt_format"] = options.ckpt_format

    # What every run needs beside the card: Megatron FSDP trains through the distributed optimizer, and both
    # sides of the parity check reduce in fp32.
    ddp: dict[str, Any] = {
        "use_distributed_optimizer": True,
        "overlap_grad_reduce": True,
        "overlap_param_gather": True,
        "grad_reduce_in_fp32": True,
    }
    ckpt_format = ""
    for key, value in applied.items():
        section, _, field = key.partition(".")
        if section == "ddp":
            ddp[field] = _resolve(value)
        elif key == "checkpoint.ckpt_format":
            ckpt_format = str(value)
        elif not key.startswith(_BRIDGE_ONLY):
            raise ValueError(f"the card sets {key}, which the smoke program cannot apply")
    if not ckpt_format:
        raise ValueError("the card's recommended path names no checkpoint.ckpt_format")

    deviations: tuple[str, ...] = ()
    if options.device == "cpu":
        # Scaling inside the reduction is an NCCL feature (pre-multiplied sum); gloo has none.
        ddp["gradient_reduce_div_fusion"] = False
        deviations = ("ddp.gradient_reduce_div_fusion=False: gloo cannot scale inside a reduction",)
    return Settings(ddp=ddp, ckpt_format=ckpt_format, applied=applied, deviations=deviations)


def _resolve(value: Any) -> Any:
    """A value as YAML has it -> what Megatron takes; ``{_target_: torch.float32}`` is a dtype."""
    if isinstance(value, Mapping) and "_target_" in value:
        name = str(value["_target_"])
        dtype = getattr(torch, name.removeprefix("torch."), None)
        if not isinstance(dtype, torch.dtype):
            raise ValueError(f"cannot resolve {name}: only torch dtypes are known")
        return dtype
    return value
