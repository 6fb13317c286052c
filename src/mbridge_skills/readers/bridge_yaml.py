"""Megatron-Bridge's YAML: overrides of a recipe, and the ``run_config.yaml`` saved beside a checkpoint.

A saved configuration names its classes (``_target_``) and is complete: what it does not have is the default.
An override file is laid on a recipe that it does not name, so everything else is unknown until the two are
combined.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mbridge_skills.config.view import UNKNOWN, TrainingConfig
from mbridge_skills.readers.layer import DICTIONARIES, SECTIONS, Layer
from mbridge_skills.readers.yaml_nodes import Node

_CONTAINER = "ConfigContainer"
_TARGET = "_target_"


def is_bridge(document: Node) -> bool:
    """Whether ``document`` has the sections of a ``ConfigContainer``."""
    entries = document.entries
    if entries is None:
        return False
    if _class(document) == _CONTAINER:
        return True
    known = [name for name in entries if name in SECTIONS]
    return (
        bool(known)
        and any(entries[name].entries is not None for name in known)
        and 2 * len(known) >= len(entries)
    )


def read_document(document: Node, name: str, path: Path | None) -> TrainingConfig:
    """The view of ``document``, one that ``is_bridge``."""
    complete = _class(document) == _CONTAINER
    layer = Layer(opaque=set() if complete else {""})
    for key, node in (document.entries or {}).items():
        if not key.startswith("_"):
            _read(node, key, layer)
    return layer.build(name, path)


def _class(node: Node) -> str | None:
    target = node.entries.get(_TARGET) if node.entries else None
    return target.value.rpartition(".")[2] if target and isinstance(target.value, str) else None


def _read(node: Node, path: str, layer: Layer) -> None:
    entries = node.entries
    if not entries:
        layer.set(path, _plain(node.value), node.origin)
        return
    if path in DICTIONARIES:
        layer.set(path, dict(node.value), node.origin)
        return
    if _TARGET in entries and not _is_section(entries):
        layer.set(path, _plain(node.value), node.origin)
        return
    for key, child in entries.items():
        if not key.startswith("_"):
            _read(child, f"{path}.{key}", layer)
    kind = _class(node)
    if kind is not None:
        layer.name_section(path, kind, node.origin)


def _is_section(entries: dict[str, Node]) -> bool:
    """Whether a mapping with ``_target_`` is a dataclass, not a dtype, a function, an enum or a partial."""
    return "_call_" not in entries and "_args_" not in entries and "_partial_" not in entries


def _plain(value: Any) -> Any:
    """Plain data for what a saved configuration writes as a call: a dtype, an enum, a function."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    target = value.get(_TARGET)
    if not isinstance(target, str):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value.get("_name_"), str):
        return value["_name_"]
    if value.get("_call_") is False and target.startswith("torch."):
        return target
    return UNKNOWN
