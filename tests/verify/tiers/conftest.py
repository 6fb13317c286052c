from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mbridge_skills.card.model import CriterionSpec, Needs, VerifyBlock
from mbridge_skills.verify import machine

NODE = "tests/functional/test_fsdp.py::TestFSDP::test_train"


@pytest.fixture(autouse=True)
def no_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine without GPUs and tools; gives the folder that is on PATH."""
    found = (machine.visible_gpus, machine.gpu_names, machine.torch_cuda)
    for each in found:
        each.cache_clear()
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    yield folder
    for each in found:
        each.cache_clear()


@pytest.fixture
def gpus(no_tools: Path) -> Callable[[int], None]:
    """Make ``nvidia-smi`` list so many GPUs."""

    def install(count: int) -> None:
        lines = "".join(f'echo "GPU {number}: NVIDIA H200 (UUID: GPU-{number})"\n' for number in range(count))
        tool = no_tools / "nvidia-smi"
        tool.write_text(f"#!/bin/sh\n{lines}")
        tool.chmod(0o755)

    return install


@pytest.fixture
def torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    """Make a torch that is built for this CUDA release (None: for the CPU) the installed one."""

    def install(cuda: str | None) -> None:
        site = tmp_path / "site"
        (site / "torch").mkdir(parents=True)
        (site / "torch/__init__.py").write_text("raise AssertionError('torch was imported')\n")
        (site / "torch/version.py").write_text(
            f"from typing import Optional\ncuda: Optional[str] = {cuda!r}\n"
        )
        (site / "torch-2.12.0.dist-info").mkdir()
        metadata = "Metadata-Version: 2.1\nName: torch\nVersion: 2.12.0\n"
        (site / "torch-2.12.0.dist-info/METADATA").write_text(metadata)
        monkeypatch.delitem(sys.modules, "torch", raising=False)
        monkeypatch.syspath_prepend(site)

    return install


@pytest.fixture
def block() -> Callable[..., VerifyBlock]:
    """A verify block of a tier that needs so many GPUs and these packages."""

    def make(tier: str, gpus: int = 0, packages: dict[str, str] | None = None) -> VerifyBlock:
        return VerifyBlock(
            id=f"{tier}-block",
            title="Title",
            tier=tier,  # type: ignore[arg-type]
            label="cpu-simulated" if tier == "cpu" else "gpu",
            command=("{python}", "-m", "example"),
            needs=Needs(gpus=gpus, processes=2, packages=packages or {}),
            timeout_s=60,
            stall_s=10,
            criteria=(CriterionSpec("clean-exit"),),
            test=NODE if tier == "bridge" else None,
        )

    return make
