"""Training logs of Megatron-LM, Megatron-Bridge and the smoke program: bytes in, events out.

Memory is constant, whatever the length of the log.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from mbridge_skills.logs.attribution import UNKNOWN, Attribution
from mbridge_skills.logs.events import Event, Iteration, Phase
from mbridge_skills.logs.labels import Labels
from mbridge_skills.logs.lines import LineSplitter, Piece
from mbridge_skills.logs.recognisers import RECOGNISERS
from mbridge_skills.logs.recognisers.base import Recogniser

OnLine = Callable[[int, "int | None", str], None]

_CHUNK = 1 << 18
_GZIP = b"\x1f\x8b"
_HINTS = tuple(dict.fromkeys(hint for recogniser in RECOGNISERS for hint in recogniser.hints))


class LogParser:
    """Reads one log as its bytes arrive. The events do not depend on how the bytes are cut into chunks.

    ``on_line``, where given, is called for every line before its events are made, with the line number (from
    1), the rank (None where unknown) and the text without rank prefix, colours and newline; for a line that
    ``\\r`` splits, once for every piece.
    """

    def __init__(self, on_line: OnLine | None = None) -> None:
        self.bytes_read = 0
        self.phase: str | None = None  # what the smoke program said last; iterations get it
        self._on_line = on_line
        self._lines = LineSplitter()
        self._labels = Labels()
        self._attribution = Attribution()
        self._source = UNKNOWN  # of the line whose pieces are coming in
        self._recognisers: tuple[Recogniser, ...] = tuple(recogniser() for recogniser in RECOGNISERS)
        self._wanted = False  # some recogniser wants the next line whatever it holds

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events of the lines that ``data`` completes. The bytes are read at once, whether or not the
        events are taken."""
        self.bytes_read += len(data)
        return iter(self._events(self._lines.feed(data)))

    def close(self) -> Iterator[Event]:
        """The events of the unterminated last line and those that only the end of the log decides."""
        events = self._events(self._lines.close())
        for number, fresh, label, text in self._labels.close():
            self._read(number, fresh, label, text, events)
        for recogniser in self._recognisers:
            self._take(recogniser.close(), events)
        return iter(events)

    def _events(self, pieces: Iterable[Piece]) -> list[Event]:
        events: list[Event] = []
        labels = self._labels
        for piece in pieces:
            number, fresh, text = piece
            if labels.pass_by(text):
                self._read(number, fresh, None, text, events)
            else:
                for decided, is_fresh, label, plain in labels.feed(piece):
                    self._read(decided, is_fresh, label, plain, events)
        return events

    def _read(self, number: int, fresh: bool, label: int | None, text: str, events: list[Event]) -> None:
        if label is None and fresh and text[:1] != "[":
            self._source = source = UNKNOWN  # what the next branch gives, without its cost
        else:
            source, text = self._attribution.split(text, label)
            # The rest of a line that was split belongs to whom its beginning belongs to.
            source = self._source = source if fresh or source is not UNKNOWN else self._source
        if self._on_line is not None:
            self._on_line(number, source.rank, text)
        if not self._wanted:
            for hint in _HINTS:
                if hint in text:
                    break
            else:
                return
        for recogniser in self._recognisers:
            if found := recogniser.read(number, source, text):
                self._take(found, events)
        self._wanted = any(recogniser.wants_all for recogniser in self._recognisers)

    def _take(self, found: Iterable[Event], events: list[Event]) -> None:
        for event in found:
            if isinstance(event, Phase):
                self.phase = event.name
            elif isinstance(event, Iteration) and self.phase is not None:
                event = replace(event, phase=self.phase)
            events.append(event)


def parse_file(path: Path, on_line: OnLine | None = None) -> Iterator[Event]:
    """The events of a log file, plain or gzipped. Raises as :func:`read_chunks` does."""
    parser = LogParser(on_line)
    for data in read_chunks(path):
        yield from parser.feed(data)
    yield from parser.close()


def read_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, unpacked where its first bytes say that it is gzipped.

    Raises ``OSError`` where it cannot be read or unpacked, ``EOFError`` where gzip data ends too early.
    """
    with path.open("rb") as probe:
        compressed = probe.read(len(_GZIP)) == _GZIP
    with gzip.open(path, "rb") if compressed else path.open("rb") as file:
        try:
            while data := file.read(_CHUNK):
                yield data
        except zlib.error as error:
            raise OSError(f"damaged gzip data: {error}") from error
