"""What this machine has, found out without importing torch or anything else that is heavy."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

_LISTED_GPU = re.compile(r"GPU \d+: (.+?)(?: \(UUID.*)?$")


@cache
def visible_gpus() -> int:
    """Number of NVIDIA GPUs that a process started here would see (CUDA_VISIBLE_DEVICES counts)."""
    present = _gpus_present()
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return present
    # As CUDA reads it: the list ends at the first entry that is no device.
    named = [entry.strip() for entry in chosen.split(",")]
    valid = set()
    for entry in named:
        if not entry or entry == "-1" or (entry.isdigit() and int(entry) >= present):
            break
        valid.add(entry)
    return min(len(valid), present)


@cache
def gpu_names() -> tuple[str, ...]:
    """Names of the NVIDIA GPUs present, as nvidia-smi lists them."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    try:
        listing = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    lines = listing.stdout.splitlines() if listing.returncode == 0 else []
    listed = (_LISTED_GPU.match(line) for line in lines)
    return tuple(found[1] for found in listed if found)


def _gpus_present() -> int:
    return len(gpu_names()) or sum(
        path.name.removeprefix("nvidia").isdigit() for path in Path("/dev").glob("nvidia[0-9]*")
    )


def installed_version(package: str) -> str | None:
    """The version of an installed distribution, from its metadata; None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def versions_in(interpreter: Sequence[str], folder: Path | None, packages: Sequence[str]) -> dict[str, str]:
    """The versions of Python and of ``packages`` in the environment of another interpreter, for instance
    ``uv run python`` in ``folder``; empty where it does not answer."""
    question = (
        "import sys, json, platform, importlib.metadata as m\n"
        "names = {d.metadata['Name'].lower().replace('_', '-'): d.version for d in m.distributions()}\n"
        "print(json.dumps({'python': platform.python_version(),"
        " **{n: names[n] for n in sys.argv[1:] if n in names}}))"
    )
    try:
        answer = subprocess.run(
            [*interpreter, "-c", question, *packages],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        found = json.loads(answer.stdout.splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return {}
    return {str(name): str(version) for name, version in found.items()}


@cache
def torch_cuda() -> str | None:
    """The CUDA release that the installed torch was built for, read from its ``version.py`` as text."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        return None
    try:
        tree = ast.parse((Path(spec.origin).parent / "version.py").read_text(encoding="utf-8"))
    except (OSError, SyntaxError):
        return None
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        named_cuda = any(isinstance(target, ast.Name) and target.id == "cuda" for target in targets)
        if named_cuda and isinstance(getattr(node, "value", None), ast.Constant):
            value = node.value.value  # type: ignore[attr-defined]
            return str(value) if value else None
    return None


def unmet_packages(needed: Mapping[str, str]) -> list[str]:
    """What is missing of the packages a block needs, in words; empty where nothing is."""
    from mbridge_skills.card.versions import satisfies

    unmet = []
    for package, specifier in needed.items():
        version = installed_version(package)
        if version is None:
            unmet.append(f"{package} is not installed")
        elif not satisfies(specifier, version):
            unmet.append(f"{package} {version} is installed, {specifier} is needed")
    return unmet
