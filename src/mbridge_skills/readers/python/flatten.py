"""A configuration object -> dotted paths."""

from __future__ import annotations

from typing import Any

from mbridge_skills.config.view import UNKNOWN, Origin, Setting
from mbridge_skills.readers.layer import DICTIONARIES, OPTIONAL, SECTIONS, Layer
from mbridge_skills.readers.python.known import CONTAINER
from mbridge_skills.readers.python.values import REST, ObjRef, State, has_unknown

_TELLING = SECTIONS - {"model", "dataset", "optimizer", "logger", "tokenizer", "scheduler", "env_vars"}
_NAMES = ("cfg", "config", "conf", "recipe", "container")


def is_container(state: State, ref: ObjRef, name: str) -> bool:
    """Whether an object is a whole configuration: by its class, or by what was set in it."""
    obj = state.obj(ref)
    if obj.kind == CONTAINER:
        return True
    if obj.kind is not None:
        return False
    used = {
        field
        for field, slot in obj.fields.items()
        if field in SECTIONS and _is_set(state, ref, field, slot.value)
    }
    return bool(used & _TELLING) or bool(used and name.lower().rstrip("_").endswith(_NAMES))


def _is_set(state: State, owner: ObjRef, name: str, value: Any) -> bool:
    """Whether a section was given, or something was set in it; one that was only looked at was not."""
    if not isinstance(value, ObjRef):
        return True
    obj = state.obj(value)
    if obj.home != (owner.uid, name):
        return True
    return any(_is_set(state, value, field, slot.value) for field, slot in obj.fields.items())


def flatten(state: State, root: ObjRef) -> Layer:
    """What is set on ``root``."""
    layer = Layer()
    _Flattener(state, layer).object(root, "", None, ())
    return layer


class _Flattener:
    def __init__(self, state: State, layer: Layer) -> None:
        self._state = state
        self._layer = layer

    def object(self, ref: ObjRef, path: str, origin: Origin | None, above: tuple[int, ...]) -> None:
        obj = self._state.obj(ref)
        at_home = bool(above) and obj.home == (above[-1], path.rpartition(".")[2])
        if path and not at_home:
            self._name(obj.kind, obj.maybe, path, origin)
            if obj.open:
                self._layer.opaque.add(path)
        elif not path and obj.open:
            self._layer.opaque.add("")
        if ref.uid in above:
            return
        for name, slot in obj.fields.items():
            dotted = f"{path}.{name}" if path else name
            if isinstance(slot.value, ObjRef):
                self.object(slot.value, dotted, slot.origin, (*above, ref.uid))
            else:
                self._value(dotted, slot.value, slot.origin)

    def _name(self, kind: str | None, maybe: bool, path: str, origin: Origin | None) -> None:
        """The value of a section itself, where that is a question: None, or an object of some class."""
        if origin is None:
            return
        if path in OPTIONAL or maybe:
            self._layer.settings[path] = Setting(UNKNOWN if maybe or kind is None else kind, origin)

    def _value(self, path: str, value: Any, origin: Origin) -> None:
        if path in DICTIONARIES and isinstance(value, dict):
            known = {name: item for name, item in value.items() if name != REST and isinstance(name, str)}
            for name, item in known.items():
                text = UNKNOWN if has_unknown(item) else str(item)
                self._layer.environment[name] = Setting(text, origin)
            self._layer.settings[path] = Setting(UNKNOWN if has_unknown(value) else value, origin)
            return
        self._layer.settings[path] = Setting(UNKNOWN if has_unknown(value) else value, origin)
        if value is UNKNOWN or (has_unknown(value) and not isinstance(value, list | dict)):
            self._layer.opaque.add(path)
