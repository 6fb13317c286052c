"""From a log's summary and its lines to the gotchas that explain its failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mbridge_skills.card.model import Expect
from mbridge_skills.criteria.base import JudgedRun
from mbridge_skills.criteria.ending import ending
from mbridge_skills.gotchas.gotcha import SEVERITIES, Gotcha
from mbridge_skills.logs import events as ev
from mbridge_skills.logs.summary import LogSummary
from mbridge_skills.triage.result import Candidate, Place, RootCause, Triage
from mbridge_skills.triage.watch import LONGEST_KEPT, Hit, Line, LineWatch, Watched

_REACH = 400  # lines after a traceback's header that may be its frames

_TELL_LITTLE = ("SystemExit", "CalledProcessError", "KeyboardInterrupt")  # the cause stands before them

_Order = tuple[Place, bool, int, int, str]


@dataclass(frozen=True)
class _Text:
    """A failure's text, with its line and exception."""

    place: Place
    line: int
    rank: int | None
    exception: str | None
    text: str


def triage(summary: LogSummary, gotchas: Sequence[Gotcha], lines: LineWatch) -> Triage:
    """Which of ``gotchas`` explain the failure of a log; ``lines`` has watched its lines for the same ones.

    A run that reached its end has no failure, whatever it survived.
    """
    end = ending(JudgedRun(summary, None, Expect()))
    by_code = {gotcha.code: gotcha for gotcha in gotchas}
    texts = list(_failure_texts(summary))
    hits = sorted(lines.hits(), key=lambda hit: hit.line.number)
    ranked: dict[str, tuple[_Order, Candidate]] = {}

    def offer(code: str, place: Place, length: int, exception: str | None, evidence: Line) -> None:
        gotcha = by_code[code]
        names = {raised.exception for raised in gotcha.raises}
        other = exception is not None and bool(names) and exception not in names
        order = (place, other, -length, SEVERITIES.index(gotcha.severity), code)
        if code not in ranked or order < ranked[code][0]:
            ranked[code] = (order, Candidate(gotcha, place, evidence))

    for watched in lines.patterns:
        for failed in texts:
            if found := watched.pattern.search(failed.text):
                length = found.end() - found.start()
                offer(watched.code, failed.place, length, failed.exception, _evidence(failed, watched, hits))
    first = summary.first_failure
    for hit in hits:
        offer(hit.code, _place(hit, first, by_code[hit.code]), hit.length, None, hit.line)

    found_all = [candidate for _, candidate in sorted(ranked.values(), key=lambda pair: pair[0])]
    noticed = tuple(one for one in found_all if one.place is Place.LINE and _stops_nothing(one.gotcha))
    candidates = tuple(one for one in found_all if one not in noticed)
    explained = bool(candidates) and candidates[0].place is not Place.LINE
    failed_at_all = end.clean is False or bool(texts) or summary.cannot_run is not None or explained
    if end.clean or not failed_at_all:
        return Triage("no failure", None, (), noticed, bool(end.clean))
    cause = _root_cause(summary, lines, candidates[0] if explained else None, end.text)
    return Triage("explained" if explained else "unknown", cause, candidates, noticed, False)


def _failure_texts(summary: LogSummary) -> Iterator[_Text]:
    """Every failure that the summary has, the one of the rank that failed first before all."""
    first = summary.first_failure
    failures: list[ev.Traceback | ev.Fault] = [*summary.tracebacks, *summary.faults]
    if first is not None:
        failures.insert(0, first)
    for failure in failures:
        if isinstance(failure, ev.Traceback) and failure.launcher:
            continue
        place = Place.FIRST_FAILURE if failure == first else Place.OTHER_FAILURE
        exception = failure.exception if isinstance(failure, ev.Traceback) else None
        text = f"{exception}: {failure.message}" if exception else failure.message
        yield _Text(place, failure.line, failure.rank, exception, text)
    for told in summary.pytest_failures:
        # Without a traceback in the log, pytest's reason is the first that is known.
        place = Place.OTHER_FAILURE if first else Place.FIRST_FAILURE
        yield _Text(place, told.line, told.rank, None, told.reason or told.node_id)
    block = summary.launcher_failure
    if block is not None:
        for child in (block.root_cause, *block.others):
            yield _Text(Place.OTHER_FAILURE, block.line, child.rank, None, child.message)


def _evidence(failed: _Text, watched: Watched, hits: Sequence[Hit]) -> Line:
    """The line in which the failure says what matched; where it was not kept, the failure's first."""
    for hit in hits:
        near = failed.line <= hit.line.number <= failed.line + _REACH
        if near and hit.code == watched.code and hit.rank in (failed.rank, None):
            return hit.line
    return Line(failed.line, failed.text.partition("\n")[0][:LONGEST_KEPT])


def _place(hit: Hit, first: ev.Traceback | ev.Fault | None, gotcha: Gotcha) -> Place:
    if _stops_nothing(gotcha):
        return Place.LINE
    if first is not None and first.line <= hit.line.number <= first.line + _REACH:
        quoted = hit.line.text[:1].isspace() or hit.line.text[:1] == ">"
        if (quoted or hit.says_error) and hit.rank in (first.rank, None):
            return Place.OTHER_FAILURE
    return Place.ERROR_LINE if hit.says_error else Place.LINE


def _stops_nothing(gotcha: Gotcha) -> bool:
    return gotcha.severity == "info" or gotcha.phase == "silent"


def _root_cause(summary: LogSummary, lines: LineWatch, best: Candidate | None, ending_text: str) -> RootCause:
    first = summary.first_failure
    if isinstance(first, ev.Traceback):
        tells = first.message and first.exception not in _TELL_LITTLE
        before = () if tells else lines.before(first.line)
        return RootCause(first.line, first.rank, first.exception or None, first.message, before)
    if isinstance(first, ev.Fault):
        return RootCause(first.line, first.rank, first.kind, first.message)
    if summary.cannot_run is not None:
        return RootCause(None, None, None, f"the run is impossible where it started: {summary.cannot_run}")
    if summary.pytest_failures:
        told = summary.pytest_failures[0]
        return RootCause(told.line, told.rank, None, f"{told.outcome}: {told.reason or told.node_id}")
    block = summary.launcher_failure
    if block is not None:
        root = block.root_cause
        return RootCause(block.line, root.rank, None, f"{ending_text}: {root.message}")
    if best is not None:
        return RootCause(best.evidence.number, None, None, best.evidence.text.strip())
    return RootCause(None, None, None, ending_text)
