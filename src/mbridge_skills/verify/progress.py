"""Telling a waiting person how far a run is: a live line on a terminal, plain lines elsewhere. On stderr."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from mbridge_skills.logs.events import Checkpoint, Event, Iteration, Phase, PytestSummary, Traceback

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status


class Progress:
    """Follows one run. Use as a context manager around it."""

    def __init__(self, console: Console, name: str) -> None:
        self._console = console
        self._name = name
        self._begun = time.monotonic()
        self._now = "starting"
        self._shown = 0.0
        self._status: Status | None = None

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            self._status = self._console.status(self._text())
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def started(self, argv: Sequence[str], environment: Mapping[str, str | None], folder: Path) -> None:
        """Show what runs, in a form that can be copied to a shell."""
        unset = [f"-u {name}" for name, value in environment.items() if value is None]
        settings = [
            f"{name}={shlex.quote(value)}" for name, value in environment.items() if value is not None
        ]
        prefix = ["env", *unset, *settings] if unset else settings
        self._say(f"running in {folder}:")
        self._say("  " + " ".join([*prefix, shlex.join(argv)]))

    def event(self, event: Event) -> None:
        """Take note of what the log says."""
        text = _describe(event)
        if text is None:
            return
        self._now = text
        if self._status is None:
            self._say(f"{self._name}: {text}")

    def tick(self) -> None:
        """Refresh the live line, at most a few times a second."""
        now = time.monotonic()
        if self._status is not None and now - self._shown >= 0.2:
            self._shown = now
            self._status.update(self._text())

    def _text(self) -> str:
        from rich.markup import escape

        elapsed = time.monotonic() - self._begun
        return f"{escape(self._name)}  {elapsed:3.0f} s  {escape(self._now)}"

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def _describe(event: Event) -> str | None:
    if isinstance(event, Iteration):
        phase = f"{event.phase}: " if event.phase else ""
        total = f"/{event.total}" if event.total else ""
        loss = f", lm loss {event.loss:.6f}" if event.loss is not None else ""
        rate = f", {1000 / event.step_time_ms:.1f} it/s" if event.step_time_ms else ""
        return f"{phase}iteration {event.iteration}{total}{loss}{rate}"
    if isinstance(event, Checkpoint):
        return f"checkpoint {event.action} {event.stage}"
    if isinstance(event, Phase):
        return f"{event.name}: begins"
    if isinstance(event, PytestSummary):
        return "pytest: " + ", ".join(f"{number} {name}" for name, number in event.counts.items())
    if isinstance(event, Traceback) and not event.launcher:
        rank = "" if event.rank is None else f" on rank {event.rank}"
        return f"{event.exception}{rank}"
    return None
