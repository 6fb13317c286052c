"""From a verify block to the command that will run, or to the reason why it cannot run here."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from mbridge_skills.card.model import Card, Expect, VerifyBlock
from mbridge_skills.errors import InputError
from mbridge_skills.verify import machine

# From the least to the most that a run can show. A new tier is a new module in ``tiers``, named here.
TIERS = ("cpu", "gpu", "bridge")
# Options of the smoke program that the block gives it: another device would be another tier.
_GIVEN_BY_THE_BLOCK = ("--device", "--card", "--work")


@dataclass(frozen=True)
class Request:
    """What the user asked of a block."""

    bridge: Path | None = None  # a Megatron-Bridge checkout
    smoke_options: tuple[str, ...] = ()  # added to the smoke program's command line
    processes: int | None = None  # in place of the block's number

    @property
    def changes_the_run(self) -> bool:
        """Whether the run is another than the one that the card describes."""
        return bool(self.smoke_options) or self.processes is not None


@dataclass(frozen=True)
class Plan:
    """What will run. ``argv`` still has the placeholders of ``{work}``, which is made last."""

    block: VerifyBlock
    argv: tuple[str, ...]
    template: tuple[str, ...]  # the same without paths of this machine, for the record
    folder: Path | None  # None: the scratch folder
    environment: Mapping[str, str | None]
    expect: Expect
    processes: int
    notes: tuple[str, ...] = ()
    interpreter: tuple[str, ...] = ("{python}",)  # what starts the command's Python


@dataclass(frozen=True)
class NotHere:
    """The block cannot run here."""

    reason: str
    remedy: str | None = None


@dataclass(frozen=True)
class Start:
    """What a tier adds to a block's command."""

    environment: Mapping[str, str | None] = field(default_factory=dict)
    folder: Path | None = None
    prefix: tuple[str, ...] | None = None  # replaces "{python}"
    test: str = ""  # the node id as found
    notes: tuple[str, ...] = ()
    takes_smoke_options: bool = True


class Tier(Protocol):
    """A module of ``tiers``."""

    def prepare(self, block: VerifyBlock, request: Request) -> Start | NotHere:
        """What to add to the command, or why the block cannot run here."""


def plan(card: Card, block: VerifyBlock, request: Request) -> Plan | NotHere:
    """The command of ``block`` on this machine.

    Raises:
        InputError: options were given that the block's command does not take.
    """
    block = _sized(block, request.processes)
    tier: Tier = importlib.import_module(f"mbridge_skills.verify.tiers.{block.tier}")
    start = tier.prepare(block, request)
    if isinstance(start, NotHere):
        return start
    if request.changes_the_run and not start.takes_smoke_options:
        raise InputError(
            f"tier {block.tier} runs upstream's own test, which takes no --processes and no options after --",
            remedy="leave them out, or choose --tier cpu or gpu",
        )
    template = _command(block, start, {"card": "{card}", "test": start.test}) + list(request.smoke_options)
    argv = _command(block, start, {"card": str(card.path.resolve()), "test": start.test})
    return Plan(
        block=block,
        argv=tuple(argv + list(request.smoke_options)),
        template=tuple(template),
        folder=start.folder,
        environment=start.environment,
        expect=_expected(block, request.smoke_options),
        processes=block.needs.processes,
        notes=start.notes,
        interpreter=start.prefix or ("{python}",),
    )


def _sized(block: VerifyBlock, processes: int | None) -> VerifyBlock:
    """``block`` with another number of processes; on GPUs each has one to itself."""
    if processes is None:
        return block
    gpus = processes if block.needs.gpus else 0
    return replace(block, needs=replace(block.needs, processes=processes, gpus=gpus))


def unmet_packages(block: VerifyBlock, remedy: str = "pip install 'mbridge-skills[smoke]'") -> NotHere | None:
    """The answer of a tier whose packages are missing in this environment."""
    unmet = machine.unmet_packages(block.needs.packages)
    if not unmet:
        return None
    return NotHere("; ".join(unmet), remedy=remedy)


def too_few_gpus(block: VerifyBlock) -> NotHere | None:
    """The answer of a tier that needs more GPUs than are visible."""
    found = machine.visible_gpus()
    if found >= block.needs.gpus:
        return None
    hidden = len(machine.gpu_names()) - found
    remedy = "run it where there are enough, or choose --tier cpu"
    if hidden > 0:
        remedy = f"unset CUDA_VISIBLE_DEVICES, which hides {hidden}"
    return NotHere(f"needs {block.needs.gpus} GPUs, {found or 'none'} visible", remedy=remedy)


def _command(block: VerifyBlock, start: Start, paths: Mapping[str, str]) -> list[str]:
    values = {"processes": str(block.needs.processes), "work": "{work}", "python": "{python}", **paths}
    argv = block.argv(values)
    if argv[0] != "{python}":
        return argv
    if start.prefix is not None:
        return [*start.prefix, *argv[1:]]
    return argv


def with_paths(argv: Sequence[str], work: Path) -> list[str]:
    """The command with the interpreter and the scratch folder filled in."""
    return [sys.executable if word == "{python}" else word.replace("{work}", str(work)) for word in argv]


def _expected(block: VerifyBlock, smoke_options: Sequence[str]) -> Expect:
    """What the run must reach: --iterations among the options changes the number that the card states.

    Raises:
        InputError: the smoke program does not take these options.
    """
    if not smoke_options:
        return block.expect
    for word in smoke_options:
        if (name := word.partition("=")[0]) in _GIVEN_BY_THE_BLOCK:
            raise InputError(
                f"{name} is given by the verify block itself",
                remedy="choose the device by --tier" if name == "--device" else f"leave out {name}",
            )
    from mbridge_skills.smoke.options import parse

    chosen = parse(
        [f"--device={'cpu' if block.tier == 'cpu' else 'cuda'}", "--card=-", "--work=-", *smoke_options]
    )
    given = any(word.partition("=")[0] == "--iterations" for word in smoke_options)
    return replace(block.expect, iterations=chosen.iterations) if given else block.expect
