from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mbridge_skills.logs.events import Event
from mbridge_skills.logs.parser import LogParser

Parse = Callable[..., list[Any]]


@pytest.fixture
def parse() -> Parse:
    """Events of a whole log, given as text or bytes; of one class where a second argument names it."""

    def events(log: str | bytes, kind: type[Event] = Event) -> list[Any]:
        parser = LogParser()
        data = log.encode() if isinstance(log, str) else log
        return [event for event in [*parser.feed(data), *parser.close()] if isinstance(event, kind)]

    return events


@pytest.fixture(scope="session")
def logs() -> Path:
    return Path(__file__).parent.parent / "fixtures" / "logs"


@pytest.fixture(scope="session")
def real(logs: Path) -> Callable[[str], Path]:
    """The one real log with this word in its name."""

    def path(word: str) -> Path:
        (found,) = logs.glob(f"bridge-*{word}*.log")
        return found

    return path
