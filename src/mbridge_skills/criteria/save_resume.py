"""A fresh model that loads the checkpoint goes on with the losses of the model that saved it."""

from __future__ import annotations

from mbridge_skills.card.model import CriterionSpec
from mbridge_skills.criteria.base import RESUME, TRAIN, Criterion, JudgedRun, Judgement, failed, not_judged
from mbridge_skills.criteria.series import (
    compare,
    describe_limits,
    expected_last,
    is_whole,
    judge_differences,
    tolerance,
)


def judge(run: JudgedRun, spec: CriterionSpec) -> Judgement:
    """Compares the iterations after the load with the same iterations of the uninterrupted training."""
    limits = tolerance(run, spec.tolerance)
    limit = describe_limits(limits)
    done = {(event.action, event.stage) for event in run.log.checkpoints}
    if ("save", "finished") not in done:
        return not_judged("no checkpoint was saved", limit)
    train, resume = run.log.phases.get(TRAIN), run.log.phases.get(RESUME)
    if TRAIN not in run.log.phases and run.log.environment is None:
        return not_judged("the log does not tell the resumed iterations from the others", limit)
    if ("load", "finished") not in done:
        return failed("the checkpoint was saved, but not loaded", limit)
    if train is None or resume is None or not is_whole(run, train) or not is_whole(run, resume):
        return failed("the resumed training did not reach the last iteration", limit)
    loaded = next((event.iteration for event in run.log.checkpoints if event.action == "load"), None)
    first = resume.first.iteration if resume.first else 0
    if loaded is not None and first != loaded + 1:
        return failed(f"iteration {loaded} was loaded, but training went on at iteration {first}", limit)
    differences, shared = compare(resume, train, limits)
    wanted = max(resume.count, (expected_last(run, resume) or 0) - first + 1)
    if len(shared) < wanted:
        return not_judged(f"only {len(shared)} of {wanted} resumed iterations can be compared", limit)
    return judge_differences(differences, shared, limit)


CRITERION = Criterion("save-resume", "Save and resume reproduce the losses", judge)
