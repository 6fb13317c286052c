"""The process group and Megatron's parallel layout of a run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.distributed as dist
from megatron.core import parallel_state

from mbridge_skills.smoke import absent_engine, cpu_device
from mbridge_skills.smoke.options import Options


class CannotRunHereError(RuntimeError):
    """The layout asked for cannot be trained on this device or with these packages."""


@dataclass(frozen=True)
class World:
    """Where this process stands."""

    rank: int
    size: int
    device: torch.device
    label: str  # evidence label: cpu-simulated or gpu
    data_parallel_rank: int
    data_parallel_size: int
    cp_rank: int
    supplied: tuple[str, ...]  # see :mod:`mbridge_skills.smoke.absent_engine`

    @property
    def is_last(self) -> bool:
        """Megatron prints its iteration records on the last rank."""
        return self.rank == self.size - 1


@contextlib.contextmanager
def joined(options: Options) -> Iterator[World]:
    """Join the process group and build Megatron's parallel groups; both are torn down afterwards.

    Raises:
        CannotRunHereError: the layout does not fit the world size, the device or the packages.
        cpu_device.CudaPresentError: see :func:`mbridge_skills.smoke.cpu_device.cpu_device`.
    """
    _refuse_impossible(options)
    with contextlib.ExitStack() as stack:
        device = _enter_device(options, stack)
        supplied = stack.enter_context(
            absent_engine.names_supplied(tensor_parallel=options.tp > 1, experts=options.experts > 0)
        )
        stack.callback(_leave_process_group)
        parallel_state.initialize_model_parallel(
            tensor_model_parallel_size=options.tp,
            context_parallel_size=options.cp,
            expert_model_parallel_size=options.ep,
        )
        stack.callback(parallel_state.destroy_model_parallel)
        yield World(
            rank=dist.get_rank(),
            size=dist.get_world_size(),
            device=device,
            label=cpu_device.LABEL if options.device == "cpu" else "gpu",
            data_parallel_rank=parallel_state.get_data_parallel_rank(),
            data_parallel_size=parallel_state.get_data_parallel_world_size(),
            cp_rank=parallel_state.get_context_parallel_rank(),
            supplied=supplied,
        )


def _refuse_impossible(options: Options) -> None:
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    if world_size % (options.tp * options.cp):
        raise CannotRunHereError(
            f"tp={options.tp} x cp={options.cp} does not divide the world size {world_size}"
        )
    if (world_size // options.tp) % options.ep:
        raise CannotRunHereError(f"ep={options.ep} does not divide {world_size // options.tp} ranks")
    if options.transformer_impl == "transformer_engine" and options.device == "cpu":
        raise CannotRunHereError("Transformer Engine layers need a GPU")
    if options.experts and options.tp > 1 and options.transformer_impl == "local":
        raise CannotRunHereError(
            "experts under tensor parallelism need sequence parallelism, and that Transformer Engine's norms "
            "(--transformer-impl=transformer_engine, GPU only)"
        )
    if options.cp > 1 and options.transformer_impl != "transformer_engine":
        raise CannotRunHereError(
            "context parallelism needs Transformer Engine's attention "
            "(--transformer-impl=transformer_engine, GPU only)"
        )
    if options.dispatcher == "alltoall" and options.device == "cpu" and options.ep > 1:
        raise CannotRunHereError("gloo has no uneven all-to-all: use --dispatcher=allgather on the CPU")


def _enter_device(options: Options, stack: contextlib.ExitStack) -> torch.device:
    if options.device == "cpu":
        stack.enter_context(cpu_device.cpu_device(beside_cuda=options.beside_cuda))
        cpu_device.initialize_process_group()
        return torch.device("cpu")
    local_rank = int(os.environ["LOCAL_RANK"])
    if not torch.cuda.is_available() or local_rank >= torch.cuda.device_count():
        raise CannotRunHereError(
            f"no GPU for local rank {local_rank}: {torch.cuda.device_count()} CUDA devices are visible"
        )
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    # fp32 parity is judged to 1e-5: TF32 products would be the larger error.
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    dist.init_process_group("nccl", device_id=device)
    return device


def _leave_process_group() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
