"""Text from users' files, made harmless: on a terminal, control characters would do what they say."""

from __future__ import annotations

import re

# DEL and C1 controls, separators of lines and paragraphs, marks that reorder text (a line would read
# other than it is), lone surrogates (file names that are not UTF-8), and what XML 1.0 cannot hold.
ABOVE_ASCII = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff"
"""Harmful characters from DEL on, for a set in a regular expression. Below it are the C0 controls."""
_CONTROL = re.compile(f"[\x00-\x1f{ABOVE_ASCII}]")
_SPACE = re.compile("[ \t\r\n]+")


def plain(text: str) -> str:
    """``text`` on one line, with the replacement character for each character that is not to be seen."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def line(text: str) -> str:
    """Prose or a message on one line: line breaks and tabs become a space, other controls are replaced."""
    return plain(_SPACE.sub(" ", text.strip(" \t\r\n")))


def prose(text: str) -> str:
    """Prose whose paragraphs are one line each, with an empty line between them."""
    return "\n\n".join(line(paragraph) for paragraph in re.split(r"\n[ \t]*\n", text) if paragraph.strip())
