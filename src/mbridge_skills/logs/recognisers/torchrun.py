"""torchrun's failure block: the text of torch's ``ChildFailedError``
(``torch/distributed/elastic/multiprocessing/errors/__init__.py``).

``Failures:`` with the ranks that failed later, then ``Root Cause (first observed failure):``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from mbridge_skills.logs.attribution import Source
from mbridge_skills.logs.events import ChildFailure, Event, LauncherFailure
from mbridge_skills.logs.recognisers.base import NOTHING, Recogniser

_ROOT = "Root Cause (first observed failure):"
_ENTRY = re.compile(r"\[\d+\]:\s*")
_FIELD = re.compile(r"  (time|host|rank|exitcode|error_file|traceback) *: ?(.*)")
_INTEGER = re.compile(r"-?\d{1,9}", re.ASCII)
_PID = re.compile(r"pid: (\d{1,9})", re.ASCII)
_LONGEST_MESSAGE = 8000
_MOST_CHILDREN = 4096
_MOST_FOREIGN = 50  # other processes' lines inside a block before it counts as abandoned
_MOST_BLOCKS = 256  # one per launcher process


class TorchrunRecogniser(Recogniser):
    """Gives a :class:`LauncherFailure` per block, at its last line; its ``line`` is the first one."""

    hints = ("Failures:",)

    def __init__(self) -> None:
        self._blocks: dict[str, _Block] = {}

    def read(self, line: int, source: Source, text: str) -> Sequence[Event]:
        """The block that the line ends."""
        block = self._blocks.get(source.stream) if self._blocks else None
        if block is None:
            if "Failures:" in text and text.strip() == "Failures:" and len(self._blocks) < _MOST_BLOCKS:
                self._blocks[source.stream] = _Block(line)
                self.wants_all = True
            return NOTHING
        if not block.ends_with(text):
            return NOTHING
        del self._blocks[source.stream]
        self.wants_all = bool(self._blocks)
        return block.failure()

    def close(self) -> Sequence[Event]:
        """The blocks that the end of the log cuts off."""
        blocks, self._blocks = self._blocks, {}
        return [event for block in blocks.values() for event in block.failure()]


@dataclass
class _Block:
    line: int
    root: dict[str, str] = field(default_factory=dict)
    others: list[dict[str, str]] = field(default_factory=list)
    in_root: bool = False
    entry: dict[str, str] | None = None
    foreign: int = 0

    def ends_with(self, text: str) -> bool:
        """Takes the next line; whether it is the block's last."""
        if text.startswith("====="):
            return True
        if text.startswith(_ROOT):
            self.in_root, self.entry = True, None
        elif _ENTRY.fullmatch(text):
            self.entry = self.root if self.in_root else {}
            if not self.in_root and len(self.others) < _MOST_CHILDREN:
                self.others.append(self.entry)
        elif self.entry is not None and (found := _FIELD.fullmatch(text)):
            # A child's traceback is indented deeper, so that no line of it is taken for a field.
            self.entry.setdefault(found[1], found[2].strip()[:_LONGEST_MESSAGE])
        elif text.startswith("  ") and self.entry is not None and "traceback" in self.entry:
            message = self.entry["traceback"]
            if len(message) < _LONGEST_MESSAGE:
                self.entry["traceback"] = f"{message}\n{text[2:]}"[:_LONGEST_MESSAGE]
        elif not text.startswith("-----") and text.strip():
            self.foreign += 1
        return self.foreign > _MOST_FOREIGN

    def failure(self) -> Sequence[Event]:
        others = tuple(_child(entry) for entry in self.others if entry)
        if not self.root and not others:
            return NOTHING
        return (LauncherFailure(self.line, None, _child(self.root), others),)


def _child(entry: dict[str, str]) -> ChildFailure:
    exit_code = entry.get("exitcode", "")
    pid = _PID.search(exit_code)
    return ChildFailure(
        rank=_integer(entry.get("rank", "")),
        exit_code=_integer(exit_code),
        pid=int(pid[1]) if pid else None,
        host=entry.get("host"),
        time=entry.get("time"),
        message=entry.get("traceback", ""),
    )


def _integer(text: str) -> int | None:
    found = _INTEGER.match(text)
    return int(found[0]) if found else None
