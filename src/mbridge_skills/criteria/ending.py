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
    failure = _recorded_failure(run.log)
    if run.outcome is None:
        return _from_log_alone(run.log, failure)
    if run.outcome.ended != "exited":
        return Ending(False, _ended_by_us(run), _last_lines(run.log))
    if run.outcome.exit_code:
        text = failure or f"the launcher ended with {describe_exit(run.outcome.exit_code)}"
        return Ending(False, text, _last_lines(run.log) if failure is None else None)
    if failure:
        return Ending(False, failure)
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


def _from_log_alone(log: LogSummary, failure: str | None) -> Ending:
    without_status = "exit status not in the log"
    if failure:
        return Ending(False, failure)
    if log.pytest_sessions:
        reported = len(log.pytest_summaries)
        if reported < log.pytest_sessions:
            return Ending(False, f"{reported} of {log.pytest_sessions} pytest processes reported their end")
        return Ending(True, f"every pytest process reported its end ({without_status})")
    world_size = (log.environment or {}).get("world_size")
    if world_size:
        if log.finished_ranks >= set(range(int(world_size))):
            return Ending(True, f"every rank reached its last line ({without_status})")
        return Ending(False, "the log ends before every rank's last line", _last_lines(log))
    if log.training_done:
        return Ending(True, f"training reported its end ({without_status})")
    return Ending(None, "neither an end nor a failure is in the log", _last_lines(log))


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
    world_size = (run.log.environment or {}).get("world_size")
    if not world_size:
        return []
    return sorted(set(range(int(world_size))) - run.log.finished_ranks)


def _last_lines(log: LogSummary) -> str | None:
    """The last line of each rank: where a hanging run stands."""
    lines = []
    for rank, text in sorted(log.last_line_by_rank.items(), key=lambda item: (item[0] is None, item[0] or 0)):
        name = "of no known rank" if rank is None else f"of rank {rank}"
        if rank is not None or len(log.last_line_by_rank) == 1:
            lines.append(f"last line {name}: {text.strip()}")
    return "\n".join(lines) or None
