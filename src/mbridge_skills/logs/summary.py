"""What a whole log says, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from mbridge_skills.logs import events as ev
from mbridge_skills.logs.parser import LogParser, read_chunks
from mbridge_skills.logs.phases import PhaseSeries

MOST_PHASES = 64
MOST_KEPT = (
    100  # checkpoints, tracebacks, faults, pytest summaries, pytest failures: the first so many of each
)
MOST_RANKS = 16_384
LONGEST_LAST_LINE = 500  # characters

Failure = ev.Traceback | ev.Fault
Kept = TypeVar("Kept", bound=ev.Event)


class LogSummary:
    """Takes events and lines as they come. All attributes may be read at any time.

    Lists keep the first ``MOST_KEPT`` of their kind; ``counts`` has the true numbers.
    """

    def __init__(self) -> None:
        self.lines = 0
        """Lines of the log."""
        self.bytes = 0
        """Bytes of the log (uncompressed)."""
        self.phases: dict[str, PhaseSeries] = {}
        """Iterations by phase, in order of appearance; "" has those before or without a phase marker. Phases
        beyond ``MOST_PHASES`` are left out (``counts`` has their iterations)."""
        self.environment: Mapping[str, Any] | None = None
        """Versions and device, as the smoke program saw them first."""
        self.pytest_sessions = 0
        """pytest processes that began."""
        self.pytest_summaries: list[ev.PytestSummary] = []
        """Closing lines of pytest processes, one per process that reached it."""
        self.pytest_failures: list[ev.PytestFailure] = []
        """Lines of pytest's short summaries."""
        self.checkpoints: list[ev.Checkpoint] = []
        """Checkpoint saves and loads."""
        self.tracebacks: list[ev.Traceback] = []
        """Tracebacks, torchrun's own (``launcher``) among them."""
        self.launcher_failure: ev.LauncherFailure | None = None
        """torchrun's failure block, the first where there are several (one per node)."""
        self.faults: list[ev.Fault] = []
        """Device and communication faults."""
        self.last_line_by_rank: dict[int | None, str] = {}
        """The last line with text of each rank, at most ``LONGEST_LAST_LINE`` characters; None has the
        lines whose rank is unknown."""
        self.finished_ranks: set[int] = set()
        """Ranks of which the smoke program's last line was seen."""
        self.training_done = False
        """Whether Megatron said that the training loop ended."""
        self.cannot_run: str | None = None
        """Why the run is impossible where it was started, if the smoke program says so."""
        self.counts: dict[str, int] = {}
        """How many events of each class there were, by class name."""
        # The first failure of each rank. Tracebacks without an exception (cut off) stand back: they tell no
        # cause.
        self._failures: dict[int | None, Failure] = {}

    def add(self, event: ev.Event) -> None:
        """Takes the next event. Events of an unknown class are counted only."""
        kind = type(event)
        self.counts[kind.__name__] = self.counts.get(kind.__name__, 0) + 1
        if take := _TAKERS.get(kind):
            take(self, event)

    def line(self, number: int, rank: int | None, text: str) -> None:
        """Takes the next line: its number from 1, its rank (None where unknown), its text. Made to be the
        ``on_line`` of a :class:`~mbridge_skills.logs.parser.LogParser`."""
        self.lines = number
        if not text or text.isspace():
            return
        if rank in self.last_line_by_rank or len(self.last_line_by_rank) < MOST_RANKS:
            self.last_line_by_rank[rank] = text[:LONGEST_LAST_LINE].strip()

    @property
    def first_failure(self) -> Failure | None:
        """The first traceback or fault that is not torchrun's own; of the rank that torchrun calls the root
        cause, where it does and that rank has one. None where nothing failed."""
        if self.launcher_failure is not None:
            root = self.launcher_failure.root_cause.rank
            if root is not None and root in self._failures:
                return self._failures[root]
        return min(self._failures.values(), key=_seniority, default=None)

    def _iteration(self, event: ev.Iteration) -> None:
        name = event.phase or ""
        series = self.phases.get(name)
        if series is None:
            if len(self.phases) >= MOST_PHASES:
                return
            series = self.phases[name] = PhaseSeries(name)
        series.add(event)

    def _environment(self, event: ev.Environment) -> None:
        if self.environment is None:
            self.environment = event.fields

    def _pytest_session(self, event: ev.PytestSession) -> None:
        self.pytest_sessions += 1

    def _pytest_summary(self, event: ev.PytestSummary) -> None:
        _keep(self.pytest_summaries, event)

    def _pytest_failure(self, event: ev.PytestFailure) -> None:
        _keep(self.pytest_failures, event)

    def _checkpoint(self, event: ev.Checkpoint) -> None:
        _keep(self.checkpoints, event)

    def _traceback(self, event: ev.Traceback) -> None:
        _keep(self.tracebacks, event)
        if not event.launcher:
            self._failed(event)

    def _fault(self, event: ev.Fault) -> None:
        _keep(self.faults, event)
        self._failed(event)

    def _failed(self, event: Failure) -> None:
        known = self._failures.get(event.rank)
        if known is None and len(self._failures) >= MOST_RANKS:
            return
        if known is None or _seniority(event) < _seniority(known):
            self._failures[event.rank] = event

    def _launcher(self, event: ev.LauncherFailure) -> None:
        if self.launcher_failure is None:
            self.launcher_failure = event

    def _finished(self, event: ev.Finished) -> None:
        if event.rank is not None and len(self.finished_ranks) < MOST_RANKS:
            self.finished_ranks.add(event.rank)

    def _cannot_run(self, event: ev.CannotRun) -> None:
        if self.cannot_run is None:
            self.cannot_run = event.reason

    def _done(self, event: ev.TrainingDone) -> None:
        self.training_done = True


_TAKERS: Mapping[type[ev.Event], Callable[[LogSummary, Any], None]] = {
    ev.Iteration: LogSummary._iteration,
    ev.Environment: LogSummary._environment,
    ev.PytestSession: LogSummary._pytest_session,
    ev.PytestSummary: LogSummary._pytest_summary,
    ev.PytestFailure: LogSummary._pytest_failure,
    ev.Checkpoint: LogSummary._checkpoint,
    ev.Traceback: LogSummary._traceback,
    ev.Fault: LogSummary._fault,
    ev.LauncherFailure: LogSummary._launcher,
    ev.CannotRun: LogSummary._cannot_run,
    ev.Finished: LogSummary._finished,
    ev.TrainingDone: LogSummary._done,
}


def summarise(events: Iterable[ev.Event]) -> LogSummary:
    """The summary of events alone: ``lines``, ``bytes`` and ``last_line_by_rank`` stay empty."""
    summary = LogSummary()
    for event in events:
        summary.add(event)
    return summary


def summarise_chunks(chunks: Iterable[bytes]) -> LogSummary:
    """The summary of a log that comes in chunks of bytes."""
    summary = LogSummary()
    parser = LogParser(on_line=summary.line)
    for event in _all_events(parser, chunks):
        summary.add(event)
    summary.bytes = parser.bytes_read
    return summary


def summarise_file(path: Path) -> LogSummary:
    """The summary of a log file, plain or gzipped. Raises as :func:`~.parser.read_chunks` does."""
    return summarise_chunks(read_chunks(path))


def _all_events(parser: LogParser, chunks: Iterable[bytes]) -> Iterator[ev.Event]:
    for chunk in chunks:
        yield from parser.feed(chunk)
    yield from parser.close()


def _keep(kept: list[Kept], event: Kept) -> None:
    if len(kept) < MOST_KEPT:
        kept.append(event)


def _seniority(failure: Failure) -> tuple[bool, int]:
    cut_off = isinstance(failure, ev.Traceback) and not failure.exception
    return cut_off, failure.line
