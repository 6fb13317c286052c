"""Tier cpu: the smoke program on CPU processes over gloo, through the CPU device layer."""

from __future__ import annotations

import os
from pathlib import Path

from mbridge_skills.card.model import VerifyBlock
from mbridge_skills.verify.plan import NotHere, Request, Start, unmet_packages


def prepare(block: VerifyBlock, request: Request) -> Start | NotHere:
    """Runs wherever the packages are. GPUs are hidden from the processes: the layer stands beside no CUDA."""
    unmet = unmet_packages(block)
    if unmet:
        return unmet
    environment: dict[str, str | None] = {
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        # Megatron-Core compiles a few functions with torch.compile, which wants a C++ compiler on the CPU.
        "TORCHDYNAMO_DISABLE": "1",
    }
    # gloo looks for a network interface by the host's name, which on many a laptop resolves to none.
    loopback = next((name for name in ("lo", "lo0") if Path(f"/sys/class/net/{name}").exists()), None)
    if loopback and "GLOO_SOCKET_IFNAME" not in os.environ:
        environment["GLOO_SOCKET_IFNAME"] = loopback
    return Start(environment=environment)
