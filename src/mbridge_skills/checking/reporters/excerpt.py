"""The source line of a finding, with a caret below the place."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from mbridge_skills.checking.reporters.place import Place
from mbridge_skills.checking.reporters.plain import plain

_TAB = "    "
_LARGEST = 16 << 20  # bytes; a larger file is no configuration
_LEAST = 20  # columns that are shown of a line however narrow the terminal is


class Excerpts:
    """Takes excerpts; each file is read once."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._files: dict[Path, list[str]] = {}

    def at(self, place: Place) -> list[str]:
        """The lines to show for ``place``; none where the file or the line cannot be read."""
        if place.path is None or place.line is None:
            return []
        lines = self._lines(place.path)
        if not 1 <= place.line <= len(lines):
            return []
        number = str(place.line)
        margin = " " * len(number)
        text, offset = _window(lines[place.line - 1], place.column, self._width - len(number) - 3)
        shown = [f"{margin} |", f"{number} | {text}".rstrip()]
        return shown if offset is None else [*shown, f"{margin} | {' ' * offset}^"]

    def _lines(self, path: Path) -> list[str]:
        if path not in self._files:
            self._files[path] = _read(path)
        return self._files[path]


def _read(path: Path) -> list[str]:
    try:
        # A pipe would block, and what a device gives has no end.
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return []
        return path.read_text(encoding="utf-8", errors="replace").removeprefix("\ufeff").split("\n")
    except (OSError, ValueError):
        return []


def _window(text: str, column: int | None, width: int) -> tuple[str, int | None]:
    """The part of ``text`` around ``column`` that fits, and how many columns the caret is indented."""
    width = max(width, _LEAST)
    point = None if column is None else min(max(column - 1, 0), len(text))
    before = _visible(text[: point or 0])
    after = _visible(text[point or 0 :]).rstrip()
    # Half the width before the place; a line that fits is shown whole.
    if len(before) + len(after) > width:
        keep = max(width // 2, width - len(after)) - 1
        if len(before) > keep:
            before = "…" + before[len(before) - keep :]
        room = width - len(before)
        if len(after) > room:
            after = after[: room - 1] + "…"
    return before + after, None if point is None else _columns(before)


def _visible(text: str) -> str:
    return plain(text.replace("\t", _TAB))


def _columns(text: str) -> int:
    """How many columns of a terminal ``text`` takes."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
