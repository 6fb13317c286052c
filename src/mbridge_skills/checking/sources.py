"""From the paths that a user names to the configurations to judge."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mbridge_skills.checking.report import Unreadable
from mbridge_skills.config.view import TrainingConfig
from mbridge_skills.errors import InputError, Location
from mbridge_skills.readers.combine import combine
from mbridge_skills.readers.registry import kind_of, read, read_text

_SKIPPED = {"__pycache__", "node_modules", "site-packages", "build", "dist"}
# The order in which layers take effect: a recipe, files laid over it, the command line that starts it.
_ORDER = ("python", "yaml", "arguments", "shell")


@dataclass(frozen=True)
class Sources:
    """What was read. ``configs`` are in the order of the files."""

    files: int
    configs: tuple[TrainingConfig, ...]
    unreadable: tuple[Unreadable, ...]


def collect(paths: Sequence[Path], overrides: str | None = None) -> Sources:
    """Read everything that is named.

    Files named together that are each of another kind (a script, a YAML, a launch script) are the layers of
    one configuration, in the order in which they take effect. All else is judged by itself: several files of
    one kind, and what is found in folders (files that git ignores are not). ``overrides`` go on top of each.

    Raises:
        InputError: a path does not exist, nothing that can be read is there, or the overrides are broken.
    """
    top = read_text("overrides", overrides) if overrides else []
    files = list(_files(paths))
    if not files:
        raise InputError("no file that settings are read from", where=Location(paths[0]) if paths else None)
    read_files, unreadable = _read_all(files)
    layered = all(path.is_file() for path in paths) and _are_layers(files)
    groups = (
        [_product([configs for _, configs in _in_order(read_files)])]
        if layered
        else [[[config] for config in configs] for _, configs in read_files]
    )
    configs = tuple(_joined([*layers, *top]) for group in groups for layers in group)
    return Sources(len(files), configs, tuple(unreadable))


def _joined(layers: Sequence[TrainingConfig]) -> TrainingConfig:
    return layers[0] if len(layers) == 1 else combine(layers)


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from _below(path)
        elif path.exists():
            yield path
        else:
            raise InputError("no such file or folder", where=Location(path))


def _below(folder: Path) -> Iterator[Path]:
    """The files below ``folder`` that settings are read from; in a git checkout those that git knows or
    would take."""
    listed = _listed_by_git(folder)
    found = _walked(folder) if listed is None else listed
    yield from (path for path in sorted(found) if kind_of(path) is not None)


def _listed_by_git(folder: Path) -> list[Path] | None:
    try:
        listing = subprocess.run(
            ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            check=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    names = listing.stdout.decode(errors="surrogateescape").split("\0")
    return [path for name in names if name and (path := folder / name).is_file()]


def _walked(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED and not name.startswith(".")]
        yield from (Path(place) / name for name in names)


def _read_all(
    files: Iterable[Path],
) -> tuple[list[tuple[Path, list[TrainingConfig]]], list[Unreadable]]:
    found, unreadable = [], []
    for path in files:
        try:
            found.append((path, read(path)))
        except InputError as error:
            line = error.where.line if error.where else None
            unreadable.append(Unreadable(path, line, error.message))
    return found, unreadable


def _are_layers(files: Sequence[Path]) -> bool:
    kinds = [kind_of(path) for path in files]
    return len(files) > 1 and len(set(kinds)) == len(kinds) and set(kinds) <= set(_ORDER)


def _in_order(
    found: list[tuple[Path, list[TrainingConfig]]],
) -> list[tuple[Path, list[TrainingConfig]]]:
    return sorted((item for item in found if item[1]), key=lambda item: _ORDER.index(kind_of(item[0]) or ""))


def _product(groups: Sequence[list[TrainingConfig]]) -> list[list[TrainingConfig]]:
    """Every choice of one configuration from each layer."""
    chosen: list[list[TrainingConfig]] = [[]]
    for group in groups:
        chosen = [[*before, config] for before in chosen for config in group]
    return [layers for layers in chosen if layers]
