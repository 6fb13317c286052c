"""How a run ended, from its exit status where that is known, else from what its log shows."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from mbridge_skills.criteria.base import JudgedRun
from mbridge_skills.logs.events import LauncherFailure
from mbridge_skills.logs.summary import LogSummary


@dataclass(frozen=True)
class Ending:
    """``clean``: whether every rank ended by itself and well; None where the log does not tell."""

    clean: bool | None
    text: str
    detail: str | None = None


def ending(run: JudgedRun) -> Ending:
    """How ``run`` ended."""
    if run.outcome is None:
        return _from_log_alone(run)
    failure = _recorded_failure(run.log)
    if run.outcome.ended != "exited":
        return Ending(False, _ended_by_us(run), _last_lines(run.log))
    if run.outcome.exit_code:
        text = failure or f"the launcher ended with {describe_exit(run.outcome.exit_code)}"
        return Ending(False, text, _last_lines(run.log) if failure is None else None)
    # A traceback alone proves nothing here: programs log exceptions that they survive.
    missing = _ranks_without_end(run)
    if missing:
        ranks = ", ".join(map(str, missing))
        return Ending(False, f"exit code 0, but no last line of rank {ranks}", _last_lines(run.log))
    return Ending(True, "exit code 0 on every rank")


def describe_exit(code: int) -> str:
    """An exit status in words: negative ones are signals."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def _from_log_alone(run: JudgedRun) -> Ending:
    """By the marks that a program leaves when it reaches its end; failing those, by its failures."""
    log = run.log
    failure = _recorded_failure(log)
    if log.launcher_failure is not None:
        return Ending(False, failure or "torchrun reports a failure")
    reached, text = _end_marks(run)
    if reached is None and log.training_done:
        # Megatron saves the last checkpoint behind this mark: a failure may have come after it, or before
        # and been survived.
        if failure is not None:
            return Ending(None, f"training reported its end, but the log has a failure: {failure}")
        reached, text = True, "training reported its end"
    if reached:
        return Ending(True, f"{text} (exit status not in the log)")
    if failure is not None:
        return Ending(False, failure)
    return Ending(reached, text, _last_lines(log))


def _end_marks(run: JudgedRun) -> tuple[bool | None, str]:
    """Whether every process says that it reached its end, and well; None where such a log says nothing."""
    log = run.log
    if log.pytest_sessions:
        reported = len(log.pytest_summaries)
        if reported < log.pytest_sessions:
            return False, f"{reported} of {log.pytest_sessions} pytest processes reported their end"
        wrong = sum(
            summary.counts.get(key, 0) for summary in log.pytest_summaries for key in ("failed", "error")
        )
        if wrong:
            return False, "a pytest process reported failures, and so ended with exit code 1"
        if not all(summary.counts.keys() - {"deselected", "warnings"} for summary in log.pytest_summaries):
            return False, "a pytest process ran no test, and so ended with exit code 5"
        return True, "every pytest process reported its end"
    if run.world_size:
        if all(rank in log.finished_ranks for rank in range(run.world_size)):
            return True, "every rank reached its last line"
        return False, "the log ends before every rank's last line"
    return None, "neither an end nor a failure is in the log"


def _recorded_failure(log: LogSummary) -> str | None:
    """The failure that the log records: torchrun's root cause first, then the first traceback or fault."""
    first = log.first_failure
    cause = _exception_text(first) if first is not None else None
    block = log.launcher_failure
    if block is None:
        return cause
    text = _root_cause_text(block)
    return f"{text}: {cause}" if cause else text


def _root_cause_text(block: LauncherFailure) -> str:
    root = block.root_cause
    rank = "a rank" if root.rank is None else f"rank {root.rank}"
    if root.exit_code is None:
        return f"{rank} failed"
    return f"{rank} ended with {describe_exit(root.exit_code)}"


def _exception_text(failure: object) -> str:
    rank = getattr(failure, "rank", None)
    kind = getattr(failure, "exception", None) or getattr(failure, "kind", "fault")
    message = str(getattr(failure, "message", "")).strip()
    text = f"{kind}: {message}" if message else str(kind)
    text = " ".join(text.split())
    text = text if len(text) <= 300 else text[:297] + "..."
    return text if rank is None else f"{text} (rank {rank})"


def _ended_by_us(run: JudgedRun) -> str:
    assert run.outcome is not None
    seconds = f"{run.outcome.seconds:.0f} s"
    return {
        "timeout": f"time limit reached after {seconds}: all processes ended",
        "stalled": f"hang: no output until ended after {seconds}",
        "interrupted": f"interrupted after {seconds}",
    }[run.outcome.ended]


def _ranks_without_end(run: JudgedRun) -> list[int]:
    """Ranks of a smoke run that never reached their last line; other programs print none."""
    return [rank for rank in range(run.world_size or 0) if rank not in run.log.finished_ranks]


def _last_lines(log: LogSummary) -> str | None:
    """The last line of each rank: where a hanging run stands."""
    lines = []
    for rank, text in sorted(log.last_line_by_rank.items(), key=lambda item: (item[0] is None, item[0] or 0)):
        name = "of no known rank" if rank is None else f"of rank {rank}"
        if rank is not None or len(log.last_line_by_rank) == 1:
            lines.append(f"last line {name}: {text.strip()}")
    return "\n".join(lines) or None
