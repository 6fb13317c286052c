"""GPUs by the name that people use, with their compute capability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CAPABILITIES: Final[Mapping[str, tuple[int, int]]] = {
    "a100": (8, 0),
    "a10g": (8, 6),
    "l40s": (8, 9),
    "h100": (9, 0),
    "h200": (9, 0),
    "gh200": (9, 0),
    "b200": (10, 0),
    "gb200": (10, 0),
    "b300": (10, 3),
    "gb300": (10, 3),
    "rtxpro6000": (12, 0),
}
