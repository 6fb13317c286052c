"""Colours on a terminal."""

from __future__ import annotations

from collections.abc import Callable

Paint = Callable[[str, str], str]
"""Text and the name of a style in, text out."""

_CODES = {
    "bold": "1",
    "dim": "2",
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "help": "32",
}


def painter(colour: bool) -> Paint:
    """What paints; without ``colour`` it changes nothing."""
    return _painted if colour else _left


def _painted(text: str, style: str) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def _left(text: str, style: str) -> str:
    return text
