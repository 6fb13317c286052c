"""What names and fields can hold while a Python file is read, and the state of all of them.

Plain data stands for itself and is never changed in place. A configuration object is an ``ObjRef`` into the
heap of the state, so that two names for one object stay that when a state is copied for a branch.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mbridge_skills.config.view import UNKNOWN, Origin, Setting

REST: Final = "\ue000"
"""The key in a dictionary under which entries are that cannot be known."""


@dataclass(frozen=True)
class Ref:
    """Something of another module, by its dotted name ("os.environ")."""

    dotted: str

    @property
    def last(self) -> str:
        """The last part of the name."""
        return self.dotted.rpartition(".")[2]


@dataclass(frozen=True)
class Func:
    """A function of this file. ``inner`` where it is defined in another function."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    inner: bool = False


@dataclass(frozen=True)
class LocalClass:
    """A class of this file."""

    node: ast.ClassDef


@dataclass(frozen=True)
class ObjRef:
    """A configuration object: a key of the heap."""

    uid: int


class Slot(NamedTuple):
    """The value of a field, and where it was set."""

    value: Any
    origin: Origin


@dataclass
class Obj:
    """A configuration object.

    ``kind`` is the class where that is known. ``open``: fields that are not in ``fields`` may have any value;
    otherwise they have their default. ``maybe``: it may be no object at all, for instance None or a number.
    ``home`` is the object and field that it was first read from, without having been assigned. ``aliases``
    are
    objects that it may be one of: what is set on it may be set on them.
    """

    kind: str | None = None
    open: bool = True
    maybe: bool = True
    home: tuple[int, str] | None = None
    aliases: frozenset[int] = frozenset()
    fields: dict[str, Slot] = field(default_factory=dict)

    def copy(self) -> Obj:
        """A copy that can be changed on its own."""
        return Obj(self.kind, self.open, self.maybe, self.home, self.aliases, dict(self.fields))


def has_unknown(value: Any) -> bool:
    """Whether ``value`` is, or contains, anything but plain data."""
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    if isinstance(value, dict):
        return any(key == REST or has_unknown(item) for key, item in value.items())
    return not (value is None or isinstance(value, bool | int | float | str))


class Counter:
    """Gives numbers to new objects."""

    def __init__(self) -> None:
        self.last = 0
        self._children: dict[tuple[int, str], int] = {}

    def child(self, uid: int, name: str) -> int:
        """The number of what a field holds that was not assigned: the same on every branch."""
        return self._children.setdefault((uid, name), 0) or self._new_child(uid, name)

    def _new_child(self, uid: int, name: str) -> int:
        self._children[uid, name] = self.next()
        return self._children[uid, name]

    def next(self) -> int:
        """A number that was not given before."""
        self.last += 1
        return self.last


class State:
    """The names of every active function, the objects, and the environment variables."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self.frames: list[dict[str, Any]] = [{}]
        self.heap: dict[int, Obj] = {}
        self.environment: dict[str, Setting] = {}

    @property
    def names(self) -> dict[str, Any]:
        """The names of the function that runs."""
        return self.frames[-1]

    def copy(self) -> State:
        """A copy for a branch."""
        other = State(self._counter)
        other.frames = [dict(frame) for frame in self.frames]
        other.heap = {uid: obj.copy() for uid, obj in self.heap.items()}
        other.environment = dict(self.environment)
        return other

    def prune(self) -> None:
        """Forget objects that nothing holds."""
        held: set[int] = set()
        waiting = [value for frame in self.frames for value in frame.values()]
        while waiting:
            value = waiting.pop()
            if isinstance(value, ObjRef):
                if value.uid not in held and value.uid in self.heap:
                    held.add(value.uid)
                    waiting += [slot.value for slot in self.heap[value.uid].fields.values()]
            elif isinstance(value, list):
                waiting += value
            elif isinstance(value, dict):
                waiting += value.values()
        self.heap = {uid: obj for uid, obj in self.heap.items() if uid in held}

    def new(self, kind: str | None = None, *, open: bool = True, maybe: bool = True) -> ObjRef:
        """A new object."""
        uid = self._counter.next()
        self.heap[uid] = Obj(kind, open, maybe)
        return ObjRef(uid)

    def one_of(self, *values: Any) -> Any:
        """One of ``values``, it is not known which."""
        uids = [value.uid for value in values if isinstance(value, ObjRef)]
        if not uids:
            return UNKNOWN
        ref = self.new(maybe=True)
        self.heap[ref.uid].aliases = frozenset(uids).union(*(self.obj(ObjRef(uid)).aliases for uid in uids))
        return ref

    def obj(self, ref: ObjRef) -> Obj:
        """The object that ``ref`` means."""
        return self.heap.setdefault(ref.uid, Obj())

    def get(self, ref: ObjRef, name: str, origin: Origin) -> Any:
        """The value of a field. One that is not set is an object of its own, a section or a value."""
        obj = self.obj(ref)
        if name not in obj.fields:
            child = ObjRef(self._counter.child(ref.uid, name))
            self.heap[child.uid] = Obj(open=obj.open, home=(ref.uid, name), aliases=obj.aliases)
            obj.fields[name] = Slot(child, origin)
        return obj.fields[name].value

    def put(self, ref: ObjRef, name: str, value: Any, origin: Origin) -> None:
        """Set a field."""
        obj = self.obj(ref)
        obj.fields[name] = Slot(value, origin)
        for uid in obj.aliases:
            self.lose(ObjRef(uid))

    def lose(self, ref: ObjRef, seen: set[int] | None = None, *, open: bool = True) -> None:
        """The object may have been changed in any way: what was set on it is no longer known."""
        seen = set() if seen is None else seen
        if ref.uid in seen:
            return
        seen.add(ref.uid)
        obj = self.obj(ref)
        for uid in obj.aliases:
            self.lose(ObjRef(uid), seen, open=open)
        obj.open = obj.open or open
        obj.maybe = obj.maybe or open
        for name, slot in obj.fields.items():
            if isinstance(slot.value, ObjRef):
                self.lose(slot.value, seen, open=open)
            else:
                obj.fields[name] = Slot(UNKNOWN, slot.origin)

    def exchange(self, old: Any, new: Any) -> None:
        """Everything that holds the very list or dictionary ``old`` holds ``new`` from here on."""
        for frame in self.frames:
            for name, value in frame.items():
                if value is old:
                    frame[name] = new
        for obj in self.heap.values():
            for name, slot in obj.fields.items():
                if slot.value is old:
                    obj.fields[name] = Slot(new, slot.origin)
