"""The lines by which the smoke program tells the log parser what Megatron's own lines do not say.

One line each, ``[mbridge-skills] {json object}``, with the key ``event``. Written by
:mod:`mbridge_skills.smoke`, read by :mod:`mbridge_skills.logs.parser`; this module is their only contract.
"""

from __future__ import annotations

import json
from typing import Any

PREFIX = "[mbridge-skills] "

ENVIRONMENT = "environment"  # versions and device of the run; printed once, by rank 0
PHASE = "phase"  # {"phase": NAME}: the iterations that follow belong to NAME
CANNOT_RUN = "cannot-run"  # {"reason": TEXT}: impossible here, which is not a failure
FINISHED = "finished"  # {"rank": N}: this rank reached its last line


def line(event: str, **fields: Any) -> str:
    """One marker line, without the newline. Fields must be JSON values."""
    return PREFIX + json.dumps({"event": event, **fields}, sort_keys=True)


def parse(text: str) -> dict[str, Any] | None:
    """The marker in ``text``, which begins at :data:`PREFIX`; None where it is none or is cut off."""
    if not text.startswith(PREFIX):
        return None
    try:
        record = json.loads(text[len(PREFIX) :])
    except (ValueError, RecursionError):  # not JSON, a number of thousands of digits, nested without end
        return None
    return record if isinstance(record, dict) and isinstance(record.get("event"), str) else None
