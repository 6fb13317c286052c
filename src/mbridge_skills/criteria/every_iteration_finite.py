"""Every iteration has a finite loss and gradient norm, and none was skipped."""

from __future__ import annotations

from mbridge_skills.card.model import CriterionSpec
from mbridge_skills.criteria.base import Criterion, JudgedRun, Judgement, failed, not_judged, passed
from mbridge_skills.criteria.series import is_whole, main_series


def judge(run: JudgedRun, spec: CriterionSpec) -> Judgement:
    """Over all phases of the run; a log that ends early, or has torn records, can fail here, but not pass."""
    limit = "all finite, 0 skipped, 0 nan"
    phases = run.log.phases.values()
    count = sum(series.count for series in phases)
    if not count:
        return not_judged("no iteration in the log", limit)
    non_finite = sum(series.non_finite_count for series in phases)
    skipped, nan = sum(series.skipped for series in phases), sum(series.nan for series in phases)
    value = f"{count - non_finite} of {count} records finite, {skipped} skipped, {nan} nan"
    if non_finite or skipped or nan:
        first = next((series.non_finite[0] for series in phases if series.non_finite), None)
        detail = f"first at iteration {first.iteration} (line {first.line})" if first else None
        return failed(value, limit, detail)
    unread = sum(not record.complete or not record.losses for series in phases for record in series.records)
    if unread:
        return not_judged(f"{value}, but {unread} of them cut off or without a loss", limit)
    if not is_whole(run, main_series(run)):
        return not_judged(f"{value}, but the log ends early", limit)
    return passed(value, limit)


CRITERION = Criterion("every-iteration-finite", "Every iteration finite, none skipped", judge)
