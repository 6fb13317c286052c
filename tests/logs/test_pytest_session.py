from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mbridge_skills.logs.events import PytestFailure, PytestSession, PytestSummary

Parse = Callable[..., list[Any]]


@pytest.mark.parametrize(
    ("text", "sessions"),
    [
        ("============================= test session starts ==============================", 1),
        ("\x1b[1m===== test session starts =====\x1b[0m", 1),
        ("===== test session starts ========== test session starts =====", 2),
        ("test session starts", 0),
        ("=== test session starts when you type pytest", 0),
        ("===== short test summary info =====", 0),
    ],
)
def test_sessions(parse: Parse, text: str, sessions: int) -> None:
    assert len(parse(text, PytestSession)) == sessions


@pytest.mark.parametrize(
    ("text", "counts", "seconds"),
    [
        ("=== 1 passed, 35 warnings in 40.31s ===", {"passed": 1, "warnings": 35}, 40.31),
        ("=== 1 failed, 2 passed, 1 warning in 0.05s ===", {"failed": 1, "passed": 2, "warnings": 1}, 0.05),
        ("=== 1 error in 3.00s ===", {"error": 1}, 3.0),
        ("=== 2 errors in 3.00s ===", {"error": 2}, 3.0),
        ("=== 5 passed in 62.00s (0:01:02) ===", {"passed": 5}, 62.0),
        ("=== 5 passed in 90062.00s (1 day, 1:01:02) ===", {"passed": 5}, 90062.0),
        ("=== no tests ran in 0.01s ===", {}, 0.01),
        ("no tests ran in 0.01s", {}, 0.01),
        ("3 passed in 0.12s", {"passed": 3}, 0.12),
        ("1 skipped in 0.12s", {"skipped": 1}, 0.12),
        ("2 deselected in 0.12s", {"deselected": 2}, 0.12),
        ("1 xfailed, 1 xpassed, 1 warning in 0.12s", {"xfailed": 1, "xpassed": 1, "warnings": 1}, 0.12),
        ("3 passed, 2 errors in 0.12s (0:01:02)", {"passed": 3, "error": 2}, 0.12),
        (
            "=== \x1b[32m\x1b[1m1 passed\x1b[0m, \x1b[33m2 warnings\x1b[32m in 1.50s\x1b[0m ===",
            {"passed": 1, "warnings": 2},
            1.5,
        ),
        ("\x1b[31m\x1b[31m\x1b[1m1 failed\x1b[0m\x1b[31m in 0.02s\x1b[0m\x1b[0m", {"failed": 1}, 0.02),
        ("PASSED=== 1 passed in 2.00s ===", {"passed": 1}, 2.0),
    ],
)
def test_summaries(parse: Parse, text: str, counts: dict[str, int], seconds: float) -> None:
    (summary,) = parse(text + "\n")
    assert isinstance(summary, PytestSummary)
    assert (summary.counts, summary.seconds) == (counts, seconds)


def test_two_ranks_close_in_one_line(parse: Parse) -> None:
    summaries = parse("=== 1 passed in 2.00s ====== 1 failed in 3.00s ===", PytestSummary)
    assert [summary.counts for summary in summaries] == [{"passed": 1}, {"failed": 1}]


@pytest.mark.parametrize(
    "text",
    [
        "3 passed in review",
        "3 passed in 5 minutes",
        "we had 3 passed in 0.12s",
        "3 passed in 0.12s, which is fast",
        "3 passed",
        "passed in 0.12s",
        "Compiled 3 kernels in 0.12s",
        "12 files changed in 0.12s",
        "=== 3 passed in review ===",
        "=== warnings summary ===",
        "=== slowest durations ===",
        "=== 1 apple in 0.12s ===",
        "    3 passed in 0.12s",
        "loaded 3 failed in 0.5s",
        "INFO: 3 failed in 0.12s",
    ],
)
def test_no_summary(parse: Parse, text: str) -> None:
    assert parse(text + "\n") == []


@pytest.mark.parametrize(
    ("text", "node_id", "outcome", "reason"),
    [
        (
            "FAILED tests/test_a.py::TestA::test_b - SystemExit: 1",
            "tests/test_a.py::TestA::test_b",
            "failed",
            "SystemExit: 1",
        ),
        ("FAILED tests/test_a.py::test_b", "tests/test_a.py::test_b", "failed", ""),
        (
            "FAILED test_a.py::test_b[x y-1] - assert 1 == 2",
            "test_a.py::test_b[x y-1]",
            "failed",
            "assert 1 == 2",
        ),
        (
            "ERROR tests/test_a.py - ModuleNotFoundError: No module named 'x'",
            "tests/test_a.py",
            "error",
            "ModuleNotFoundError: No module named 'x'",
        ),
        (
            "ERROR tests/test_a.py::test_b - fixture 'x' not found",
            "tests/test_a.py::test_b",
            "error",
            "fixture 'x' not found",
        ),
        ("\x1b[31mFAILED\x1b[0m test_a.py::\x1b[1mtest_b\x1b[0m - x", "test_a.py::test_b", "failed", "x"),
    ],
)
def test_failures(parse: Parse, text: str, node_id: str, outcome: str, reason: str) -> None:
    (failure,) = parse(text + "\n")
    assert isinstance(failure, PytestFailure)
    assert (failure.node_id, failure.outcome, failure.reason) == (node_id, outcome, reason)


@pytest.mark.parametrize(
    "text",
    [
        "FAILED",
        "FAILED to load checkpoint",
        "FAILED because train.py was missing",
        "ERROR something is wrong",
        "ERROR    megatron.core.datasets.utils:_rank_utils.py:89 Failed to compile",
        "ERROR:megatron.bridge.training.pretrain:Pretrain is over",
        "tests/test_a.py::test_b FAILED",
        "pytest FAILED",
        "ERROR: not found: tests/test_a.py",
    ],
)
def test_no_failure(parse: Parse, text: str) -> None:
    assert parse(text + "\n") == []
