"""Bytes of a log, in any chunking, to pieces of text. Memory stays constant whatever the log holds."""

from __future__ import annotations

import re
from collections.abc import Iterator

# A log without newlines (a progress bar, a binary file) must not grow the buffer for ever.
MAX_PIECE = 1 << 20

# CSI sequences (colours, cursor moves), OSC sequences (titles, links), and the two-character ones.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)|[@-Z\\^_])")

Piece = tuple[int, bool, str]


class LineSplitter:
    """Splits at ``\\n`` and at ``\\r``; what ``\\r`` splits stays one line in the numbering, so that numbers
    agree with those of an editor. A piece longer than ``limit`` bytes is cut there.

    Pieces are ``(line, fresh, text)``: the line number from 1, whether the piece begins the line, and its
    text without escapes and NUL bytes, bad UTF-8 replaced. The pieces do not depend on the chunking.
    """

    def __init__(self, limit: int = MAX_PIECE) -> None:
        self._limit = limit
        self._tail = bytearray()
        self._line = 1
        self._fresh = True

    def feed(self, data: bytes) -> list[Piece]:
        """The pieces that ``data`` completes."""
        self._tail += data
        end = max(data.rfind(b"\n"), data.rfind(b"\r"))
        if end < 0:
            return list(self._cut()) if len(self._tail) > self._limit else []
        block = bytes(self._tail[: len(self._tail) - len(data) + end + 1])
        del self._tail[: len(block)]
        # The escape character too, since a sequence must not reach over the end of a line.
        plain = self._fresh and len(block) <= self._limit and b"\r" not in block and b"\x1b" not in block
        pieces = self._whole_lines(block) if plain else list(self._any_pieces(block))
        pieces.extend(self._cut())
        return pieces

    def close(self) -> list[Piece]:
        """The last piece, where the log does not end with a newline."""
        pieces = list(self._pieces(bytes(self._tail), ended=False))
        self._tail.clear()
        return pieces

    def _whole_lines(self, block: bytes) -> list[Piece]:
        texts = _text(block[:-1]).split("\n")
        first = self._line
        self._line += len(texts)
        return [(number, True, text) for number, text in enumerate(texts, first)]

    def _any_pieces(self, block: bytes) -> Iterator[Piece]:
        *lines, rest = block.split(b"\n")
        for line in lines:
            yield from self._pieces(line, ended=True)
            self._line += 1
            self._fresh = True
        yield from self._pieces(rest, ended=False)

    def _pieces(self, part: bytes, *, ended: bool) -> Iterator[Piece]:
        """What ``\\r`` and the limit make of a line or a part of it; ``ended`` where a newline follows it."""
        *bars, last = part.split(b"\r")
        for bar in bars:
            if bar:  # not the "\r" of "\r\n" after another, nor one that begins a line
                yield from self._bounded(bar)
        # An empty rest is a piece only where it is a whole line, not where it is the middle of "\r\n".
        if last or (ended and self._fresh):
            yield from self._bounded(last)

    def _bounded(self, bar: bytes) -> Iterator[Piece]:
        for start in range(0, max(len(bar), 1), self._limit):
            yield self._line, self._fresh, _text(bar[start : start + self._limit])
            self._fresh = False

    def _cut(self) -> Iterator[Piece]:
        while len(self._tail) > self._limit:
            yield self._line, self._fresh, _text(bytes(self._tail[: self._limit]))
            self._fresh = False
            del self._tail[: self._limit]


def _text(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    # A log that was truncated while its writer held it open begins with a hole of NUL bytes.
    return text.replace("\x00", "") if "\x00" in text else text
