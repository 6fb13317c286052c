"""Losses and gradient norms equal those of DDP with the distributed optimizer.

The only criterion that sees a silent fault: every loss can be finite while the gradients are wrong.
"""

from __future__ import annotations

from mbridge_skills.card.model import CriterionSpec
from mbridge_skills.criteria.base import REFERENCE, Criterion, JudgedRun, Judgement, not_judged
from mbridge_skills.criteria.series import (
    compare,
    describe_limits,
    expected_last,
    is_whole,
    judge_differences,
    main_series,
    tolerance,
)


def judge(run: JudgedRun, spec: CriterionSpec) -> Judgement:
    """Compares every iteration of the training with the reference phase."""
    limits = tolerance(run, spec.tolerance)
    limit = describe_limits(limits)
    train, reference = main_series(run), run.log.phases.get(REFERENCE)
    if reference is None:
        return not_judged("no reference in the log", limit)
    if train is None or not is_whole(run, train) or not is_whole(run, reference):
        return not_judged("the training or its reference did not reach the last iteration", limit)
    differences, shared = compare(train, reference, limits)
    wanted = max(train.count, reference.count, expected_last(run, train) or 0)
    if len(shared) < wanted:
        return not_judged(f"only {len(shared)} of {wanted} iterations can be compared", limit)
    return judge_differences(differences, shared, limit)


CRITERION = Criterion("parity", "Parity with DDP and the distributed optimizer", judge)
