"""Triage of a log file, read once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from mbridge_skills.gotchas.gotcha import Gotcha
from mbridge_skills.logs.parser import LogParser, read_chunks
from mbridge_skills.logs.summary import LogSummary
from mbridge_skills.triage.judge import triage
from mbridge_skills.triage.result import Triage
from mbridge_skills.triage.watch import LineWatch


def triage_chunks(chunks: Iterable[bytes], gotchas: Sequence[Gotcha]) -> Triage:
    """Triage of a log that comes in chunks of bytes, in constant memory.

    Raises:
        InputError: a gotcha's pattern is no regular expression.
    """
    summary = LogSummary()
    watch = LineWatch(gotchas)

    def on_line(number: int, rank: int | None, text: str) -> None:
        summary.line(number, rank, text)
        watch.line(number, rank, text)

    parser = LogParser(on_line)
    for chunk in chunks:
        for event in parser.feed(chunk):
            summary.add(event)
    for event in parser.close():
        summary.add(event)
    summary.bytes = parser.bytes_read
    return triage(summary, gotchas, watch)


def triage_file(path: Path, gotchas: Sequence[Gotcha]) -> Triage:
    """Triage of a log file, plain or gzipped.

    Raises:
        OSError: it cannot be read or unpacked.
        EOFError: its gzip data ends too early.
        InputError: a gotcha's pattern is no regular expression.
    """
    return triage_chunks(read_chunks(path), gotchas)
