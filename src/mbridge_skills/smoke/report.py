"""The smoke program's output: Megatron's own line format, and marker lines for what that does not say."""

from __future__ import annotations

import dataclasses
import platform
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from mbridge_skills.logs import markers
from mbridge_skills.smoke import shape
from mbridge_skills.smoke.options import Options
from mbridge_skills.smoke.settings import Settings
from mbridge_skills.smoke.training import StepResult
from mbridge_skills.smoke.world import World

_PACKAGES = ("torch", "megatron-core", "megatron-bridge", "transformer-engine", "einops", "numpy")


class Reporter:
    """Prints the records of one run. Iterations are printed by the last rank, as Megatron does."""

    def __init__(self, options: Options, world: World) -> None:
        self._options = options
        self._world = world
        self._global_batch = shape.MICRO_BATCH_SIZE * options.microbatches * world.data_parallel_size

    def environment(self, settings: Settings) -> None:
        """What runs here: printed once, by rank 0."""
        if self._world.rank == 0:
            _print(markers.line(markers.ENVIRONMENT, **_environment(self._options, self._world, settings)))

    def phase(self, name: str) -> None:
        """The iterations that follow belong to phase ``name``."""
        dist.barrier()
        if self._world.is_last:
            _print(markers.line(markers.PHASE, phase=name))

    def iteration(self, step: StepResult) -> None:
        """One iteration in Megatron's line format, with more digits so that parity can be judged from it."""
        if self._world.is_last:
            _print(_iteration_line(step, self._options.iterations, self._global_batch))

    def saving(self, iteration: int, folder: Path, ckpt_format: str) -> None:
        """A save begins."""
        self._first(f"saving checkpoint at iteration {iteration:7d} to {folder} in {ckpt_format} format")

    def saved(self, iteration: int, folder: Path) -> None:
        """A save is complete on every rank."""
        self._first(f"  successfully saved checkpoint from iteration {iteration:7d} to {folder}")

    def loaded(self, iteration: int, folder: Path) -> None:
        """A load is complete on every rank."""
        self._first(f"  successfully loaded checkpoint from {folder} at iteration {iteration}")

    def finished(self) -> None:
        """This rank's last line."""
        _print(markers.line(markers.FINISHED, rank=self._world.rank))

    def _first(self, text: str) -> None:
        if self._world.rank == 0:
            _print(text)


def cannot_run(reason: str) -> None:
    """Say that the run is impossible here, which is not the same as having failed."""
    _print(markers.line(markers.CANNOT_RUN, reason=reason))


def _iteration_line(step: StepResult, total: int, global_batch: int) -> str:
    fields = [
        f" [{datetime.now():%Y-%m-%d %H:%M:%S}] iteration {step.iteration:8d}/{total:8d}",
        f"consumed samples: {step.iteration * global_batch:12d}",
        f"elapsed time per iteration (ms): {step.milliseconds:.1f}",
        f"learning rate: {shape.LEARNING_RATE:.6E}",
        f"global batch size: {global_batch:5d}",
        f"lm loss: {step.loss:.9E}",
        "loss scale: 1.0",
        f"grad norm: {step.grad_norm:.9g}",
        f"number of skipped iterations: {int(step.skipped):3d}",
        f"number of nan iterations: {int(step.nan):3d}",
    ]
    return " | ".join(fields) + " |"


def _environment(options: Options, world: World, settings: Settings) -> dict[str, Any]:
    packages = {name: release for name in _PACKAGES if (release := _release(name))}
    if world.label == "gpu":
        device = f"{world.size} x {torch.cuda.get_device_name(world.device)}"
        backend = {"name": "nccl", "cuda": torch.version.cuda}
    else:
        device = f"{world.size} processes on the CPU ({platform.machine()})"
        backend = {"name": "gloo"}
    return {
        "label": world.label,
        "device": device,
        "backend": backend,
        "world_size": world.size,
        "data_parallel_size": world.data_parallel_size,
        "versions": {"python": platform.python_version(), **packages, "torch": torch.__version__},
        "settings": dict(settings.applied),
        "deviations": [
            *settings.deviations,
            *(f"{name} supplied: Transformer Engine is not installed" for name in world.supplied),
        ],
        "options": {
            field.name: getattr(options, field.name)
            for field in dataclasses.fields(options)
            if field.name not in ("card", "work")
        },
    }


def _release(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the log is this program's result
