"""The supported Megatron-Bridge releases, the megatron-core that each is pinned to, and every setting's
default."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from mbridge_skills.card.versions import newest_last
from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.errors import InputError

CORE_OF_BRIDGE: Final[Mapping[str, str]] = {
    "0.3.0": "0.16.0",
    "0.3.1": "0.16.1",
    "0.4.0": "0.17.0",
    "0.4.1": "0.17.0",
    "0.4.2": "0.17.1",
    "0.5.0": "0.18.0",
    "0.5.1": "0.18.2",
    "0.6.0": "0.19.0",
    "0.6.2": "0.19.2",
}
"""Oldest first. The cores are those of upstream's submodule and lock file at each tag; 0.4.0 and 0.4.1 name
the commit that is both 0.17.0rc0 and 0.17.0."""

NEWEST: Final = "0.6.2"

REFERENCE_MODEL: Final[Mapping[str, Any]] = {
    "model.num_layers": 8,
    "model.hidden_size": 768,
    "model.ffn_hidden_size": 2688,
    "model.num_attention_heads": 16,
    "model.num_query_groups": 8,
    "model.add_bias_linear": False,
    "model.gradient_accumulation_fusion": False,
    "model.seq_length": 512,
    "train.micro_batch_size": 1,
}
"""A small Llama-3 shape, as upstream's functional tests have it. It stands in where settings name no
model."""


LATER_PATHS: Final = frozenset({"ddp.megatron_fsdp_version"})
"""Paths of upstream's main branch that no release has, but that people set already."""


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""In place of a default: the release has no such path."""


@dataclass(frozen=True)
class Release:
    """What is judged against: a Megatron-Bridge release with a megatron-core release."""

    bridge: str
    core: str

    def __str__(self) -> str:
        return f"megatron-bridge {self.bridge} with megatron-core {self.core}"


def release_of(bridge: str | None = None, core: str | None = None) -> Release:
    """The release to judge against; without ``core``, the one that the Bridge release is pinned to.

    Raises:
        InputError: a version is none, or older than the oldest supported release.
    """
    chosen = bridge or NEWEST
    pinned = CORE_OF_BRIDGE[nearest(chosen)]
    if not _valid(core):
        raise _no_version(core)
    return Release(chosen, core or pinned)


def nearest(bridge: str) -> str:
    """The supported release whose defaults hold for ``bridge``: itself, else the newest one before it.

    Raises:
        InputError: ``bridge`` is no version, or older than the oldest supported release.
    """
    if bridge in CORE_OF_BRIDGE:
        return bridge
    if not _valid(bridge):
        raise _no_version(bridge)
    base = _base(bridge)
    if base in CORE_OF_BRIDGE:
        return base
    in_order = newest_last({*CORE_OF_BRIDGE, base})
    place = in_order.index(base)
    if place == 0:
        raise InputError(
            f"megatron-bridge {bridge} is older than the oldest supported release, {in_order[1]}"
        )
    return in_order[place - 1]


def _valid(version: str | None) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return version is None or bool(Version(version))
    except InvalidVersion:
        return False


def _no_version(version: str | None) -> InputError:
    return InputError(f"{version!r} is no release number: expected one like 0.6.2")


def _base(version: str) -> str:
    from packaging.version import Version

    return Version(version).base_version


@cache
def _histories() -> dict[str, dict[str, Any]]:
    text = (files(__package__) / "defaults.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def is_path(path: str) -> bool:
    """Whether a supported release, or upstream's main branch, has the dotted ``path``."""
    return path in _histories() or path in LATER_PATHS


def all_paths() -> frozenset[str]:
    """Every path that a supported release has."""
    return frozenset(_histories())


@cache
def _order() -> dict[str, int]:
    return {release: index for index, release in enumerate(CORE_OF_BRIDGE)}


def default(path: str, bridge: str) -> Any:
    """The value that ``path`` has in that supported release when nothing sets it.

    UNKNOWN where it is required or made by code, ABSENT where the release has no such path.

    Raises:
        KeyError: no supported release has the path.
    """
    if path in LATER_PATHS:
        return ABSENT
    order = _order()
    at = order[bridge]
    value: Any = "-"
    for release, changed in _histories()[path].items():
        if order[release] > at:
            break
        value = changed
    if value == "?":
        return UNKNOWN
    return ABSENT if value == "-" else value
