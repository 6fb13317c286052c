"""Where a finding is: paths as users type them, and ``path:line:col``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mbridge_skills.checking.report import Located, Unreadable
from mbridge_skills.checking.reporters.plain import plain


@dataclass(frozen=True)
class Place:
    """A place in a file. ``path`` is None where a setting comes from no file, for instance an option."""

    path: Path | None
    line: int | None = None
    column: int | None = None


def place_of(located: Located) -> Place:
    """Where the setting is that the finding hangs on, else the file that was checked."""
    origin = located.origin
    if origin.path is None:
        return Place(located.source)
    return Place(origin.path, origin.line, origin.column if origin.line is not None else None)


def place_of_unreadable(unreadable: Unreadable) -> Place:
    """Where reading stopped."""
    return Place(unreadable.path, unreadable.line)


def shown_path(path: Path) -> str:
    """``path`` relative to the current folder where it is below it, else as it was given; harmless."""
    return plain(str(relative(path) or path))


def relative(path: Path) -> Path | None:
    """``path`` relative to the current folder; None where it is not below it."""
    here = Path.cwd()
    full = Path(os.path.normpath(here / path))
    return full.relative_to(here) if full.is_relative_to(here) else None


def shown(place: Place, otherwise: str = "") -> str:
    """``path:line:col`` as far as they are known; ``otherwise`` stands in for the path."""
    path = plain(otherwise) if place.path is None else shown_path(place.path)
    return ":".join(str(part) for part in (path, place.line, place.column) if part is not None)


def shown_config(located: Located) -> str | None:
    """The configuration's name, or None where it is just that of the file that the finding is in."""
    source, name = located.source, located.config
    if source is None and located.origin.path is None and name == located.origin.note:
        return None  # what stands in for the file says it
    same_file = located.origin.path is None or located.origin.path == source
    if source is not None and same_file and name in (str(source), source.name, source.stem):
        return None
    return config_name(located)


def config_name(located: Located) -> str:
    """The configuration's name; where that is its file's path, as paths are shown."""
    source = located.source
    if source is not None and located.config == str(source):
        return shown_path(source)
    return plain(located.config)
