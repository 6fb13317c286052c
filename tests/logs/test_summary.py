from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from mbridge_skills.logs import events as ev
from mbridge_skills.logs.parser import parse_file
from mbridge_skills.logs.summary import (
    LONGEST_LAST_LINE,
    MOST_KEPT,
    MOST_PHASES,
    LogSummary,
    summarise,
    summarise_chunks,
    summarise_file,
)

Real = Callable[[str], Path]


def traceback(
    line: int, rank: int | None, exception: str = "ValueError", *, launcher: bool = False
) -> ev.Traceback:
    return ev.Traceback(line, rank, exception, "", launcher=launcher)


def launcher(rank: int | None) -> ev.LauncherFailure:
    return ev.LauncherFailure(99, None, ev.ChildFailure(rank, 1, 1, None, None, ""))


def traced(make: Callable[[], LogSummary]) -> tuple[LogSummary, int]:
    """The summary, and the most bytes that were held at a time while it was made."""
    tracemalloc.start()
    try:
        return make(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_nothing() -> None:
    empty = summarise_chunks([])
    assert (empty.lines, empty.bytes, empty.phases, empty.first_failure) == (0, 0, {}, None)


def test_a_passed_log(real: Real) -> None:
    path = real("passed")
    found = summarise_file(path)
    assert (found.lines, found.bytes) == (535, path.stat().st_size)
    assert list(found.phases) == [""]
    series = found.phases[""]
    assert (series.count, series.total, series.skipped, series.nan, series.non_finite) == (2, 10, 0, 0, [])
    assert [record.loss for record in series.records] == [9.00598, 8.367718]
    assert (found.pytest_sessions, len(found.pytest_summaries), found.pytest_failures) == (2, 2, [])
    assert found.training_done
    assert found.first_failure is None
    assert set(found.last_line_by_rank) == {None, 0}
    assert found.last_line_by_rank[None].startswith("======================= 1 passed, 42 warnings")


@pytest.mark.parametrize(
    ("name", "exception", "line"),
    [
        ("mfsdp-pp2", "EinopsError", 352),  # rank 1 fails first in the log, rank 0 is torchrun's root cause
        ("fsdp2", "TypeError", 306),
        ("makefile", "SystemExit", 289),
    ],
)
def test_failed_logs(real: Real, name: str, exception: str, line: int) -> None:
    found = summarise_file(real(name))
    failure = found.first_failure
    assert isinstance(failure, ev.Traceback)
    assert (failure.exception, failure.rank, failure.line) == (exception, 0, line)
    assert [item.launcher for item in found.tracebacks] == [False, False, True]
    assert found.launcher_failure is not None
    assert found.launcher_failure.root_cause.rank == 0
    assert not found.training_done
    assert found.phases == {}


def test_made_logs(logs: Path) -> None:
    memory = summarise_file(logs / "made-megatron-lm-tee-moe.out-of-memory.log")
    failure = memory.first_failure
    assert isinstance(failure, ev.Traceback)
    assert (failure.exception, failure.rank) == ("OutOfMemoryError", 2)
    smoke = summarise_file(logs / "made-smoke.passed.log")
    assert list(smoke.phases) == ["reference", "fsdp"]
    assert smoke.finished_ranks == {0, 1}
    assert smoke.environment == {"device": "cpu", "torch": "2.13.0", "world_size": 2}
    srun = summarise_file(logs / "made-srun-labels.oom-kill.log")
    assert isinstance(srun.first_failure, ev.Fault)
    assert srun.last_line_by_rank[1] == "step 2 of rank 1"


def test_events_alone(real: Real) -> None:
    found = summarise(parse_file(real("passed")))
    assert (found.lines, found.last_line_by_rank, found.phases[""].count) == (0, {}, 2)


def test_cannot_run_keeps_the_first_reason() -> None:
    found = summarise([ev.CannotRun(1, None, "no GPU"), ev.CannotRun(2, None, "other")])
    assert (found.cannot_run, found.first_failure) == ("no GPU", None)


class TestFirstFailure:
    @pytest.mark.parametrize(
        ("events", "expected"),
        [
            ([], None),
            ([traceback(5, None, "ChildFailedError", launcher=True)], None),
            ([traceback(5, 1), traceback(9, 0)], 5),
            ([ev.Fault(7, 1, "nccl", ""), traceback(5, 0)], 5),  # a traceback comes when it is over
            ([traceback(5, 1), traceback(9, 0), launcher(0)], 9),
            ([launcher(0), traceback(5, 1), traceback(9, 0), traceback(11, 0)], 9),
            ([traceback(5, 1), launcher(7)], 5),
            ([traceback(5, 1), launcher(None)], 5),
            ([traceback(5, None), ev.Fault(9, 0, "nccl", ""), launcher(0)], 9),
            ([traceback(5, 1, ""), traceback(9, 1)], 9),  # one that is cut off tells nothing
            ([traceback(5, 1, "")], 5),
        ],
    )
    def test_is(self, events: list[ev.Event], expected: int | None) -> None:
        failure = summarise(events).first_failure
        assert (failure and failure.line) == expected

    def test_of_a_rank_that_fails_after_many_others(self) -> None:
        events = [traceback(line, line) for line in range(1, 1000)]
        failure = summarise([*events, launcher(900)]).first_failure
        assert failure is not None
        assert failure.rank == 900


class TestBounds:
    def test_lists(self) -> None:
        found = summarise(ev.Fault(line, None, "nccl", "") for line in range(MOST_KEPT * 3))
        assert [fault.line for fault in found.faults] == list(range(MOST_KEPT))
        assert found.counts == {"Fault": MOST_KEPT * 3}

    def test_last_lines(self) -> None:
        found = LogSummary()
        found.line(1, 0, "x" * 10_000)
        assert found.last_line_by_rank == {0: "x" * LONGEST_LAST_LINE}
        for rank in range(100_000):
            found.line(2, rank, "y")
        assert len(found.last_line_by_rank) < 20_000

    def test_empty_lines_are_no_last_lines(self) -> None:
        found = LogSummary()
        found.line(1, 0, "text")
        found.line(2, 0, "  ")
        assert (found.last_line_by_rank, found.lines) == ({0: "text"}, 2)

    def test_phases(self) -> None:
        found = summarise(ev.Iteration(1, None, 1, 1, {}, phase=str(number)) for number in range(1000))
        assert list(found.phases) == [str(number) for number in range(MOST_PHASES)]
        assert found.counts == {"Iteration": 1000}

    def test_memory_does_not_grow_with_the_number_of_iterations(self) -> None:
        records = (ev.Iteration(line, None, line, 200_000, {"lm loss": 8.0}) for line in range(200_000))
        found, peak = traced(lambda: summarise(records))
        assert found.phases[""].count == 200_000
        assert peak < 16_000_000  # the records alone would be 100 MB

    def test_memory_does_not_grow_with_the_log(self) -> None:
        record = (
            b"[2026-11-30 19:45:37] iteration %8d/  200000 | lm loss: nan | number of nan iterations: 1 |"
        )
        failure = b"Traceback (most recent call last):\nFailures:\n[rank%d]: CUDA out of memory. \n%%%d\r"
        line = b"[default%d]: " + record + b"\n" + failure
        chunks = (line % (number, number, number, number) for number in range(4_000))
        found, peak = traced(lambda: summarise_chunks(chunks))
        assert found.counts["Fault"] == 4_000
        assert peak < 32_000_000
