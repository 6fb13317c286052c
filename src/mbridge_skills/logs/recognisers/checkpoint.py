"""Checkpoint saves and loads, in the wordings of ``checkpointing.py`` of Megatron-LM and Megatron-Bridge.

Megatron-LM puts a date before some of them since 2025. "saving checkpoint" comes first for every save;
"scheduled an async checkpoint save" follows it where the save goes on in the background.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from mbridge_skills.logs.attribution import Source
from mbridge_skills.logs.events import Checkpoint, Event
from mbridge_skills.logs.recognisers.base import NOTHING, Recogniser

_PLACE = r"(?P<path>\S(?:.*?\S)??)"
_RANKS = r"(?: \[ t [^\]]*\])?"  # the tensor and pipeline rank that reports
_DATE = r"\s*(?:\[[\d:. -]+\]\s*)?"

_SAVE_STARTED = re.compile(
    rf"\bsaving checkpoint at iteration +(?P<iteration>\d+) to {_PLACE}(?: in (?P<format>\S+) format)?$"
)
_SAVE_SCHEDULED = re.compile(
    rf"\bscheduled an async checkpoint save at iteration +(?P<iteration>\d+) to {_PLACE}$"
)
_SAVE_FINISHED = re.compile(
    r"\bsuccessfully saved (?P<local>local )?checkpoint (?:from|at) iteration +(?P<iteration>\d+)"
    rf"(?: +to {_PLACE})?{_RANKS}$"
)
# "loading checkpoint from somewhere" alone is anybody's: one of the three details must be there.
_LOAD_STARTED = re.compile(
    rf"{_DATE}loading (?:"
    rf"(?:distributed )?checkpoint from {_PLACE} at iteration +(?P<iteration>\d+)"
    rf"|release (?:distributed )?checkpoint from {_PLACE.replace('path', 'release')}"
    rf"|(?P<format>[\w-]+) checkpoint directly from {_PLACE.replace('path', 'direct')}"
    rf"|HuggingFace-format checkpoint from {_PLACE.replace('path', 'hf')})$"
)
_LOAD_FINISHED = re.compile(
    rf"{_DATE}successfully loaded checkpoint from {_PLACE}{_RANKS}(?: at iteration +(?P<iteration>\d+))?$"
)


_LONGEST = 8192  # every pattern ends with the line; before its end, a line may hold a megabyte of anything
_PATHS = ("path", "release", "direct", "hf")
_Match = Callable[[str], re.Match[str] | None]
_LINES: tuple[
    tuple[str, _Match, Literal["save", "load"], Literal["started", "scheduled", "finished"]], ...
] = (
    ("saving checkpoint at", _SAVE_STARTED.search, "save", "started"),
    ("scheduled an async", _SAVE_SCHEDULED.search, "save", "scheduled"),
    ("successfully saved", _SAVE_FINISHED.search, "save", "finished"),
    ("successfully loaded", _LOAD_FINISHED.match, "load", "finished"),
    ("loading ", _LOAD_STARTED.match, "load", "started"),
)


class CheckpointRecogniser(Recogniser):
    """Gives a :class:`Checkpoint` per line."""

    hints = ("checkpoint from", "checkpoint at", "checkpoint save at", "checkpoint directly")

    def read(self, line: int, source: Source, text: str) -> Sequence[Event]:
        """The event, where the line is one of the checkpoint lines."""
        if "checkpoint" not in text:
            return NOTHING
        text = text[-_LONGEST:].rstrip()
        for literal, match, action, stage in _LINES:
            if literal in text and (found := match(text)):
                groups = {name: value for name, value in found.groupdict().items() if value is not None}
                iteration = groups.get("iteration")
                return (
                    Checkpoint(
                        line,
                        source.rank,
                        action=action,
                        stage=stage,
                        iteration=None if iteration is None else int(iteration[:18]),
                        path=groups.get("path")
                        or groups.get("release")
                        or groups.get("direct")
                        or groups.get("hf"),
                        format=_format(groups, text),
                    ),
                )
        return NOTHING


def _format(groups: Mapping[str, str], text: str) -> str | None:
    """The format's name in the configuration, as far as the line tells it."""
    if "local" in groups:
        return "local"
    if "hf" in groups:
        return "hf"
    if "loading" in text and " distributed checkpoint" in text:
        return "torch_dist"
    return groups.get("format")
