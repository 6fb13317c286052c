"""A card as frozen records: what the rest of the program works with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mbridge_skills.card.versions import satisfies
from mbridge_skills.errors import InputError, Location

Level = Literal["recommended", "conditional", "experimental", "avoid"]
Tier = Literal["cpu", "gpu", "bridge"]
Label = Literal["cpu-simulated", "gpu"]

# What a command may leave open; whoever runs it fills these in.
PLACEHOLDERS = ("python", "processes", "work", "card", "test")
PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True)
class FeatureStatus:
    """How well one feature of the skill is verified."""

    status: str
    on: str | None = None  # ISO date
    evidence: tuple[str, ...] = ()  # ids
    note: str | None = None


@dataclass(frozen=True)
class VersionOverride:
    """Extra settings for the releases that ``when`` names; all of its specifiers must hold."""

    when: Mapping[str, str]  # package -> specifier
    set: Mapping[str, Any]
    reason: str

    def applies(self, versions: Mapping[str, str | None]) -> bool | None:
        """Whether it applies to these releases; None where that hangs on one that is unknown."""
        verdicts = [satisfies(specifier, versions.get(package)) for package, specifier in self.when.items()]
        if False in verdicts:
            return False
        return None if None in verdicts else True


@dataclass(frozen=True)
class Setting:
    """One configuration value with the reason why it is recommended."""

    key: str  # dotted path
    value: Any
    reason: str


class Settings(NamedTuple):
    """What to set for given releases, and the overrides that could not be decided for want of a release."""

    settings: list[Setting]
    undecided: list[VersionOverride]


@dataclass(frozen=True)
class Needs:
    """What a verify block needs to run."""

    gpus: int
    processes: int
    packages: Mapping[str, str] = field(default_factory=dict)  # name -> specifier
    bridge_checkout: bool = False


@dataclass(frozen=True)
class Expect:
    """What a run must reach; None where the block does not say."""

    iterations: int | None = None
    passes: int | None = None


@dataclass(frozen=True)
class CriterionSpec:
    """One success criterion; ``tolerance`` is relative: dtype -> metric -> limit."""

    id: str
    required: bool = True
    tolerance: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class VerifyBlock:
    """One way to verify the skill."""

    id: str
    title: str
    tier: Tier
    label: Label
    command: tuple[str, ...]
    needs: Needs
    timeout_s: float
    stall_s: float
    criteria: tuple[CriterionSpec, ...]
    expect: Expect = Expect()
    test: str | None = None  # pytest node id, in the bridge tier

    def criterion(self, name: str) -> CriterionSpec | None:
        """The criterion with this id, or None where the block does not judge it."""
        return next((criterion for criterion in self.criteria if criterion.id == name), None)

    def argv(self, values: Mapping[str, str]) -> list[str]:
        """The command with ``{name}`` replaced by ``values[name]``.

        Raises:
            KeyError: the command has a placeholder that ``values`` does not name.
        """
        return [PLACEHOLDER.sub(lambda match: values[match[1]], word) for word in self.command]


@dataclass(frozen=True)
class Evidence:
    """Base of all evidence."""

    id: str
    note: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class PathEvidence(Evidence):
    """A file in a repository, at a release."""

    repository: str
    release: str
    path: str


@dataclass(frozen=True)
class SymbolEvidence(Evidence):
    """A class or function in a repository, at a release: ``path::Symbol``."""

    repository: str
    release: str
    symbol: str


@dataclass(frozen=True)
class UrlEvidence(Evidence):
    """A page."""

    url: str


@dataclass(frozen=True)
class RunEvidence(Evidence):
    """A run of a verify block."""

    date: str  # ISO date
    block: str
    tier: Tier
    label: Label
    verdict: Literal["passed", "failed"]
    versions: Mapping[str, str]
    command: tuple[str, ...]
    report: str | None = None  # path of the evidence file, relative to the card


@dataclass(frozen=True)
class Card:
    """A skill's card."""

    path: Path
    name: str
    title: str
    summary: str
    level: Level
    level_reason: str
    stability: str
    validation_status: Mapping[str, FeatureStatus]
    recommended_path: Mapping[str, Any]  # dotted config key -> value
    verify: tuple[VerifyBlock, ...]
    evidence: tuple[Evidence, ...]
    feature_meaning: Mapping[str, str] = field(default_factory=dict)
    version_overrides: tuple[VersionOverride, ...] = ()
    constraints: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    follow_up: tuple[str, ...] = ()
    validated_on: str | None = None  # ISO date
    validated_with: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)  # as read, for printing

    @property
    def runs(self) -> tuple[RunEvidence, ...]:
        """The evidence that is a run."""
        return tuple(entry for entry in self.evidence if isinstance(entry, RunEvidence))

    def settings_for(self, versions: Mapping[str, str | None]) -> Settings:
        """The recommended path for these releases (package -> version, None or missing where unknown).

        Overrides apply in the card's order, a later one over an earlier one. One whose specifiers hang
        on an unknown release does not apply and is returned as undecided.
        """
        chosen = {
            key: Setting(key, value, "recommended path") for key, value in self.recommended_path.items()
        }
        undecided = []
        for override in self.version_overrides:
            applies = override.applies(versions)
            if applies is None:
                undecided.append(override)
            elif applies:
                chosen.update(
                    {key: Setting(key, value, override.reason) for key, value in override.set.items()}
                )
        return Settings(list(chosen.values()), undecided)

    def block(self, name: str) -> VerifyBlock:
        """The verify block with this id.

        Raises:
            InputError: there is none; the message names those that there are.
        """
        for block in self.verify:
            if block.id == name:
                return block
        names = ", ".join(block.id for block in self.verify) or "none"
        raise InputError(f"no verify block {name!r} (there are: {names})", where=Location(self.path))

    def blocks_for(self, tier: str) -> tuple[VerifyBlock, ...]:
        """The verify blocks of a tier, in the card's order."""
        return tuple(block for block in self.verify if block.tier == tier)
