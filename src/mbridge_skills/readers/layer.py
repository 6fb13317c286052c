"""What one source sets, while it is being read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mbridge_skills.config.view import UNKNOWN, Origin, Setting, TrainingConfig, Unknown

SECTIONS = frozenset(
    {
        "rng",
        "rerun_state_machine",
        "train",
        "model",
        "optimizer",
        "optimizer_config_override_provider",
        "ddp",
        "validation",
        "scheduler",
        "dataset",
        "logger",
        "tokenizer",
        "checkpoint",
        "dist",
        "ft",
        "straggler",
        "nvrx_straggler",
        "profiling",
        "peft",
        "comm_overlap",
        "mixed_precision",
        "tensor_inspect",
        "inprocess_restart",
        "env_vars",
    }
)
"""The fields of ``ConfigContainer`` (megatron/bridge/training/config.py), 0.3.0 to 0.6.2."""

OPTIONAL = frozenset(
    {
        "comm_overlap",
        "ft",
        "inprocess_restart",
        "mixed_precision",
        "nvrx_straggler",
        "peft",
        "straggler",
        "tensor_inspect",
    }
)
"""Sections that are None by default. Where one is an object, its class name is its value."""

DICTIONARIES = frozenset({"env_vars"})
"""Fields whose value is a dictionary and not a section of its own."""


@dataclass
class Layer:
    """Settings in the making. Setting a path replaces what was set at it and below it."""

    settings: dict[str, Setting] = field(default_factory=dict)
    environment: dict[str, Setting] = field(default_factory=dict)
    opaque: set[str] = field(default_factory=set)
    world_size: int | Unknown = UNKNOWN

    def set(self, path: str, value: Any, origin: Origin) -> None:
        """Set ``path``; a dictionary becomes one setting for each of its entries."""
        if path in DICTIONARIES and isinstance(value, dict):
            self._default_environment(value, origin)
        elif isinstance(value, dict) and value and all(isinstance(key, str) for key in value):
            for key, item in value.items():
                self.set(f"{path}.{key}", item, origin)
            return
        section = path.partition(".")[0]
        if section in DICTIONARIES and section != path:
            self._default_environment({path.partition(".")[2]: value}, origin)
        self.forget(path)
        self._open_above(path)
        self.settings[path] = Setting(value, origin)

    def put(self, path: str, value: Any, origin: Origin) -> None:
        """Set exactly ``path``, whatever the value is."""
        self.settings[path] = Setting(value, origin)

    def name_section(self, path: str, kind: str, origin: Origin) -> None:
        """Note that an optional section is there, by its class; other sections always are."""
        if path in OPTIONAL:
            self.settings[path] = Setting(kind, origin)

    def _open_above(self, path: str) -> None:
        """What ``path`` is in is a section, and no longer a single value."""
        while "." in path:
            path = path.rpartition(".")[0]
            above = self.settings.pop(path, None)
            if above is not None and above.value is not None:
                self.opaque.add(path)

    def forget(self, path: str) -> None:
        """Drop what was set below ``path``: it is replaced."""
        below = f"{path}."
        for known in [known for known in self.settings if known.startswith(below)]:
            del self.settings[known]

    def lose(self, path: str, origin: Origin) -> None:
        """``path`` and all below it may have any value from here on."""
        below = f"{path}." if path else ""
        for known in self.settings:
            if known == path or known.startswith(below):
                self.settings[known] = Setting(UNKNOWN, origin)
        self.opaque.add(path)

    def _default_environment(self, variables: dict[Any, Any], origin: Origin) -> None:
        for name, value in variables.items():
            if isinstance(name, str):
                text = UNKNOWN if value is UNKNOWN else str(value)
                self.environment[name] = Setting(text, origin)

    def build(self, name: str, source: Path | None, conditions: tuple[str, ...] = ()) -> TrainingConfig:
        """The finished view."""
        return TrainingConfig(
            name=name,
            source=source,
            settings=dict(self.settings),
            environment=dict(self.environment),
            opaque=frozenset(self.opaque),
            world_size=self.world_size,
            conditions=conditions,
        )
