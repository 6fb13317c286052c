"""A live ``ConfigContainer``: its dataclass fields, walked without importing what defines them."""

from __future__ import annotations

import dataclasses
import enum
import re
from pathlib import PurePath
from typing import Any

from mbridge_skills.config.view import UNKNOWN, Origin, TrainingConfig
from mbridge_skills.readers.layer import DICTIONARIES, Layer

_DTYPE = re.compile(r"torch\.\w+")
_MAX_DEPTH = 8
_ORIGIN = Origin(note="live configuration")


def read_container(config: object, name: str = "config") -> TrainingConfig:
    """The view of ``config``, any object whose sections are dataclasses.

    Fields that hold code, tensors or other objects are unknown; an enum is its name, a dtype "torch.float32".

    Raises:
        TypeError: ``config`` is no instance of a dataclass.
    """
    if not dataclasses.is_dataclass(config) or isinstance(config, type):
        raise TypeError(f"expected a ConfigContainer, got {type(config).__name__}")
    layer = Layer()
    _walk(config, "", layer, ())
    return layer.build(name, None)


def _walk(section: Any, prefix: str, layer: Layer, above: tuple[int, ...]) -> None:
    for field in dataclasses.fields(section):
        if field.name.startswith("_"):
            continue
        path = f"{prefix}.{field.name}" if prefix else field.name
        try:
            value = getattr(section, field.name)
        except Exception:  # a property that needs what is not there yet
            layer.lose(path, _ORIGIN)
            continue
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            if id(value) in above or len(above) > _MAX_DEPTH:
                layer.lose(path, _ORIGIN)
            else:
                layer.name_section(path, type(value).__name__, _ORIGIN)
                _walk(value, path, layer, (*above, id(section)))
            continue
        plain = plain_value(value)
        if path in DICTIONARIES and isinstance(plain, dict):
            layer.set(path, plain, _ORIGIN)
        else:
            layer.put(path, plain, _ORIGIN)


def plain_value(value: Any) -> Any:
    """``value`` as plain data, UNKNOWN where it is none."""
    if isinstance(value, enum.Enum):
        return value.name
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, list | tuple | set | frozenset):
        items = [plain_value(item) for item in value]
        return UNKNOWN if any(item is UNKNOWN for item in items) else items
    if isinstance(value, dict):
        entries = {key: plain_value(item) for key, item in value.items() if isinstance(key, str)}
        known = len(entries) == len(value) and not any(item is UNKNOWN for item in entries.values())
        return entries if known else UNKNOWN
    if type(value).__module__ == "torch" and _DTYPE.fullmatch(text := str(value)):
        return text
    return UNKNOWN
