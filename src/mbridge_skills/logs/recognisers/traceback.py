"""Python tracebacks, one event for a chain of exceptions: its last one.

Where every line carries its rank, each rank's traceback is followed on its own, however they interleave.
Lines of other processes inside a traceback are passed over where they can be told from it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from mbridge_skills.logs.attribution import Source
from mbridge_skills.logs.events import Event, Frame, Traceback
from mbridge_skills.logs.recognisers.base import NOTHING, Recogniser

_HEADER = "Traceback (most recent call last):"
_CHAINED = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_FRAME = re.compile(r'\s+File "(?P<file>[^"]+)", line (?P<line>\d{1,9})(?:, in (?P<function>.+))?')
_EXCEPTION = re.compile(r"(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_<]\w*>?)*)(?::(?: (?P<message>.*))?)?", re.DOTALL)
# What the class name of an exception ends with, where neither its module nor its place tells.
_USUAL = re.compile(
    r"(?:Error|Exception|Exit|Interrupt|Iteration|Warning|Failure|Failed|Timeout|Expired|Group|Abort|Aborted"
    r"|Empty|Full|Cancelled|NotFound|Invalid)$"
)
# Lines of messages of torch and NCCL that stand at the margin. Other lines there may be anybody's.
_MESSAGE_GOES_ON = re.compile(
    r"nccl\w+: |Last error:|CUDA kernel errors might|For debugging consider|Compile with `TORCH_USE_CUDA_DSA`"
    r"|Device-side assertion|Exception raised from |frame #\d+: |Cuda failure |Search for `cuda"
)
_TORCH_LOG = re.compile(r"\[[WEIF]\d{4} ")
# Bridge names the rank in the log record whose traceback follows (training/pretrain.py, since 0.6.0).
_BRIDGE_HINT = "failed on rank="
_BRIDGE_FAILURE = re.compile(r"\bfailed on rank=(\d{1,9}) with (\w+):", re.ASCII)

_MOST_FRAMES = 50
_LONGEST_MESSAGE = 2000
_MOST_MESSAGE_LINES = 30
_MOST_OPEN = 1024
_MOST_HINTS = 1024
_HINT_REACH = 100  # lines from Bridge's message to its traceback
# Lines after which a traceback of which nothing more comes is given up: 'ended' has its exception already.
_PATIENCE_ENDED = 200
_PATIENCE_OPEN = 5000
_MOST_FOREIGN = 50


@dataclass
class _Open:
    """A traceback that is being read."""

    line: int  # of its header
    source: Source
    indent: str
    seen: int  # the last line that belonged to it
    frames: deque[Frame] = field(default_factory=lambda: deque(maxlen=_MOST_FRAMES))
    exception: str = ""
    message: list[str] = field(default_factory=list)
    ended: bool = False  # the exception line was read
    gap: bool = False  # an empty line after it
    chained: bool = False  # another traceback is announced
    inside: bool = False  # the line before was a frame's or its source
    foreign: int = 0


class TracebackRecogniser(Recogniser):
    """Gives a :class:`Traceback` at the first line that is not part of it; ``line`` is the header's."""

    hints = (_HEADER, _BRIDGE_HINT)

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        # Line, rank, exception and stream of Bridge's messages whose tracebacks are to come.
        self._hints: deque[tuple[int, int, str, str]] = deque(maxlen=_MOST_HINTS)

    def read(self, line: int, source: Source, text: str) -> Sequence[Event]:
        """The tracebacks that the line shows to be over."""
        if not self._open:
            if _HEADER in text or _BRIDGE_HINT in text:
                self._begin(line, source, text)
                self.wants_all = bool(self._open)
            return NOTHING
        events = self._give_up(line)
        traceback = self._open.get(source.stream)
        if traceback is not None:
            if _belongs(traceback, line, source, text):
                return events
            del self._open[source.stream]
            events.append(self._event(traceback))
        self._begin(line, source, text)
        self.wants_all = bool(self._open)
        return events

    def close(self) -> Sequence[Event]:
        """The tracebacks that the end of the log cuts off, with what is there of them."""
        left = sorted(self._open.values(), key=lambda traceback: traceback.line)
        self._open.clear()
        return [self._event(traceback) for traceback in left]

    def _begin(self, line: int, source: Source, text: str) -> None:
        if found := _BRIDGE_FAILURE.search(text):
            self._hints.append((line, int(found[1]), found[2], source.stream))
        start = text.find(_HEADER)
        # In torchrun's failure block the header stands behind "traceback :"; the block is read elsewhere.
        if start < 0 or text[:start].endswith("traceback : ") or len(self._open) >= _MOST_OPEN:
            return
        indent = text[:start] if text[:start].isspace() else ""
        self._open[source.stream] = _Open(line, source, indent, seen=line)

    def _give_up(self, line: int) -> list[Event]:
        over = [
            stream
            for stream, traceback in self._open.items()
            if line - traceback.seen > (_PATIENCE_ENDED if traceback.ended else _PATIENCE_OPEN)
        ]
        return [self._event(self._open.pop(stream)) for stream in over]

    def _event(self, traceback: _Open) -> Traceback:
        # Bridge's word comes first: the rank of the line may be a local one.
        hinted = self._hinted_rank(traceback)
        return Traceback(
            line=traceback.line,
            rank=traceback.source.rank if hinted is None else hinted,
            exception=traceback.exception,
            message="\n".join(traceback.message).strip()[:_LONGEST_MESSAGE],
            frames=tuple(traceback.frames),
            launcher=traceback.exception == "ChildFailedError",
        )

    def _hinted_rank(self, traceback: _Open) -> int | None:
        for hint in self._hints:
            line, rank, exception, stream = hint
            ours = exception == traceback.exception and stream == traceback.source.stream
            if ours and 0 <= traceback.line - line <= _HINT_REACH:
                self._hints.remove(hint)
                return rank
        return None


def _belongs(traceback: _Open, line: int, source: Source, text: str) -> bool:
    """Takes the line into the traceback; False where it is over."""
    text = text.removeprefix(traceback.indent).rstrip()
    belongs = _after_the_end(traceback, source, text) if traceback.ended else _inside(traceback, text)
    if belongs:
        traceback.seen = line
    return belongs


def _inside(traceback: _Open, text: str) -> bool:
    if found := _FRAME.fullmatch(text):
        frame = Frame(found["file"], int(found["line"]), found["function"] or "")
        traceback.frames.append(frame)
        traceback.inside = True
    elif text[:1].isspace():
        pass  # source, carets, "[Previous line repeated ...]"
    elif _HEADER in text:
        traceback.frames.clear()  # two writers at once, no rank to tell them apart: the later one is followed
    elif text and (name := _exception(traceback, text)):
        found = _EXCEPTION.fullmatch(text)
        traceback.exception = name
        traceback.message = [(found["message"] or "") if found else ""]
        traceback.ended = True
    elif text:
        traceback.inside = False
        traceback.foreign += 1
    return traceback.foreign <= _MOST_FOREIGN


def _exception(traceback: _Open, text: str) -> str | None:
    """The class name where the line ends a traceback, without its module."""
    found = _EXCEPTION.fullmatch(text)
    if found is None:
        return None
    module, _, name = found["name"].rpartition(".")
    usual = _USUAL.search(name) is not None and not name.isupper()
    # A class with an unusual name is believed where the exception must stand, right behind a frame.
    unusual = traceback.inside and name[:1].isupper() and not name.isupper() and (module or ":" in text)
    return name if usual or unusual else None


def _after_the_end(traceback: _Open, source: Source, text: str) -> bool:
    if traceback.chained:
        if _HEADER in text:
            traceback.ended = traceback.gap = traceback.chained = traceback.inside = False
            traceback.frames.clear()
            return True
        return not text
    if text.strip() in _CHAINED:
        traceback.chained = True
        return True
    if _HEADER in text or _TORCH_LOG.match(text):
        return False
    if not text:
        traceback.gap = True
        return True
    # torch's excepthook puts the rank before every line of a traceback and, but for the log of its C++ part,
    # before nothing else: there the message goes on as long as the prefix does.
    goes_on = (
        source.by_torch
        or traceback.message[-1] == "Last error:"  # NCCL's, on a line of its own
        or _MESSAGE_GOES_ON.match(text)
        or (text[:1].isspace() and not traceback.gap)
    )
    if goes_on and len(traceback.message) < _MOST_MESSAGE_LINES:
        if sum(map(len, traceback.message)) < _LONGEST_MESSAGE:
            traceback.message.append(text[:_LONGEST_MESSAGE])
        return True
    return False
