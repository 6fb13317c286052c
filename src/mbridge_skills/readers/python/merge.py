"""Two branches meet: what they agree on is known, all else is not."""

from __future__ import annotations

from typing import Any

from mbridge_skills.config.view import UNKNOWN, Setting
from mbridge_skills.readers.python.values import REST, Obj, ObjRef, Slot, State


def merge(first: State, second: State) -> State:
    """The state after either of two branches of one and the same state."""
    return _Merge(first, second).run()


def same(first: State, second: State) -> bool:
    """Whether nothing that matters differs between two states."""
    if len(first.frames) != len(second.frames) or first.environment != second.environment:
        return False
    if any(
        a != b and _shown(a, first) != _shown(b, second)
        for a, b in zip(first.frames, second.frames, strict=True)
    ):
        return False
    return all(
        first.heap[uid].open == second.heap[uid].open
        and _shown({name: slot.value for name, slot in first.heap[uid].fields.items()}, first)
        == _shown({name: slot.value for name, slot in second.heap[uid].fields.items()}, second)
        for uid in first.heap.keys() & second.heap.keys()
    )


def _shown(names: dict[str, Any], state: State) -> dict[str, Any]:
    """``names`` with objects of which nothing is known made equal."""
    return {
        name: "blank" if isinstance(value, ObjRef) and not state.obj(value).fields else value
        for name, value in names.items()
        if not (isinstance(value, ObjRef) and state.obj(value).home and not state.obj(value).fields)
    }


class _Merge:
    def __init__(self, first: State, second: State) -> None:
        self._first, self._second = first, second
        self._result = first.copy()

    def run(self) -> State:
        first, second, result = self._first, self._second, self._result
        result.heap = {**{uid: obj.copy() for uid, obj in second.heap.items()}, **result.heap}
        for uid in first.heap.keys() & second.heap.keys():
            result.heap[uid] = self._object(uid, first.heap[uid], second.heap[uid])
        result.frames = [
            {name: self._name(name, a, b) for name in {**a, **b}}
            for a, b in zip(first.frames, second.frames, strict=True)
        ]
        result.environment = _environment(first.environment, second.environment)
        return result

    def _name(self, name: str, a: dict[str, Any], b: dict[str, Any]) -> Any:
        if name in a and name in b:
            return self._value(a[name], b[name])
        return UNKNOWN

    def _object(self, uid: int, a: Obj, b: Obj) -> Obj:
        merged = Obj(a.kind if a.kind == b.kind else None, a.open or b.open, a.maybe or b.maybe, a.home)
        merged.aliases = a.aliases | b.aliases
        for name in {**a.fields, **b.fields}:
            ours, theirs = a.fields.get(name), b.fields.get(name)
            if ours is not None and theirs is not None:
                merged.fields[name] = Slot(self._value(ours.value, theirs.value), ours.origin)
                continue
            slot = ours or theirs
            assert slot is not None
            merged.fields[name] = self._only_one(uid, name, slot)
        return merged

    def _only_one(self, uid: int, name: str, slot: Slot) -> Slot:
        """A field that only one branch has set, or looked at."""
        if not isinstance(slot.value, ObjRef):
            return Slot(UNKNOWN, slot.origin)
        if self._result.obj(slot.value).home == (uid, name):
            self._result.lose(slot.value, open=False)
            return slot
        return Slot(self._result.one_of(slot.value), slot.origin)

    def _value(self, a: Any, b: Any) -> Any:
        if isinstance(a, ObjRef) or isinstance(b, ObjRef):
            return a if a == b else self._either(a, b)
        if type(a) is type(b) and a == b:
            return a
        if isinstance(a, dict) and isinstance(b, dict):
            both = {
                key: a[key] for key in a if key in b and type(a[key]) is type(b[key]) and a[key] == b[key]
            }
            doubtful = {key: UNKNOWN for key in {**a, **b} if key not in both}
            return {**both, **doubtful, REST: UNKNOWN}
        return UNKNOWN

    def _either(self, a: Any, b: Any) -> Any:
        """One object or another, or no object: its fields are those on which both agree."""
        if not (isinstance(a, ObjRef) and isinstance(b, ObjRef)):
            return self._result.one_of(a, b)
        ours, theirs = self._first.obj(a), self._second.obj(b)
        ref = self._result.new(
            ours.kind if ours.kind == theirs.kind else None, maybe=ours.maybe or theirs.maybe
        )
        self._result.obj(ref).aliases = ours.aliases | theirs.aliases | {a.uid, b.uid}
        for name in ours.fields.keys() | theirs.fields.keys():
            one, two = ours.fields.get(name), theirs.fields.get(name)
            slot = one or two
            assert slot is not None
            if isinstance(slot.value, ObjRef) or isinstance(two and two.value, ObjRef):
                value: Any = (
                    self._either(one.value, two.value) if one and two else self._result.one_of(slot.value)
                )
            else:
                value = self._value(one.value, two.value) if one and two else UNKNOWN
            self._result.obj(ref).fields[name] = Slot(value, slot.origin)
        return ref


def _environment(a: dict[str, Setting], b: dict[str, Setting]) -> dict[str, Setting]:
    merged: dict[str, Setting] = {}
    for name in {**a, **b}:
        ours, theirs = a.get(name), b.get(name)
        if ours is not None and theirs is not None and ours.value == theirs.value:
            merged[name] = ours
        else:
            setting = ours or theirs
            assert setting is not None
            merged[name] = Setting(UNKNOWN, setting.origin)
    return merged
