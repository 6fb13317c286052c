"""Tier gpu: the smoke program under NCCL, one process per GPU."""

from __future__ import annotations

from mbridge_skills.card.model import VerifyBlock
from mbridge_skills.verify import machine
from mbridge_skills.verify.plan import NotHere, Request, Start, too_few_gpus, unmet_packages


def prepare(block: VerifyBlock, request: Request) -> Start | NotHere:
    """Needs the GPUs that the block names, and a torch that can use them."""
    unmet = too_few_gpus(block) or unmet_packages(block)
    if unmet:
        return unmet
    if machine.torch_cuda() is None:
        version = machine.installed_version("torch")
        return NotHere(f"torch {version} is built without CUDA", remedy="install a CUDA build of torch")
    # Megatron FSDP overlaps through several streams: one connection per device would serialise them, and
    # Megatron-Bridge refuses it from 0.5.0 on.
    return Start(environment={"CUDA_DEVICE_MAX_CONNECTIONS": None, "OMP_NUM_THREADS": "1"})
