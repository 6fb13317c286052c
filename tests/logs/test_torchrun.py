from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mbridge_skills.logs.events import ChildFailure, LauncherFailure

Parse = Callable[..., list[Any]]

BAR = "=" * 60
RULE = "-" * 60
HINT = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"


def child(rank: int, exit_code: str, message: str = HINT, index: int = 0) -> str:
    return (
        f"[{index}]:\n  time      : 2026-11-30_19:44:28\n  host      : node1\n"
        f"  rank      : {rank} (local_rank: {rank})\n"
        f"  exitcode  : {exit_code}\n  error_file: <N/A>\n  traceback : {message}"
    )


def block(root: str, *others: str) -> str:
    return "\n".join(
        [BAR, "train.py FAILED", RULE, "Failures:", *(others or ["  <NO_OTHER_FAILURES>"]), RULE,
         "Root Cause (first observed failure):", root, BAR]
    )  # fmt: skip


def expected(rank: int, exit_code: int, pid: int | None, message: str = HINT) -> ChildFailure:
    return ChildFailure(rank, exit_code, pid, "node1", "2026-11-30_19:44:28", message)


def test_root_cause_and_others(parse: Parse) -> None:
    log = block(
        child(0, "1 (pid: 974)"),
        child(1, "-9 (pid: 975) ", "Signal 9 (SIGKILL) received by PID 975"),
        child(2, "-15 (pid: 976)  (SIGTERM)"),
    )
    assert parse(log) == [
        LauncherFailure(
            4,
            None,
            expected(0, 1, 974),
            (expected(1, -9, 975, "Signal 9 (SIGKILL) received by PID 975"), expected(2, -15, 976)),
        )
    ]


def test_root_cause_alone(parse: Parse) -> None:
    (failure,) = parse(block(child(3, "1 (pid: 9)")))
    assert (failure.root_cause, failure.others) == (expected(3, 1, 9), ())


def test_a_recorded_traceback_is_the_message(parse: Parse) -> None:
    frame = '    File "x.py", line 1, in f\n      f()'
    message = f"Traceback (most recent call last):\n{frame}\n  ValueError: time : 3\n  "
    (failure,) = parse(block(child(0, "1 (pid: 9)", message), child(1, "1 (pid: 8)", message)))
    assert failure.root_cause.message.rstrip().split("\n") == [
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in f',
        "    f()",
        "ValueError: time : 3",
    ]
    assert failure.others[0].rank == 1


@pytest.mark.parametrize("prefix", ["0: ", "1: "])
def test_behind_labels(parse: Parse, prefix: str) -> None:
    log = "0: a\n1: b\n" * 4 + "\n".join(prefix + line for line in block(child(5, "1 (pid: 9)")).split("\n"))
    (failure,) = parse(log)
    assert failure.root_cause.rank == 5


def test_two_launchers(parse: Parse) -> None:
    blocks = [block(child(rank, "1 (pid: 9)")).split("\n") for rank in (0, 8)]
    lines = [f"{node}: {line}" for pair in zip(*blocks, strict=True) for node, line in enumerate(pair)]
    assert [failure.root_cause.rank for failure in parse("\n".join(lines))] == [0, 8]


def test_cut_off(parse: Parse) -> None:
    whole = block(child(0, "1 (pid: 974)"), child(1, "-9 (pid: 975)"))
    (failure,) = parse(whole[: whole.index("Root Cause")])
    assert failure.root_cause == ChildFailure(None, None, None, None, None, "")
    assert [other.rank for other in failure.others] == [1]
    (failure,) = parse(whole[: whole.rindex("  error_file")])
    assert (failure.root_cause.rank, failure.root_cause.pid, failure.root_cause.message) == (0, 974, "")


def test_an_abandoned_block_ends(parse: Parse) -> None:
    log = (
        "Failures:\n"
        + child(1, "1 (pid: 9)")
        + "\n"
        + "training goes on\n" * 100
        + block(child(0, "1 (pid: 8)"))
    )
    assert [failure.root_cause.rank for failure in parse(log)] == [None, 0]


@pytest.mark.parametrize(
    "text",
    [
        "Failures: 3",
        "=================================== FAILURES ===================================",
        "Root Cause (first observed failure):",
        "Failures:\n" + BAR,
        "Failures:\n  <NO_OTHER_FAILURES>\n" + BAR,
        "Failures:",
        child(0, "1 (pid: 9)"),
    ],
)
def test_leaves_it_alone(parse: Parse, text: str) -> None:
    assert parse(text + "\n") == []


def test_nonsense_numbers(parse: Parse) -> None:
    (failure,) = parse(block(child(0, "unknown").replace("rank      : 0", "rank      : none")))
    assert (failure.root_cause.rank, failure.root_cause.exit_code, failure.root_cause.pid) == (
        None,
        None,
        None,
    )
