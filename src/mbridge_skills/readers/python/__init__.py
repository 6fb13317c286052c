"""Python recipes and training scripts, read from their syntax tree. Nothing is imported, nothing runs."""

from __future__ import annotations

from mbridge_skills.readers.python.reader import read_python

__all__ = ["read_python"]
