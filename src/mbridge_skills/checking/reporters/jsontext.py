"""JSON that stays JSON whatever a configuration holds, and that is harmless on a terminal."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from mbridge_skills.checking.reporters.plain import ABOVE_ASCII

# Inside a string, which is the only place they can be, an escape means the same.
_TO_ESCAPE = re.compile(f"[{ABOVE_ASCII}]")


def dumps(data: Any) -> str:
    """``data`` as indented JSON with a newline at its end."""
    text = json.dumps(plain_data(data), indent=2, ensure_ascii=False, allow_nan=False)
    return _TO_ESCAPE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def plain_data(value: Any) -> Any:
    """``value`` made of what JSON has; numbers that it cannot write, and other objects, by their text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in value]
    return str(value)
