"""pytest reports exactly the expected passes, on every rank that reported."""

from __future__ import annotations

from mbridge_skills.card.model import CriterionSpec
from mbridge_skills.criteria.base import Criterion, JudgedRun, Judgement, failed, not_judged, passed


def judge(run: JudgedRun, spec: CriterionSpec) -> Judgement:
    """Every pytest process that began must report the expected passes and nothing failed or errored."""
    expected = run.expect.passes or 1
    limit = f"{expected} passed on every rank, none failed"
    started, summaries = run.log.pytest_sessions, run.log.pytest_summaries
    if not started and not summaries:
        return not_judged("no pytest output in the log", limit)
    counts = [dict(summary.counts) for summary in summaries]
    value = "; ".join(_text(count) for count in counts) or "no summary"
    reasons = [
        f"{failure.outcome}: {failure.node_id} - {failure.reason}" for failure in run.log.pytest_failures
    ]
    detail = "\n".join(dict.fromkeys(reasons)) or None
    if len(summaries) < started:
        missing = f"{len(summaries)} of {started} ranks reported"
        return failed(f"{value} ({missing})", limit, detail)
    if run.processes is not None and len(summaries) != run.processes:
        return failed(f"{value} ({len(summaries)} reports from {run.processes} processes)", limit, detail)
    if all(_is_expected(count, expected) for count in counts):
        return passed(f"{expected} passed on each of {len(counts)} ranks", limit)
    return failed(value, limit, detail)


def _is_expected(counts: dict[str, int], expected: int) -> bool:
    wrong = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    return counts.get("passed", 0) == expected and not wrong


def _text(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items() if name != "warnings")


CRITERION = Criterion("pytest-passes", "pytest reports the expected passes on every rank", judge)
