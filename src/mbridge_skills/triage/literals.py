"""Texts that a line must hold for a pattern to match it: what turns most lines away before any pattern is
tried."""

from __future__ import annotations

import re
from typing import Final

SHORTEST: Final = 6
"""A text shorter than this turns too few lines away."""

_CODED = re.compile(r"\\[xuUN0-9]")  # characters by number, references
_OPENING = "([{"
_REPEATS = "?*{"
_SPECIAL = ".^$|+" + _OPENING + _REPEATS + ")"


def required_literals(pattern: str) -> tuple[str, ...]:
    """Texts of which every match of the regular expression ``pattern`` holds at least one.

    One per alternative at the top level, each its longest. Empty where some alternative has none of at least
    ``SHORTEST`` characters, or where flags or characters written by number change how the pattern
    is read.
    """
    if "(?" in pattern.replace("(?:", "") or _CODED.search(pattern):
        return ()
    found = []
    for runs in _runs(pattern):
        longest = max(runs, key=len, default="")
        if len(longest) < SHORTEST:
            return ()
        found.append(longest)
    return tuple(dict.fromkeys(found))


def _runs(pattern: str) -> list[list[str]]:
    """The runs of plain characters outside groups, for each alternative at the top level."""
    alternatives: list[list[str]] = [[]]
    run = ""
    at = 0
    while at < len(pattern):
        char = pattern[at]
        following = pattern[at + 1 : at + 2]
        if char == "\\" and following and not following.isalnum():
            run, at = run + following, at + 2
            continue
        if char != "\\" and char not in _SPECIAL:
            run, at = run + char, at + 1
            continue
        if char in _REPEATS:
            run = run[:-1]  # what is repeated may be missing
        alternatives[-1].append(run)
        run = ""
        if char == "|":
            alternatives.append([])
        at = _after(pattern, at) if char in _OPENING else at + (2 if char == "\\" else 1)
    alternatives[-1].append(run)
    return alternatives


def _after(pattern: str, start: int) -> int:
    """The place behind the group, class or count that opens at ``start``, and its repeat."""
    depth = 0
    in_class = False
    at = opened = start
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]" or at == opened + 1
        elif char == "[":
            in_class, opened = True, at
        elif char in "({":
            depth += 1
        elif char in ")}":
            depth -= 1
        at += 1
        if not depth and not in_class:
            return at
    return at
