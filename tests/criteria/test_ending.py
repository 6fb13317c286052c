from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mbridge_skills.criteria.base import JudgedRun
from mbridge_skills.criteria.ending import describe_exit, ending
from mbridge_skills.verify.launcher import Outcome

RunOf = Callable[..., JudgedRun]
Text = Callable[..., str]
CLEAN = Outcome("exited", 0, 12.0)
START = "============================= test session starts ==============================\n"
PASSED = "================== 1 passed in 40.85s ==================\n"
DONE = "[after training is done] datetime: 2026-11-30 20:00:05 \n"
TRACEBACK = """Traceback (most recent call last):
  File "/x/train.py", line 3, in main
    save()
OSError: [Errno 28] No space left on device
"""
OF_RANK_1 = "".join(f"[rank1]: {line}\n" for line in TRACEBACK.splitlines())
KILLED = """E1130 20:00:00.000000 1 torch/distributed/elastic/multiprocessing/api.py:1] failed (exitcode: -9)
============================================================
mbridge_skills.smoke FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-30_20:00:00
  host      : localhost
  rank      : 1 (local_rank: 1)
  exitcode  : -9 (pid: 975)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 975
============================================================
"""


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0, "exit code 0"),
        (1, "exit code 1"),
        (-9, "signal SIGKILL"),
        (-6, "signal SIGABRT"),
        (-11, "signal SIGSEGV"),
        (-200, "signal 200"),
    ],
)
def test_exit_in_words(code: int, text: str) -> None:
    assert describe_exit(code) == text


class TestWithOutcome:
    def test_clean(self, smoke_log: Text, run_of: RunOf) -> None:
        found = ending(run_of(smoke_log(), CLEAN))
        assert (found.clean, found.text, found.detail) == (True, "exit code 0 on every rank", None)

    @pytest.mark.parametrize(
        ("outcome", "text"),
        [
            (Outcome("timeout", -15, 600.4), "time limit reached after 600 s: all processes ended"),
            (Outcome("stalled", -15, 130.0), "hang: no output until ended after 130 s"),
            (Outcome("interrupted", -15, 5.0), "interrupted after 5 s"),
            (Outcome("timeout", 0, 600.0), "time limit reached after 600 s: all processes ended"),
        ],
    )
    def test_ended_by_us(self, smoke_log: Text, run_of: RunOf, outcome: Outcome, text: str) -> None:
        found = ending(run_of(smoke_log(finished=[1]), outcome))
        assert (found.clean, found.text) == (False, text)
        assert found.detail is not None
        assert 'last line of rank 1: [mbridge-skills] {"event": "finished", "rank": 1}' in found.detail
        assert "last line of rank 0: successfully loaded checkpoint" in found.detail

    @pytest.mark.parametrize(
        ("log", "code", "text"),
        [
            ("", 1, "the launcher ended with exit code 1"),
            ("text\n", -9, "the launcher ended with signal SIGKILL"),
            (KILLED, 1, "rank 1 ended with signal SIGKILL"),
            (TRACEBACK, 1, "OSError: [Errno 28] No space left on device"),
            (OF_RANK_1, 1, "OSError: [Errno 28] No space left on device (rank 1)"),
        ],
    )
    def test_bad_exit(self, run_of: RunOf, log: str, code: int, text: str) -> None:
        found = ending(run_of(log, Outcome("exited", code, 1.0)))
        assert (found.clean, found.text) == (False, text)

    def test_bad_exit_although_every_rank_finished(self, smoke_log: Text, run_of: RunOf) -> None:
        found = ending(run_of(smoke_log(), Outcome("exited", 1, 1.0)))
        assert (found.clean, found.text) == (False, "the launcher ended with exit code 1")

    @pytest.mark.parametrize(("finished", "missing"), [([], "0, 1"), ([0], "1"), ([1], "0"), ([0, 2], "1")])
    def test_a_rank_without_its_last_line(
        self, smoke_log: Text, run_of: RunOf, finished: list[int], missing: str
    ) -> None:
        found = ending(run_of(smoke_log(finished=finished), CLEAN))
        assert (found.clean, found.text) == (False, f"exit code 0, but no last line of rank {missing}")

    def test_a_survived_exception(self, smoke_log: Text, run_of: RunOf) -> None:
        assert ending(run_of(TRACEBACK + smoke_log(), CLEAN)).clean is True

    def test_a_long_message_is_shortened(self, run_of: RunOf) -> None:
        log = TRACEBACK.replace("No space left", "No space " * 100)
        text = ending(run_of(log, Outcome("exited", 1, 1.0))).text
        assert len(text) <= 300
        assert text.endswith("...")


class TestFromTheLogAlone:
    @pytest.mark.parametrize(
        ("log", "clean", "text"),
        [
            ("", None, "neither an end nor a failure is in the log"),
            ("text\n", None, "neither an end nor a failure is in the log"),
            (DONE, True, "training reported its end (exit status not in the log)"),
            (TRACEBACK, False, "OSError: [Errno 28] No space left on device"),
            (KILLED, False, "rank 1 ended with signal SIGKILL"),
            (DONE + KILLED, False, "rank 1 ended with signal SIGKILL"),
            # Megatron saves the last checkpoint behind this mark.
            (
                DONE + TRACEBACK,
                None,
                "training reported its end, but the log has a failure: "
                "OSError: [Errno 28] No space left on device",
            ),
            (START + PASSED, True, "every pytest process reported its end (exit status not in the log)"),
            (
                START * 2 + PASSED * 2,
                True,
                "every pytest process reported its end (exit status not in the log)",
            ),
            (START * 2 + PASSED, False, "1 of 2 pytest processes reported their end"),
            (START + DONE, False, "0 of 1 pytest processes reported their end"),
            (START * 2 + DONE + PASSED, False, "1 of 2 pytest processes reported their end"),
            (START + TRACEBACK, False, "OSError: [Errno 28] No space left on device"),
            (START + PASSED + KILLED, False, "rank 1 ended with signal SIGKILL"),
            (
                START + PASSED.replace("passed", "failed"),
                False,
                "a pytest process reported failures, and so ended with exit code 1",
            ),
            (
                START + PASSED.replace("1 passed", "2 passed, 1 error"),
                False,
                "a pytest process reported failures, and so ended with exit code 1",
            ),
            (
                START + PASSED.replace("1 passed", "no tests ran"),
                False,
                "a pytest process ran no test, and so ended with exit code 5",
            ),
            (
                START + PASSED.replace("1 passed", "3 deselected, 1 warning"),
                False,
                "a pytest process ran no test, and so ended with exit code 5",
            ),
        ],
    )
    def test_marks(self, run_of: RunOf, log: str, clean: bool | None, text: str) -> None:
        found = ending(run_of(log))
        assert (found.clean, found.text) == (clean, text)

    def test_smoke(self, smoke_log: Text, run_of: RunOf) -> None:
        found = ending(run_of(smoke_log()))
        assert (found.clean, found.text) == (
            True,
            "every rank reached its last line (exit status not in the log)",
        )

    @pytest.mark.parametrize("finished", [[], [0], [1], [0, 2], [1, 1]])
    def test_smoke_cut(self, smoke_log: Text, run_of: RunOf, finished: list[int]) -> None:
        found = ending(run_of(smoke_log(finished=finished)))
        assert (found.clean, found.text) == (False, "the log ends before every rank's last line")

    def test_smoke_after_which_torchrun_reports_a_failure(self, smoke_log: Text, run_of: RunOf) -> None:
        assert ending(run_of(smoke_log() + KILLED)).clean is False

    @pytest.mark.parametrize("size", ["2", None, 2.5, -1, [2], 10**15])
    def test_a_world_size_that_is_none(self, smoke_log: Text, run_of: RunOf, size: Any) -> None:
        found = ending(run_of(smoke_log(environment={"world_size": size})))
        assert found.clean is not True

    @pytest.mark.parametrize(
        ("log", "clean", "text"),
        [
            ("test_fsdp_pretrain_basic", True, "every pytest process reported its end"),
            ("ddp-distopt", True, "training reported its end"),
            ("4-microbatches.passed", True, "every rank reached its last line"),
            ("ep2", True, "every rank reached its last line"),
            ("makefile", False, "rank 0 ended with exit code 1: SystemExit: 1 (rank 0)"),
            ("fsdp2", False, "rank 0 ended with exit code 1: TypeError: 'method' object is not iterable"),
            ("mfsdp-pp2", False, "rank 0 ended with exit code 1: EinopsError: Error while processing"),
            ("torch-dist", False, "rank 0 ended with exit code 1: NotImplementedError: sharding_type"),
        ],
    )
    def test_real_logs(
        self, run_of: RunOf, real: Callable[[str], object], log: str, clean: bool, text: str
    ) -> None:
        found = ending(run_of(real(log)))
        assert found.clean is clean
        assert found.text.startswith(text)


def test_last_lines_of_one_unknown_rank_are_shown(run_of: RunOf) -> None:
    found = ending(run_of("first\nlast words\n", Outcome("stalled", -15, 9.0)))
    assert found.detail == "last line of no known rank: last words"


def test_last_lines_of_many_ranks_leave_out_the_unknown(run_of: RunOf) -> None:
    found = ending(run_of("[default1]:one\n[default0]:zero\nlauncher\n", Outcome("stalled", -15, 9.0)))
    assert found.detail == "last line of rank 0: zero\nlast line of rank 1: one"
