"""Silencing a finding where it stands: ``# skill: ignore[MB101] the reason``. Without a reason it counts for
nothing."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

_COMMENT = re.compile(r"#\s*skill:\s*ignore\[([A-Za-z0-9, ]+)\]\s*(\S.*)?$")


def is_suppressed(code: str, path: Path | None, line: int | None) -> bool:
    """Whether the line of the setting, or the comment line above it, silences ``code`` and says why."""
    if path is None or line is None:
        return False
    lines = _lines(path)
    places = [number for number in (line, line - 1) if 1 <= number <= len(lines)]
    for number in places:
        text = lines[number - 1]
        if number != line and not text.lstrip().startswith("#"):
            continue
        found = _COMMENT.search(text)
        if found and found[2] and code in {part.strip().upper() for part in found[1].split(",")}:
            return True
    return False


@lru_cache(maxsize=256)
def _lines(path: Path) -> tuple[str, ...]:
    try:
        return tuple(path.read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return ()
