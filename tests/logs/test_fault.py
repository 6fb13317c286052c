from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mbridge_skills.logs.events import Fault

Parse = Callable[..., list[Any]]


@pytest.mark.parametrize(
    ("text", "kind", "rank"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.", "out-of-memory", None),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.",
            "out-of-memory",
            None,
        ),
        ("[rank3]: RuntimeError: CUDA out of memory. Tried to allocate 2 GiB", "out-of-memory", 3),
        ("RuntimeError: CUDA error: out of memory", "out-of-memory", None),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.", "out-of-memory", None),
        ("srun: error: node1: task 3: Out Of Memory", "out-of-memory", None),
        ("Memory cgroup out of memory: Killed process 4242 (python3)", "out-of-memory", None),
        ("Out of memory: Killed process 4242 (python3) total-vm:1kB", "out-of-memory", None),
        ("torch.distributed.DistBackendError: NCCL error in: ../NCCLUtils.hpp:317", "nccl", None),
        ("ncclSystemError: System call (e.g. socket, malloc) failed", "nccl", None),
        ("ncclUnhandledCudaError: Call to CUDA function failed.", "nccl", None),
        (
            "[rank1]:[E1130 19:44 P.cpp:632] [Rank 1] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=5, OpType=ALLREDUCE)",
            "timeout",
            1,
        ),
        ("[E ProcessGroupNCCL.cpp:474] [Rank 2] Watchdog caught collective operation timeout", "timeout", 2),
        (
            "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients",
            "timeout",
            None,
        ),
        (
            "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms",
            "timeout",
            None,
        ),
        (
            "RuntimeError: [/x/gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 1800000ms for recv",
            "timeout",
            None,
        ),
        (
            "torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /default_pg/0",
            "timeout",
            None,
        ),
        (
            "RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:4",
            "gloo",
            None,
        ),
        ("[x/gloo/transport/tcp/pair.cc:525] Read error [::1]:4: Connection reset by peer", "gloo", None),
    ],
)
def test_recognises(parse: Parse, text: str, kind: str, rank: int | None) -> None:
    (fault,) = parse(text + "\n")
    assert (fault.kind, fault.rank) == (kind, rank)
    assert fault.message == text.removeprefix(f"[rank{rank}]:").strip()


def test_the_message_is_bounded_and_has_what_was_found(parse: Parse) -> None:
    (fault,) = parse("x" * 10_000 + " CUDA out of memory. " + "y" * 10_000)
    assert len(fault.message) <= 500
    assert "CUDA out of memory." in fault.message


@pytest.mark.parametrize(
    "text",
    [
        "Set this to avoid CUDA out of memory errors",
        "to reduce out of memory risk, lower the batch size",
        '    raise DistBackendError("NCCL error in x")',
        "    torch.OutOfMemoryError: quoted",
        "NCCL version 2.27.3+cuda12.9",
        "NCCL_DEBUG=INFO",
        "nccl_communicator_config_path: None",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
        "NCCL error handling is on",
        "distributed_timeout_minutes: 10",
        "timeout: 600",
        "Watchdog started, timeout 600 s",
        "INFO: using backend gloo",
        "Connected to gloo/0",
        "Connection closed by remote host",
        "the room was empty, zoom in",
        "theoretical memory footprints: weight and optimizer=360.09 MB",
    ],
)
def test_leaves_it_alone(parse: Parse, text: str) -> None:
    assert parse(text + "\n", Fault) == []
