"""What a recogniser is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from mbridge_skills.logs.attribution import Source
from mbridge_skills.logs.events import Event

NOTHING: tuple[Event, ...] = ()


class Recogniser(ABC):
    """Reads the lines of one log in order and says which events they are. One object per log: state is
    allowed, but bounded.

    Nearly every line is nobody's: a line is shown only where it holds one of some recogniser's :attr:`hints`
    or while some recogniser :attr:`wants_all`. So :meth:`read` also gets lines with the hints of others, and
    should turn them away with substring tests before it tries a regular expression.
    """

    hints: ClassVar[tuple[str, ...]]
    """Substrings; a line with none of them is no beginning of an event."""
    wants_all = False
    """Whether the lines to come are wanted whatever they hold, since an event goes on."""

    @abstractmethod
    def read(self, line: int, source: Source, text: str) -> Sequence[Event]:
        """The events that are certain once this line is known. ``text`` has no rank prefix and no newline."""

    def close(self) -> Sequence[Event]:
        """The events that the end of the log decides."""
        return NOTHING
