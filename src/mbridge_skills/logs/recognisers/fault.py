"""Faults of the device and of the communication libraries.

A fault is often told twice, as a :class:`Fault` and as the :class:`Traceback` whose last line it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from mbridge_skills.logs.attribution import Source
from mbridge_skills.logs.events import Event, Fault
from mbridge_skills.logs.recognisers.base import NOTHING, Recogniser

_LONGEST_MESSAGE = 500

# Repeats below are bounded, since a line may be a megabyte of anything.

Kind = Literal["out-of-memory", "nccl", "gloo", "timeout"]

# Substrings that turn lines away cheaply; then what the line must really say. The first that fits decides, so
# that a timeout, whoever reports it, is a timeout.
_RULES: tuple[tuple[tuple[str, ...], re.Pattern[str], Kind], ...] = (
    (
        ("imed out", "timeout", "Timeout"),
        re.compile(
            r"Watchdog caught collective operation timeout"
            r"|(?:DistStoreError|DistNetworkError|DistBackendError|RuntimeError|TCPStore)\b.{0,300}?"
            r"(?:[Tt]imed out|\bwait timeout after|Socket Timeout|\btimeout\b.{0,100}\bstore\b)"
            r"|gloo/\S{1,200}\] Timed out waiting"
            r"|\bwait timeout after \d+ ?ms, keys:"
            r"|client socket has timed out after"
        ),
        "timeout",
    ),
    (
        ("f memory", "OutOfMemoryError", "Of Memory", "oom"),
        re.compile(
            r"\bOutOfMemoryError:"
            r"|CUDA out of memory\."
            r"|CUDA error: out of memory"
            r"|\b(?:Memory cgroup o|O)ut of memory: Kill(?:ed)? process \d+"
            r"|\boom[_-]kill event\b"
            r"|\berror: .{0,200}\bOut Of Memory\b"
        ),
        "out-of-memory",
    ),
    (
        ("NCCL", "nccl"),
        re.compile(
            r"\bNCCL [Ee]rror\b(?! handling)"
            r"|\bnccl(?:UnhandledCuda|System|Internal|Remote)Error\b"
            r"|\bncclInvalid(?:Usage|Argument)\b"
        ),
        "nccl",
    ),
    (
        ("gloo/", "onnection closed by peer"),
        re.compile(
            r"gloo/\S{1,200}\] .{0,200}(?:[Cc]onnection (?:closed|reset|refused)|Broken pipe)"
            r"|gloo/\S{1,200}\] .{0,200}[Cc]onnect\w{0,10} .{0,200}(?:failed|error)"
            r"|\bConnection closed by peer \["
        ),
        "gloo",
    ),
)
# Old C++ logs name the rank inside the line: "[E ProcessGroupNCCL.cpp:563] [Rank 2] Watchdog caught ...".
_RANK_INSIDE = re.compile(r"\[[Rr]ank (\d{1,6})\]")


class FaultRecogniser(Recogniser):
    """Gives a :class:`Fault` per line that reports one."""

    hints = tuple(literal for literals, _, _ in _RULES for literal in literals)

    def read(self, line: int, source: Source, text: str) -> Sequence[Event]:
        """The fault, where the line reports one and is no source line quoted in a traceback."""
        for literals, pattern, kind in _RULES:
            for literal in literals:
                if literal in text and (found := pattern.search(text)):
                    if text.startswith("    "):
                        return NOTHING
                    rank = source.rank
                    if rank is None and (named := _RANK_INSIDE.search(text)):
                        rank = int(named.group(1))
                    start = 0 if found.start() < _LONGEST_MESSAGE // 2 else found.start()
                    return (Fault(line, rank, kind, text[start : start + _LONGEST_MESSAGE].strip()),)
        return NOTHING
