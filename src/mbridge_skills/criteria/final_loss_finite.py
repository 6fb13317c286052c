"""The loss of the last expected iteration is there and finite."""

from __future__ import annotations

import math

from mbridge_skills.card.model import CriterionSpec
from mbridge_skills.criteria.base import Criterion, JudgedRun, Judgement, failed, passed
from mbridge_skills.criteria.series import expected_last, main_series


def judge(run: JudgedRun, spec: CriterionSpec) -> Judgement:
    """Held against the planned number of iterations, else against the total that the log states."""
    limit = "finite loss at the last iteration"
    series = main_series(run)
    if series is None or series.last is None:
        return failed("no iteration in the log", limit)
    last, wanted = series.last, expected_last(run, series)
    where = f"iteration {last.iteration}" + (f" of {wanted}" if wanted else "")
    if wanted is None:
        return failed(f"the log ends at {where}, and states no total", limit)
    if last.iteration != wanted:
        return failed(f"the log ends at {where}", limit)
    if not last.complete:
        return failed(f"the record of {where} is cut off", limit)
    if last.loss is None:
        return failed(f"no loss at {where}", limit)
    if not math.isfinite(last.loss):
        return failed(f"{last.loss} at {where}", limit)
    return passed(f"{last.loss:.6f} at {where}", limit)


CRITERION = Criterion("final-loss-finite", "The loss of the last iteration is finite", judge)
