"""A command that starts a training program -> a configuration."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mbridge_skills.config.view import UNKNOWN, Origin, Setting, TrainingConfig, Unknown
from mbridge_skills.readers.arguments import ArgumentReader
from mbridge_skills.readers.shell.state import Launch
from mbridge_skills.readers.shell.text import Text, hole
from mbridge_skills.readers.words import HOLE, Word

_PYTHON = re.compile(r"python[\d.]*")
_STARTERS = frozenset(
    {"srun", "torchrun", "mpirun", "mpiexec", "uv", "accelerate", "nsys", "deepspeed", "numactl", "apptainer"}
)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
_TORCHRUN = frozenset({"torch.distributed.run", "torch.distributed.launch"})


def read_launch(
    launch: Launch, name: str, path: Path | None, conditions: tuple[str, ...]
) -> TrainingConfig | None:
    """The configuration that ``launch`` gives its program; None where it sets nothing that is known."""
    begin = _program(launch.words)
    if begin is None:
        return None
    reader = ArgumentReader()
    reader.read(_word(text, path) for text in launch.words[begin:])
    if not reader.telling:
        return None
    layer = reader.layer
    for variable, text in launch.environment.items():
        secret = _SECRET.search(variable) and text is not None
        layer.environment[variable] = _setting(hole(launch.mark) if secret else text, launch, path)
    if layer.world_size is UNKNOWN:
        layer.world_size = _world_size(launch, launch.words[:begin])
    return layer.build(name, path, conditions)


def _word(text: Text, path: Path | None) -> Word:
    mark = text.marks[0] if text.marks else None
    unless = next((each.unless for each in text.marks if each.unless), None)
    note = f"unless {unless} is set in the environment" if unless else None
    return Word(text.value, Origin(path, mark.line, mark.column, note) if mark else Origin(path))


def _setting(text: Text | None, launch: Launch, path: Path | None) -> Setting:
    if text is None:
        return Setting(None, Origin(path, launch.mark.line, launch.mark.column))
    return Setting(text.value if text.known else UNKNOWN, _word(text, path).origin)


def _program(words: tuple[Text, ...]) -> int | None:
    """Where the arguments of the program begin."""
    python = False
    for i, word in enumerate(words):
        base = posixpath.basename(word.value)
        if base.endswith(".py") and not word.value.startswith("-"):
            return i + 1
        if word.value == "-m" and i + 1 < len(words) and python and words[i + 1].value not in _TORCHRUN:
            return i + 2
        if python and word.value == HOLE and not words[i - 1].value.startswith("-"):
            return i + 1
        python = python or bool(_PYTHON.fullmatch(base)) or base == "torchrun"
    first = posixpath.basename(words[0].value) if words else ""
    if first in _STARTERS or first.endswith(".sh") or HOLE in first or python:
        return 1
    if first in ("bash", "sh") and len(words) > 1:
        return 2
    return None


def _option(words: tuple[Text, ...], *names: str) -> int | Unknown | None:
    """The number that an option has; None where it is not given."""
    for i, word in enumerate(words):
        name, equals, value = word.value.partition("=")
        if name.replace("_", "-") not in names:
            continue
        if not equals:
            value = words[i + 1].value if i + 1 < len(words) else ""
        return int(value) if value.isdecimal() and len(value) < 9 else UNKNOWN
    return None


def _world_size(launch: Launch, words: tuple[Text, ...]) -> int | Unknown:
    names = {posixpath.basename(word.value) for word in words}
    if "torchrun" in names or names & _TORCHRUN:
        processes, nodes = _option(words, "--nproc-per-node"), _option(words, "--nnodes")
        return _product(1 if processes is None else processes, 1 if nodes is None else nodes)
    if "srun" not in names:
        return UNKNOWN
    tasks = _option(words, "--ntasks", "-n")
    if tasks is not None:
        return tasks
    nodes = _option(words, "--nodes", "-N")
    per_node = _option(words, "--ntasks-per-node")
    return _product(
        _slurm(launch, "SLURM_JOB_NUM_NODES") if nodes is None else nodes,
        _slurm(launch, "SLURM_NTASKS_PER_NODE") if per_node is None else per_node,
    )


def _slurm(launch: Launch, name: str) -> int | Unknown:
    text = launch.slurm.get(name)
    return int(text.value) if text is not None and text.value.isdecimal() else UNKNOWN


def _product(a: int | Unknown, b: int | Unknown) -> int | Unknown:
    return UNKNOWN if a is UNKNOWN or b is UNKNOWN else a * b
