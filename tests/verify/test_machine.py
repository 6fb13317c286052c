from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest

from mbridge_skills.verify import machine

TWO = """GPU 0: NVIDIA H200 (UUID: GPU-11111111-2222-3333-4444-555555555555)
GPU 1: NVIDIA H200 NVL (rev. 2) (UUID: GPU-66666666-2222-3333-4444-555555555555)
"""
MIG = """GPU 0: NVIDIA H200 (UUID: GPU-11111111-2222-3333-4444-555555555555)
  MIG 1g.18gb     Device  0: (UUID: MIG-11111111-2222-3333-4444-555555555555)
  MIG 1g.18gb     Device  1: (UUID: MIG-66666666-2222-3333-4444-555555555555)
"""


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is remembered of the real machine, and the real machine remembers nothing of this."""
    found = (machine.visible_gpus, machine.gpu_names, machine.torch_cuda)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for each in found:
        each.cache_clear()
    yield
    for each in found:
        each.cache_clear()


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put an nvidia-smi on PATH that prints a listing and ends with a status."""

    def install(listing: str, status: int = 0) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "listing").write_text(listing)
        tool = folder / "nvidia-smi"
        tool.write_text(f'#!/bin/sh\n[ "$1" = -L ] || exit 9\n/bin/cat {folder}/listing\nexit {status}\n')
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))

    return install


@pytest.mark.parametrize(
    ("listing", "status", "names"),
    [
        (TWO, 0, ("NVIDIA H200", "NVIDIA H200 NVL (rev. 2)")),
        (MIG, 0, ("NVIDIA H200",)),
        ("GPU 0: NVIDIA H200\n", 0, ("NVIDIA H200",)),
        (TWO, 1, ()),
        ("", 0, ()),
        ("No devices were found\n", 6, ()),
        ("No devices were found\n", 0, ()),
        ("GPU access blocked by the operating system\n", 0, ()),
        ("Failed to initialize NVML: Driver/library version mismatch\n", 18, ()),
    ],
)
def test_gpu_names(
    nvidia_smi: Callable[..., None], listing: str, status: int, names: tuple[str, ...]
) -> None:
    nvidia_smi(listing, status)
    assert machine.gpu_names() == names


def test_no_gpu_without_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.gpu_names() == ()


def test_a_tool_that_cannot_run(nvidia_smi: Callable[..., None], tmp_path: Path) -> None:
    nvidia_smi(TWO)
    (tmp_path / "bin/nvidia-smi").write_text("#!/no/such/interpreter\n")
    assert machine.gpu_names() == ()


@pytest.mark.parametrize(
    ("chosen", "count"),
    [
        (None, 2),
        ("0,1", 2),
        ("1", 1),
        (" 0 , 1 ", 2),
        ("GPU-11111111-2222-3333-4444-555555555555", 1),
        ("0,1,0", 2),
        ("0,0", 1),
        # Hidden: wholly, or from the first entry on that is no device, as CUDA reads it.
        ("", 0),
        ("-1", 0),
        ("-1,0,1", 0),
        ("0,-1,1", 1),
        ("2", 0),
        ("0,7,1", 1),
        (",0", 0),
    ],
)
def test_visible_gpus(
    nvidia_smi: Callable[..., None], monkeypatch: pytest.MonkeyPatch, chosen: str | None, count: int
) -> None:
    nvidia_smi(TWO)
    if chosen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert machine.visible_gpus() == count


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("__version__ = '2.13.0'\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n", "12.8"),
        ("cuda = '12.6'\n", "12.6"),
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\n", None),
        ("cuda: Optional[str] = ''\n", None),
        ("hip: Optional[str] = '6.2'\n", None),
        ("cuda: Optional[str]\n", None),
        ("cuda = compute()\n", None),
        ("# cuda = '12.8'\n", None),
        ("cuda = '12.8' syntax error\n", None),
        (None, None),
    ],
)
def test_torch_cuda(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, cuda: str | None
) -> None:
    package = tmp_path / "torch"
    package.mkdir()
    # Found, and not imported: that would take seconds.
    (package / "__init__.py").write_text("raise AssertionError('torch was imported')\n")
    if text is not None:
        (package / "version.py").write_text(text)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    assert machine.torch_cuda() == cuda


def test_torch_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert machine.torch_cuda() is None


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Make a distribution of this name and version known."""

    def install(name: str, version: str) -> None:
        folder = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")

    monkeypatch.syspath_prepend(tmp_path)
    return install


@pytest.mark.parametrize(
    ("version", "specifier", "unmet"),
    [
        ("0.19.2", ">=0.16.1,<0.20", []),
        ("0.19.0rc1", ">=0.19", []),  # a candidate behaves like its release
        ("0.16.0", ">=0.16.1,<0.20", ["mbridge-example 0.16.0 is installed, >=0.16.1,<0.20 is needed"]),
        ("0.20.0", ">=0.16.1,<0.20", ["mbridge-example 0.20.0 is installed, >=0.16.1,<0.20 is needed"]),
        # A version that cannot be read satisfies nothing.
        ("unknown", ">=1", ["mbridge-example unknown is installed, >=1 is needed"]),
    ],
)
def test_unmet_packages(
    installed: Callable[[str, str], None], version: str, specifier: str, unmet: list[str]
) -> None:
    installed("mbridge-example", version)
    assert machine.unmet_packages({"mbridge-example": specifier}) == unmet


def test_all_that_is_missing_is_named() -> None:
    assert machine.unmet_packages({"no-such-one": ">=1", "no-such-two": ">=1"}) == [
        "no-such-one is not installed",
        "no-such-two is not installed",
    ]


class TestVersionsIn:
    """The environment of another interpreter, as uv's."""

    @pytest.fixture
    def uv(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A ``uv`` that runs this interpreter: ``uv run python ...``."""
        tool = tmp_path / "uv"
        tool.write_text(f'#!/bin/sh\nshift 2\necho "resolved 3 packages"\nexec {sys.executable} "$@"\n')
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return tool

    @pytest.mark.usefixtures("uv")
    def test_found(self, tmp_path: Path) -> None:
        found = machine.versions_in(("uv", "run", "python"), tmp_path, ("click", "megatron-core", "no-such"))
        assert found == {
            "python": platform.python_version(),
            "click": metadata.version("click"),
            "megatron-core": metadata.version("megatron-core"),
        }

    @pytest.mark.parametrize("interpreter", [("/no/such/uv",), ("false",), ("true",), ("echo", "no json")])
    def test_no_answer_is_no_version(self, tmp_path: Path, interpreter: tuple[str, ...]) -> None:
        assert machine.versions_in(interpreter, tmp_path, ("click",)) == {}
