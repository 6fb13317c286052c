"""Readers: what people keep settings in -> views of training configurations. Nothing is imported or executed.

``read`` takes a file, ``read_text`` text of a kind, ``read_container`` a live ``ConfigContainer``.
``combine``
lays configurations on one another.
"""

from __future__ import annotations

from mbridge_skills.readers.combine import combine
from mbridge_skills.readers.live import read_container
from mbridge_skills.readers.registry import READERS, Reader, kind_of, read, read_text

__all__ = ["READERS", "Reader", "combine", "kind_of", "read", "read_container", "read_text"]
