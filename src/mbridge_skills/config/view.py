"""The view of a training configuration that readers make and gotchas judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal


class _Unknown(Enum):
    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false")


UNKNOWN: Final = _Unknown.UNKNOWN
"""A value that is set, but cannot be determined without running code. Never taken for a default."""
Unknown = Literal[_Unknown.UNKNOWN]


@dataclass(frozen=True)
class Origin:
    """Where a value comes from. ``line`` and ``column`` count from 1."""

    path: Path | None = None
    line: int | None = None
    column: int | None = None
    note: str | None = None  # for instance "default of megatron-bridge 0.6.2", "environment", "--overrides"

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)
        return place or self.note or "unknown origin"


@dataclass(frozen=True)
class Setting:
    """A value, or UNKNOWN, with its origin. Values are plain: None, bool, int, float, str, list, dict; a
    torch dtype is its name ("torch.float32")."""

    value: Any | Unknown
    origin: Origin


@dataclass(frozen=True)
class TrainingConfig:
    """One configuration as far as it is known statically.

    ``settings`` holds what the sources set, by Megatron-Bridge's dotted path ("ddp.use_megatron_fsdp"); a
    path that is not in it has the release's default. ``opaque`` names prefixes below which anything may have
    been set by code that could not be followed ("model", or "" for everything): a path below one of them
    that is not in ``settings`` is UNKNOWN, not its default.
    """

    name: str  # the recipe function, the file, or the batch record's id
    source: Path | None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    environment: Mapping[str, Setting] = field(
        default_factory=dict
    )  # variables that the sources set or unset
    opaque: frozenset[str] = frozenset()
    world_size: int | Unknown = UNKNOWN
    device_capability: tuple[int, int] | Unknown = UNKNOWN  # of the GPU, for instance (9, 0)
    conditions: tuple[str, ...] = ()  # branches this configuration assumes, for instance "FSDP == 1"

    def covers(self, path: str) -> bool:
        """Whether code that could not be followed may have set ``path``."""
        return path not in self.settings and any(
            not prefix or path == prefix or path.startswith(f"{prefix}.") for prefix in self.opaque
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.settings)
