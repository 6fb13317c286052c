"""The command line flags whose meaning is known, read from the tables beside this file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.readers.overrides import parse_value
from mbridge_skills.readers.words import HOLE

_DTYPES = {
    "fp32": "torch.float32",
    "fp16": "torch.float16",
    "bf16": "torch.bfloat16",
    "fp8": "torch.uint8",
}
_TRUE = frozenset({"true", "1", "t", "yes", "y"})
_FALSE = frozenset({"false", "0", "f", "no", "n"})

NOTHING = object()
"""What a flag that has no effect sets."""


@dataclass(frozen=True)
class Flag:
    """One flag: the dotted paths it sets, how its value is read, and what is set along with it."""

    name: str
    paths: tuple[str, ...]
    kind: str
    implies: tuple[tuple[str, Any], ...] = ()

    @property
    def bare(self) -> bool:
        """Whether no value follows."""
        return self.kind in ("true", "false") or self.kind.endswith("=")

    @property
    def several(self) -> bool:
        """Whether more than one value may follow."""
        return self.kind.startswith("list-")

    def value(self, texts: list[str]) -> Any:
        """What ``texts`` stand for; UNKNOWN where they are no such value, NOTHING where none is set."""
        if self.bare:
            return self.kind[:-1] if self.kind.endswith("=") else self.kind == "true"
        if self.several:
            return [_read(text, self.kind.removeprefix("list-")) for text in texts]
        return _read(texts[0], self.kind) if texts else UNKNOWN


def _read(text: str, kind: str) -> Any:
    if HOLE in text or kind == "unknown":
        return UNKNOWN
    if kind.startswith("none-"):
        return None if text == "None" else _read(text, kind.removeprefix("none-"))
    if kind == "str":
        return text
    if kind == "csv":
        return [item for item in text.split(",") if item]
    if kind == "dtype":
        return _DTYPES.get(text, UNKNOWN)
    if kind in ("bool", "iftrue"):
        lowered = text.lower()
        if lowered in _TRUE:
            return True
        if lowered in _FALSE:
            return NOTHING if kind == "iftrue" else False
        return UNKNOWN
    try:
        return int(text) if kind == "int" else float(text)
    except ValueError:
        return UNKNOWN


@cache
def megatron_flags() -> dict[str, Flag]:
    """Megatron-LM's arguments, by flag."""
    return _load("megatron_flags.tsv")


@cache
def performance_flags() -> dict[str, Flag]:
    """The flags of Megatron-Bridge's performance scripts, by flag."""
    return _load("performance_flags.tsv")


@cache
def megatron_keys() -> dict[str, Flag]:
    """Megatron-LM's arguments as keys of a YAML file: "use_megatron_fsdp". Negated flags are no keys."""
    keys: dict[str, Flag] = {}
    for name, flag in megatron_flags().items():
        if flag.kind != "false" and flag.paths:
            keys[name[2:].replace("-", "_")] = flag
    for flag in megatron_flags().values():
        if flag.kind == "false" and flag.paths:  # "--no-x" clears x, which is then the key
            for path in flag.paths:
                keys.setdefault(path.rpartition(".")[2], Flag(flag.name, flag.paths, "bool"))
    return keys


def _load(name: str) -> dict[str, Flag]:
    flags: dict[str, Flag] = {}
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line or line.startswith("# "):
            continue
        names, paths, kind, *more = line.split("\t")
        implies = tuple(
            (path, parse_value(value))
            for path, _, value in (item.partition("=") for item in (more[0].split(" ") if more else []))
        )
        for each in names.split(","):
            flags[each] = Flag(each, () if paths == "-" else tuple(paths.split(",")), kind, implies)
    return flags
