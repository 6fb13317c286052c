from __future__ import annotations

import io
import math
from pathlib import Path

import pytest
from rich.console import Console

from mbridge_skills.logs import events as ev
from mbridge_skills.logs.parser import LogParser
from mbridge_skills.verify.progress import Progress

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


def follow(*events: ev.Event, terminal: bool = False) -> str:
    """What a progress display says of these events."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=80, color_system=None)
    with Progress(console, "cpu-smoke") as progress:
        for event in events:
            progress.event(event)
            progress.tick()
    return out.getvalue()


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            ev.Iteration(1, 0, 3, 8, {"lm loss": 4.5}, phase="train", step_time_ms=250.0),
            "train: iteration 3/8, lm loss 4.500000, 4.0 it/s",
        ),
        (ev.Iteration(1, 0, 3, None, {}), "iteration 3"),
        (ev.Iteration(1, 0, 3, 8, {"lm loss": math.nan}, step_time_ms=0.0), "iteration 3/8, lm loss nan"),
        (ev.Checkpoint(1, 0, "save", "finished", 4, "/c", None), "checkpoint save finished"),
        (ev.Phase(1, 0, "resume"), "resume: begins"),
        (ev.PytestSummary(1, 0, {"passed": 1, "warnings": 2}, 1.0), "pytest: 1 passed, 2 warnings"),
        (ev.Traceback(1, 1, "ValueError", "x"), "ValueError on rank 1"),
        (ev.Traceback(1, None, "ValueError", "x"), "ValueError"),
        (ev.Phase(1, 0, "[bold]x[/bold] [/y]"), "[bold]x[/bold] [/y]: begins"),  # no markup
    ],
)
def test_plain_lines(event: ev.Event, line: str) -> None:
    assert follow(event) == f"cpu-smoke: {line}\n"


@pytest.mark.parametrize(
    "event",
    [
        ev.Finished(1, 0),
        ev.PytestSession(1, 0),
        ev.Environment(1, 0, {"label": "gpu"}),
        ev.TrainingDone(1, 0),
        ev.Traceback(1, None, "ChildFailedError", "", launcher=True),  # torchrun's report, not a cause
    ],
)
def test_nothing_to_say(event: ev.Event) -> None:
    assert follow(event) == ""


def test_long_lines_are_not_broken() -> None:
    assert follow(ev.Phase(1, 0, "x" * 200)) == f"cpu-smoke: {'x' * 200}: begins\n"


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ({}, "python -c 'print(1)'"),
        ({"A": "1", "B": ""}, "A=1 B='' python -c 'print(1)'"),
        ({"A": None, "B": "two words"}, "env -u A B='two words' python -c 'print(1)'"),
    ],
)
def test_the_command_can_be_copied(environment: dict[str, str | None], line: str) -> None:
    out = io.StringIO()
    Progress(Console(file=out, width=20), "x").started(
        ["python", "-c", "print(1)"], environment, Path("/w/[red]")
    )
    assert out.getvalue() == f"running in /w/[red]:\n  {line}\n"


def test_a_terminal_gets_one_live_line() -> None:
    events = [ev.Iteration(1, 0, number, 8, {"lm loss": 4.5}) for number in range(1, 9)]
    text = follow(*events, ev.Phase(1, 0, "[bold]x[/bold]"), terminal=True)
    assert "cpu-smoke: iteration" not in text
    assert text.endswith("\x1b[?25h") or "\x1b[?25h" in text  # the cursor is back


@pytest.mark.parametrize("log", sorted(LOGS.glob("bridge-*.log")), ids=lambda path: path.name)
def test_real_logs(log: Path) -> None:
    parser = LogParser()
    events = [*parser.feed(log.read_bytes()), *parser.close()]
    lines = follow(*events).splitlines()
    assert lines
    assert all(line.startswith("cpu-smoke: ") for line in lines)
