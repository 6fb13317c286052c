"""Layers on one another: recipe, YAML, launch script, overrides."""

from __future__ import annotations

from collections.abc import Sequence

from mbridge_skills.config.view import UNKNOWN, Setting, TrainingConfig
from mbridge_skills.readers.layer import Layer


def combine(layers: Sequence[TrainingConfig], name: str | None = None) -> TrainingConfig:
    """One view of ``layers``, given in the order they take effect: a later one overrides an earlier one.

    The first layer is what the others are laid on. That a later layer is opaque at the root only says that it
    does not know what it is laid on; below any other prefix it makes unknown what earlier layers set.
    World size and device are those of the last layer that knows them.

    Raises:
        ValueError: no layers.
    """
    if not layers:
        raise ValueError("no layers to combine")
    base = layers[0]
    result = Layer(dict(base.settings), dict(base.environment), set(base.opaque), base.world_size)
    device = base.device_capability
    conditions = list(base.conditions)
    for later in layers[1:]:
        _lay(result, later)
        if later.world_size is not UNKNOWN:
            result.world_size = later.world_size
        if later.device_capability is not UNKNOWN:
            device = later.device_capability
        conditions += [condition for condition in later.conditions if condition not in conditions]
    built = result.build(name or base.name, base.source, tuple(conditions))
    return TrainingConfig(
        name=built.name,
        source=built.source,
        settings=built.settings,
        environment=built.environment,
        opaque=built.opaque,
        world_size=built.world_size,
        device_capability=device,
        conditions=built.conditions,
    )


def _lay(result: Layer, later: TrainingConfig) -> None:
    for prefix in later.opaque - {""}:
        for path, setting in result.settings.items():
            if path == prefix or path.startswith(f"{prefix}."):
                result.settings[path] = Setting(UNKNOWN, setting.origin)
        result.opaque.add(prefix)
    for path, setting in later.settings.items():
        result.forget(path)
        result.settings[path] = setting
    result.environment.update(later.environment)
