"""A launch script -> a configuration for each launch, and for each outcome of the tests that it leaves
open."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from mbridge_skills.config.view import TrainingConfig
from mbridge_skills.errors import InputError, Location
from mbridge_skills.readers.shell.commands import ExitError
from mbridge_skills.readers.shell.decisions import Decisions
from mbridge_skills.readers.shell.evaluate import Evaluator
from mbridge_skills.readers.shell.launch import read_launch
from mbridge_skills.readers.shell.script import Script, located
from mbridge_skills.readers.shell.state import Launch, State
from mbridge_skills.readers.shell.text import Mark, Text

_MAX_CONFIGURATIONS = 16
_MAX_READINGS = 64
_MAX_DECISIONS = 6
_MAX_STEPS = 12_000
_SBATCH = re.compile(r"#SBATCH\s+(-[-\w]+)(?:[=\s]\s*(\S+))?")
_SLURM = {
    "--nodes": ("SLURM_JOB_NUM_NODES", "SLURM_NNODES"),
    "-N": ("SLURM_JOB_NUM_NODES", "SLURM_NNODES"),
    "--ntasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "-n": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "--ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "--gpus-per-node": ("SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"),
}

Found = tuple[Launch, TrainingConfig]


def read_shell(text: str, path: Path | None = None) -> list[TrainingConfig]:
    """The configurations in the script ``text``; none where it launches nothing with settings.

    Raises:
        InputError: not a script that the grammar of bash covers, with the line.
    """
    script = Script(located(text.rstrip().rstrip("\\") + "\n"))
    error = script.first_error()
    if error is not None:
        mark = script.mark(error)
        where = Location(path, mark.line, mark.column) if path else None
        raise InputError("not valid bash, as far as the grammar goes", where=where)
    slurm = _directives(text)
    name = path.stem if path else "script"
    found = _readings(script, slurm, name, path, _MAX_DECISIONS)
    if found is None:
        found = _readings(script, slurm, name, path, 0) or []
    return _named(_joined(found), name)


def _directives(text: str) -> dict[str, Text]:
    """What Slurm sets from the ``#SBATCH`` lines."""
    values: dict[str, Text] = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = _SBATCH.match(line)
        if match is None or not match[2] or not match[2].rpartition(":")[2].isdecimal():
            continue
        for variable in _SLURM.get(match[1], ()):
            values[variable] = Text.at(match[2].rpartition(":")[2], Mark(number, match.start(2) + 1))
    return values


def _readings(
    script: Script, slurm: dict[str, Text], name: str, path: Path | None, limit: int
) -> list[Found] | None:
    """One reading for each combination of outcomes; None where these are too many."""
    waiting: list[tuple[int, ...]] = [()]
    found: list[Found] = []
    steps = 0
    for _ in range(_MAX_READINGS):
        if not waiting:
            return found if limit == 0 or _count(found) <= _MAX_CONFIGURATIONS else None
        decisions = Decisions(waiting.pop(), limit)
        state = State(slurm=slurm)
        evaluator = Evaluator(state, decisions)
        with contextlib.suppress(ExitError):
            evaluator.run(script)
        steps += evaluator.steps
        if limit and (evaluator.exhausted or steps > _MAX_STEPS):
            return None
        for launch in evaluator.state.launches:
            config = read_launch(launch, name, path, tuple(decisions.conditions))
            if config is not None:
                found.append((launch, config))
        waiting += reversed(decisions.open)
    return None


def _content(config: TrainingConfig) -> str:
    """What makes a configuration, without its conditions."""
    parts: list[Any] = [sorted((key, repr(each.value)) for key, each in config.settings.items())]
    parts.append(sorted((key, repr(each.value)) for key, each in config.environment.items()))
    parts += [sorted(config.opaque), repr(config.world_size)]
    return repr(parts)


def _count(found: list[Found]) -> int:
    return len({(launch.mark, _content(config)) for launch, config in found})


def _joined(found: list[Found]) -> list[Found]:
    """Readings that come to the same configuration are one, under the conditions that they share."""
    joined: dict[tuple[Mark, str], Found] = {}
    for launch, config in found:
        key = (launch.mark, _content(config))
        if key in joined:
            known = joined[key][1]
            shared = tuple(each for each in known.conditions if each in config.conditions)
            joined[key] = (launch, replace(known, conditions=shared))
        else:
            joined[key] = (launch, config)
    return list(joined.values())


def _named(found: list[Found], name: str) -> list[TrainingConfig]:
    """Several launches in one script are told apart by their lines."""
    lines = {launch.mark.line for launch, _ in found}
    if len(lines) < 2:
        return [config for _, config in found]
    return [replace(config, name=f"{name}:{launch.mark.line}") for launch, config in found]
