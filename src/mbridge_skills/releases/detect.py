"""Which releases a configuration is for: what the user says, what is installed, what a lock file pins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mbridge_skills.errors import InputError, Location
from mbridge_skills.releases.table import NEWEST, Release, release_of

DISTRIBUTIONS: Final = ("megatron-bridge", "megatron-core", "transformer-engine", "torch")
LOCK_FILES: Final = ("uv.lock", "poetry.lock")


@dataclass(frozen=True)
class Stack:
    """The releases to judge against. ``source`` says how the Megatron-Bridge release was found."""

    release: Release
    others: Mapping[str, str]  # of Transformer Engine and torch, where known
    source: str

    @property
    def assumed(self) -> bool:
        """Whether nothing told the release, so that it is the newest supported one."""
        return self.source == "assumed"


def find_stack(bridge: str | None, core: str | None, folder: Path) -> Stack:
    """The releases for a project in ``folder``.

    An option wins over the metadata of installed distributions, and that over a lock file in ``folder`` or
    above it. Nothing is imported. With none of them it is the newest supported release. A core version that
    is found counts only beside a Bridge version from the same source: else the Bridge release's own pin does.

    Raises:
        InputError: a version is none or not supported, or a lock file is broken.
    """
    if bridge is not None:
        found, source = {"megatron-bridge": bridge}, "option"
    else:
        found, source = _told_by_the_project(folder)
    release = release_of(found["megatron-bridge"], core or found.get("megatron-core"))
    others = {name: version for name, version in found.items() if not name.startswith("megatron-")}
    return Stack(release, others, source)


def _told_by_the_project(folder: Path) -> tuple[dict[str, str], str]:
    installed = _installed()
    if "megatron-bridge" in installed:
        return installed, "installed"
    lock = _nearest_lock(folder)
    locked = _locked(lock) if lock else {}
    if "megatron-bridge" in locked:
        return locked, str(lock)
    return {"megatron-bridge": NEWEST}, "assumed"


def _installed() -> dict[str, str]:
    import importlib.metadata

    found = {}
    for name in DISTRIBUTIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _nearest_lock(folder: Path) -> Path | None:
    start = folder.absolute()
    places = (place / name for place in (start, *start.parents) for name in LOCK_FILES)
    return next((path for path in places if path.is_file()), None)


def _locked(path: Path) -> dict[str, str]:
    import tomllib

    try:
        with path.open("rb") as stream:
            data = tomllib.load(stream)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"the lock file cannot be read: {error}", where=Location(path)) from None
    packages = data.get("package", [])
    return {
        package["name"]: package["version"]
        for package in packages
        if isinstance(package, dict) and package.get("name") in DISTRIBUTIONS and "version" in package
    }
