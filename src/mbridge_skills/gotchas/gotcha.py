"""A gotcha, and what one says about a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mbridge_skills.gotchas.expression import Expression

Severity = Literal["error", "warning", "info"]
Confidence = Literal["proved", "reported", "inferred"]
Phase = Literal["validation", "wrap", "first step", "save", "load", "silent"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
CONFIDENCES: tuple[Confidence, ...] = ("proved", "reported", "inferred")
PHASES: tuple[Phase, ...] = ("validation", "wrap", "first step", "save", "load", "silent")

Applies = Mapping[str, str]
"""Distribution -> release specifier; all of them must hold."""


@dataclass(frozen=True)
class Raises:
    """What some releases raise. Variable parts of ``message`` are written ``...``."""

    exception: str
    message: str
    applies: Applies = field(default_factory=dict)


@dataclass(frozen=True)
class Fix:
    """Settings to apply, by path. ``safe`` where they change nothing that the user has asked for."""

    settings: Mapping[str, Any]
    safe: bool
    environment: Mapping[str, str | None] = field(default_factory=dict)
    note: str | None = None


@dataclass(frozen=True)
class Gotcha:
    """One trap: in which releases, under which condition, with what effect."""

    code: str
    title: str
    severity: Severity
    confidence: Confidence
    applies: Applies
    when: Expression
    phase: Phase
    raises: tuple[Raises, ...]  # the first one whose releases fit is raised; none where nothing is
    becomes: Mapping[str, Any]  # what upstream changes silently: path -> value, or {"same_as": path}
    fix: Fix | None
    log: tuple[str, ...]  # regular expressions that recognise it in a log
    sources: tuple[str, ...]
    verified_on: tuple[str, ...]
    records: tuple[str, ...]  # ids of the researched records that it covers
    body: str
    path: Path


@dataclass(frozen=True)
class Finding:
    """A gotcha that holds for a configuration, in one release."""

    gotcha: Gotcha
    exception: str | None
    message: str | None
    becomes: Mapping[str, Any]

    @property
    def code(self) -> str:
        """The gotcha's code."""
        return self.gotcha.code

    @property
    def stops_validation(self) -> bool:
        """Whether upstream's own ``validate()`` raises on it."""
        return self.gotcha.severity == "error" and self.gotcha.phase == "validation"
