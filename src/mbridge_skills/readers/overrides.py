"""Overrides as Hydra and OmegaConf take them: ``ddp.use_megatron_fsdp=true ++model.x=[1,2] ~peft``.

Values follow Hydra's override grammar: ``true`` and ``null`` in any case, numbers with underscores, quotes,
lists and dictionaries. ``None`` is a string there. Sweeps, functions and interpolations are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mbridge_skills.config.view import UNKNOWN, Origin, TrainingConfig
from mbridge_skills.errors import InputError, Location
from mbridge_skills.readers.layer import Layer
from mbridge_skills.readers.words import HOLE, Word, split_words

_OVERRIDE = re.compile(
    r"(?P<mark>\+\+|\+|~)?(?P<path>[A-Za-z_]\w*(?:\.\w+)*)(?:@[\w.:]*)?(?P<equals>=)?", re.ASCII
)
_INT = re.compile(r"[-+]?\d[\d_]*", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\d[\d_]*\.[\d_]*|\.\d[\d_]*|\d[\d_]*)(?:[eE][-+]?\d[\d_]*)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?inf|nan", re.IGNORECASE)
_CALL = re.compile(r"\w+\s*\(", re.ASCII)
_MAX_DEPTH = 30


@dataclass(frozen=True)
class Override:
    """One override. ``deletes`` where it begins with ``~``; its value then means nothing."""

    path: str
    value: Any
    deletes: bool = False


def parse_override(text: str) -> Override | None:
    """The override in ``text``, or None where it is none: no ``key=value`` and no ``~key``."""
    match = _OVERRIDE.match(text)
    if match is None:
        return None
    deletes = match["mark"] == "~"
    if match["equals"] is None:
        return Override(match["path"], None, True) if deletes and match.end() == len(text) else None
    return Override(match["path"], parse_value(text[match.end() :]), deletes)


def parse_value(text: str) -> Any:
    """The value that Hydra would give ``text``; UNKNOWN where that depends on more than ``text``."""
    if HOLE in text or "${" in text:
        return UNKNOWN
    reader = _ValueReader(text)
    try:
        value = reader.value("", 0)
    except _NoValueError:
        return UNKNOWN
    return value if reader.at_end() else UNKNOWN


class _NoValueError(Exception):
    """Not a value of the grammar: a sweep, an open bracket, too deep."""


class _ValueReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def at_end(self) -> bool:
        self._blanks()
        return self._at >= len(self._text)

    def value(self, stops: str, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise _NoValueError
        self._blanks()
        char = self._peek()
        if char in ("'", '"'):
            return self._quoted(char)
        if char == "[":
            return self._list(depth)
        if char == "{":
            return self._dict(depth)
        return _scalar(self._bare(stops or ","))

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _blanks(self) -> None:
        while self._peek().isspace():
            self._at += 1

    def _bare(self, stops: str) -> str:
        begin = self._at
        while self._at < len(self._text) and self._text[self._at] not in stops:
            self._at += 2 if self._text[self._at] == "\\" else 1
        return self._text[begin : self._at].strip()

    def _quoted(self, quote: str) -> str:
        self._at += 1
        out: list[str] = []
        while (char := self._peek()) != quote:
            if not char:
                raise _NoValueError
            if char == "\\" and self._text[self._at + 1 : self._at + 2] in (quote, "\\"):
                self._at += 1
            out.append(self._peek())
            self._at += 1
        self._at += 1
        return "".join(out)

    def _list(self, depth: int) -> list[Any]:
        self._at += 1
        items: list[Any] = []
        while True:
            self._blanks()
            if self._peek() == "]" and not items:
                break
            items.append(self.value(",]}", depth + 1))
            self._blanks()
            if self._peek() != ",":
                break
            self._at += 1
        self._close("]")
        return items

    def _dict(self, depth: int) -> dict[str, Any]:
        self._at += 1
        entries: dict[str, Any] = {}
        while True:
            self._blanks()
            if self._peek() == "}" and not entries:
                break
            key = self._quoted(self._peek()) if self._peek() in ("'", '"') else self._bare(":,]}")
            self._blanks()
            if self._peek() != ":" or not key:
                raise _NoValueError
            self._at += 1
            entries[key] = self.value(",]}", depth + 1)
            self._blanks()
            if self._peek() != ",":
                break
            self._at += 1
        self._close("}")
        return entries

    def _close(self, bracket: str) -> None:
        if self._peek() != bracket:
            raise _NoValueError
        self._at += 1


def _scalar(text: str) -> Any:
    lowered = text.lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    if lowered == "null":
        return None
    if len(text) < 300:
        if _INT.fullmatch(text):
            return int(text.replace("_", ""))
        if _FLOAT.fullmatch(text) or _NOT_FINITE.fullmatch(text):
            return float(text.replace("_", ""))
    if _CALL.match(text):
        return UNKNOWN
    return re.sub(r"\\(.)", r"\1", text)


def apply_override(override: Override, layer: Layer, origin: Origin) -> None:
    """Let ``override`` take effect in ``layer``."""
    if override.deletes:
        layer.lose(override.path, origin)
    else:
        layer.set(override.path, override.value, origin)


def read_overrides(
    text: str | Iterable[str], path: Path | None = None, note: str = "--overrides"
) -> list[TrainingConfig]:
    """Read overrides: one string that is split as a shell would, or the single overrides.

    What they are laid on is not known, hence opaque until they are combined with it.

    Raises:
        InputError: a word is no override, or a quotation is not closed.
    """
    if isinstance(text, str):
        words = split_words(text, path, note)
    else:
        words = [Word(item, Origin(path, note=note)) for item in text]
    layer = Layer(opaque={""})
    for word in words:
        override = parse_override(word.text)
        if override is None:
            place = word.origin
            where = Location(place.path, place.line, place.column) if place.path else None
            raise InputError(
                f"{word.text!r} is not an override", where=where, remedy="write key=value or ~key"
            )
        apply_override(override, layer, word.origin)
    return [layer.build(note, path)] if words else []
