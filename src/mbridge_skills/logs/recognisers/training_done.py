"""Megatron's own line that the training loop has ended: ``[after training is done] datetime: ...``."""

from __future__ import annotations

from collections.abc import Sequence

from mbridge_skills.logs.attribution import Source
from mbridge_skills.logs.events import Event, TrainingDone
from mbridge_skills.logs.recognisers.base import NOTHING, Recogniser

_TEXT = "[after training is done] datetime:"


class TrainingDoneRecogniser(Recogniser):
    """Gives a :class:`TrainingDone`."""

    hints = (_TEXT,)

    def read(self, line: int, source: Source, text: str) -> Sequence[Event]:
        """The event, where the line has Megatron's text (it may stand behind another rank's output)."""
        return (TrainingDone(line, source.rank),) if _TEXT in text else NOTHING
