"""Every rank ends by itself, and well."""

from __future__ import annotations

from mbridge_skills.card.model import CriterionSpec
from mbridge_skills.criteria.base import Criterion, JudgedRun, Judgement, failed, not_judged, passed
from mbridge_skills.criteria.ending import ending


def judge(run: JudgedRun, spec: CriterionSpec) -> Judgement:
    """By the exit status and the log; by the log alone where there is no more."""
    limit = "exit code 0 on every rank"
    found = ending(run)
    if found.clean is None:
        return not_judged(found.text, limit, found.detail)
    answer = passed if found.clean else failed
    return answer(found.text, limit, found.detail)


CRITERION = Criterion("clean-exit", "Clean exit of every rank", judge)
