"""The CPU device layer: lets unmodified Megatron-Core code that expects CUDA run on CPU tensors over gloo.

Megatron FSDP's arithmetic (sharding, gathering, reducing, the optimizer step) is device-neutral; what ties
it to CUDA is bookkeeping: streams, events, the current device, RNG state, ``device="cuda"`` in factory
calls, device meshes of type "cuda". This module replaces that bookkeeping, and nothing else, for the time
of a ``with`` block, and puts every attribute back afterwards.

Run so far with megatron-core 0.16.1, 0.17.1, 0.18.2 and 0.19.2 on torch 2.11 to 2.13. What it cannot show:
speed, memory, races between CUDA streams, NCCL, Transformer Engine kernels, FP8.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

LABEL = "cpu-simulated"

# Functions and methods through which Megatron-Core asks for a tensor on a device. They are replaced by
# name, not through a torch function mode: a mode is not active inside autograd's backward, where
# Megatron FSDP allocates its gradient buffers.
_FACTORIES = """
    arange as_tensor empty empty_like empty_strided eye full full_like linspace ones ones_like rand rand_like
    randint randn randn_like randperm tensor zeros zeros_like
"""
_TENSOR_METHODS = "new_empty new_full new_ones new_tensor new_zeros to"


class CudaPresentError(RuntimeError):
    """The layer was asked for on a machine with CUDA: evidence from it would hide the real device."""


@contextlib.contextmanager
def cpu_device(*, beside_cuda: bool = False) -> Iterator[None]:
    """Run the block with CUDA's bookkeeping replaced by CPU stand-ins.

    Args:
        beside_cuda: start although CUDA is available, for comparing both on one machine.

    Raises:
        CudaPresentError: CUDA is available and ``beside_cuda`` was not given.
    """
    if torch.cuda.is_available() and not beside_cuda:
        raise CudaPresentError(
            "CUDA is available here; the CPU device layer is for machines without it. "
            "Use --device=cuda, or --beside-cuda to simulate all the same."
        )
    with contextlib.ExitStack() as undo:
        for owner, name, replacement in _replacements():
            _replace(undo, owner, name, replacement)
        yield


def _replacements() -> Iterator[tuple[Any, str, Any]]:
    yield from _bookkeeping()
    yield from _random_state()
    yield from _placement()
    yield from _tensor_types()


def _bookkeeping() -> Iterator[tuple[Any, str, Any]]:
    """Streams, events, devices and profiler ranges: order is program order, so all of them do nothing."""
    cuda = torch.cuda
    stream = _Stream()
    yield cuda, "Stream", _Stream
    yield cuda, "Event", _Event
    yield cuda, "stream", _no_context()
    yield cuda, "device", _no_context()
    yield cuda, "current_stream", lambda *_, **__: stream
    yield cuda, "default_stream", lambda *_, **__: stream
    yield cuda, "set_stream", _nothing()
    yield cuda, "synchronize", _nothing()
    yield cuda, "set_device", _nothing()
    yield cuda, "empty_cache", _nothing()
    yield cuda, "current_device", lambda: 0
    yield cuda, "device_count", lambda: 1
    yield cuda, "get_device_capability", lambda *_, **__: (9, 0)
    yield cuda, "is_current_stream_capturing", lambda: False
    for reading in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
        yield cuda, reading, lambda *_, **__: 0
    yield cuda.nvtx, "range_push", _nothing()
    yield cuda.nvtx, "range_pop", _nothing()
    yield cuda, "_lazy_init", _nothing()
    yield cuda, "_lazy_call", _nothing()


def _random_state() -> Iterator[tuple[Any, str, Any]]:
    """CUDA's generator is a second one beside the CPU's: seeding it must not touch the CPU generator, from
    which Megatron draws weights (use_cpu_initialization), or they would differ from those on a GPU."""
    generator = torch.Generator("cpu")

    def get(*_: Any, **__: Any) -> torch.Tensor:
        return generator.get_state()

    def put(state: torch.Tensor, *_: Any, **__: Any) -> None:
        generator.set_state(state)

    for owner in (torch.cuda, torch.cuda.random):
        yield owner, "get_rng_state", get
        yield owner, "set_rng_state", put
        yield owner, "manual_seed", generator.manual_seed
    yield torch.cuda.random, "_lazy_init", _nothing()
    yield torch.cuda.random, "_lazy_call", _nothing()
    yield torch.cuda, "default_generators", (generator,)


def _placement() -> Iterator[tuple[Any, str, Any]]:
    """Requests for a CUDA tensor or a CUDA mesh are answered with a CPU one."""
    for name in _FACTORIES.split():
        yield torch, name, _on_cpu(getattr(torch, name))
    for name in _TENSOR_METHODS.split():
        yield torch.Tensor, name, _on_cpu(getattr(torch.Tensor, name))
    yield torch.Tensor, "cuda", lambda self, *_, **__: self
    yield torch.nn.Module, "cuda", lambda self, *_, **__: self
    yield torch.Tensor, "record_stream", _nothing()

    mesh_from_group = DeviceMesh.from_group

    def from_group(group: Any, device_type: str, *args: Any, **kwargs: Any) -> DeviceMesh:
        return mesh_from_group(group, "cpu", *args, **kwargs)

    yield DeviceMesh, "from_group", staticmethod(from_group)


def _tensor_types() -> Iterator[tuple[Any, str, Any]]:
    """DDP and the optimizer assert on type names such as ``torch.cuda.FloatTensor``."""
    real_type = torch.Tensor.type

    def named_type(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        result = real_type(self, *args, **kwargs)
        if not args and not kwargs and isinstance(result, str) and self.device.type == "cpu":
            return result.replace("torch.", "torch.cuda.", 1)
        return result

    yield torch.Tensor, "type", named_type


def initialize_process_group() -> None:
    """Join the process group that torchrun's environment describes, over gloo."""
    dist.init_process_group("gloo")


class _Stream:
    """Stands for a CUDA stream on which everything is already done."""

    device = torch.device("cpu")

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def wait_stream(self, stream: Any) -> None: ...

    def wait_event(self, event: Any) -> None: ...

    def record_event(self, event: Any = None) -> Any:
        return event or _Event()

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None: ...


class _Event:
    """Stands for a CUDA event that has happened."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def record(self, *_: Any) -> None: ...

    def wait(self, *_: Any) -> None: ...

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, _: Any) -> float:
        return 0.0


def _nothing() -> Callable[..., None]:
    """A function that does nothing. A new one each time: torch.compile keeps a table of torch's functions
    and does not bear the same object under two names."""
    return lambda *_, **__: None


def _no_context() -> Callable[..., contextlib.AbstractContextManager[None]]:
    return lambda *_, **__: contextlib.nullcontext()


def _on_cpu(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with every CUDA device among its arguments replaced by the CPU."""

    @functools.wraps(function)
    def redirected(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("device") is not None:
            kwargs["device"] = _cpu_for(kwargs["device"], bare_index=True)
        return function(*[_cpu_for(value, bare_index=False) for value in args], **kwargs)

    return redirected


def _cpu_for(value: Any, *, bare_index: bool) -> Any:
    """The CPU where ``value`` names a CUDA device, else ``value``.

    A bare integer names a device only as the ``device`` argument (``device=torch.cuda.current_device()``).
    """
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    if isinstance(value, str):
        return "cpu" if value.startswith("cuda") else value
    if bare_index and isinstance(value, int) and not isinstance(value, bool):
        return "cpu"
    return value


_MISSING = object()


def _replace(undo: contextlib.ExitStack, owner: Any, name: str, replacement: Any) -> None:
    """Set ``owner.name``; ``undo`` puts back what was there, or takes it away where nothing was."""
    before = vars(owner).get(name, _MISSING)
    if before is _MISSING:
        undo.callback(delattr, owner, name)
    else:
        undo.callback(setattr, owner, name, before)
    setattr(owner, name, replacement)
