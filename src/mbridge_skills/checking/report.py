"""What a check came to: dumb records that reporters turn into text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mbridge_skills.config.view import Origin
from mbridge_skills.gotchas.gotcha import Finding


@dataclass(frozen=True)
class Located:
    """A finding in one configuration, with the place of the setting that it hangs on most."""

    finding: Finding
    config: str  # the recipe's or file's name
    source: Path | None  # the file that was checked
    origin: Origin  # of a setting that the condition reads; the file itself where none is set there
    possible: bool  # True where an unknown value decides whether it holds
    unknowns: tuple[str, ...] = ()  # those unknown values, by dotted path
    conditions: tuple[str, ...] = ()  # branches under which it holds, for instance "FSDP == 1"

    @property
    def code(self) -> str:
        """The gotcha's code, for instance MB101."""
        return self.finding.code


@dataclass(frozen=True)
class Unreadable:
    """A file that could not be read, and why; the others are checked all the same."""

    path: Path
    line: int | None
    message: str


@dataclass(frozen=True)
class CheckReport:
    """A whole check. ``findings`` are in the order of path, line and code."""

    bridge: str  # the Megatron-Bridge release judged for
    core: str
    release_source: str  # "option", "installed", a lock file's path, or "assumed"
    configs: int  # configurations judged
    files: int  # files looked at
    unknown_values: int  # settings whose value could not be determined
    findings: tuple[Located, ...]
    suppressed: int = 0  # findings silenced by a comment with a reason
    unlikely: int = 0  # left out: they hold only if an unknown value is not the release's default
    unreadable: tuple[Unreadable, ...] = ()
