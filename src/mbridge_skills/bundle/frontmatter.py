"""The head of a SKILL.md: YAML between two lines that are exactly ``---``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mbridge_skills.card.problems import input_error
from mbridge_skills.card.reader import parse_document, read_bytes_as_text, split_lines
from mbridge_skills.errors import InputError, Location

_RULE = "---"


@dataclass(frozen=True)
class SkillDocument:
    """A SKILL.md in two parts."""

    data: Mapping[str, Any]
    body: str
    body_line: int  # the line of the file on which the body begins, from 1


def read_skill_document(path: Path) -> SkillDocument:
    """Read the SKILL.md at ``path``.

    Raises:
        InputError: the file cannot be read, or its head is missing, open-ended or no mapping.
    """
    return parse_skill_document(read_bytes_as_text(path), path)


def parse_skill_document(text: str, path: Path) -> SkillDocument:
    """Split ``text`` and read its head; ``path`` is for the messages.

    A ``---`` inside a value does not end the head, only a line of its own does.

    Raises:
        InputError: the head is missing, open-ended or no mapping.
    """
    lines = split_lines(text.removeprefix("\ufeff"))
    bare = [line.rstrip("\r\n") for line in lines]
    if not bare or bare[0] != _RULE:
        raise InputError("expected a line of three hyphens, then YAML", where=Location(path, 1))
    try:
        end = bare.index(_RULE, 1)
    except ValueError:
        raise InputError("the head has no end: expected a second line ---", where=Location(path, 1)) from None
    document = parse_document("".join(lines[1:end]), path, first_line=1)
    if document.problems:
        raise input_error(path, document.problems)
    if not isinstance(document.data, dict):
        raise InputError("expected a mapping between the lines ---", where=Location(path, 2))
    return SkillDocument(document.data, "".join(lines[end + 1 :]), end + 2)
