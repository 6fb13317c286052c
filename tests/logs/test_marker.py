from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mbridge_skills.logs import markers
from mbridge_skills.logs.events import CannotRun, Environment, Finished, Iteration, Phase

Parse = Callable[..., list[Any]]
RECORD = " iteration        1/       2 | lm loss: 8.0E+00 | number of nan iterations:   0 |"


def test_environment(parse: Parse) -> None:
    (event,) = parse(markers.line(markers.ENVIRONMENT, torch="2.13.0", device="cpu", world_size=2))
    assert event == Environment(1, None, {"torch": "2.13.0", "device": "cpu", "world_size": 2})


def test_cannot_run(parse: Parse) -> None:
    (event,) = parse(markers.line(markers.CANNOT_RUN, reason="no GPU"))
    assert event == CannotRun(1, None, "no GPU")


def test_finished(parse: Parse) -> None:
    log = "\n".join(markers.line(markers.FINISHED, rank=rank) for rank in (1, 0))
    assert parse(log) == [Finished(1, 1), Finished(2, 0)]


def test_finished_without_a_rank_has_that_of_its_line(parse: Parse) -> None:
    assert parse("[default2]:" + markers.line(markers.FINISHED)) == [Finished(1, 2)]


def test_phase_holds_for_the_iterations_that_follow(parse: Parse) -> None:
    log = [
        RECORD,
        markers.line(markers.PHASE, phase="a"),
        RECORD,
        RECORD,
        markers.line(markers.PHASE, phase="b"),
        RECORD,
    ]
    assert [event.phase for event in parse("\n".join(log), Iteration)] == [None, "a", "a", "b"]


def test_output_of_others_around_markers(parse: Parse) -> None:
    a, b = markers.line(markers.PHASE, phase="a"), markers.line(markers.PHASE, phase="b")
    assert parse(f"other{a} output{b}more") == [Phase(1, None, "a"), Phase(1, None, "b")]


@pytest.mark.parametrize(
    "text",
    [
        "[mbridge-skills]",
        "[mbridge-skills] ",
        "[mbridge-skills] starting",
        '[mbridge-skills] {"event": "phase"}',
        '[mbridge-skills] {"event": "phase", "phase": 3}',
        '[mbridge-skills] {"event": "phase", "phase": "a"',
        '[mbridge-skills] {"event": 3}',
        '[mbridge-skills] {"event": "cannot-run"}',
        '[mbridge-skills] {"event": "of a later version", "x": 1}',
        '[mbridge-skills] ["event"]',
        '[mbridge-skills] {"event": "finished", "rank": ' + "9" * 5000 + "}",
        "[mbridge-skills] " + "[" * 100_000,
        "mbridge-skills {}",
    ],
)
def test_leaves_it_alone(parse: Parse, text: str) -> None:
    assert parse(text) == []
