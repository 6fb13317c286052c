"""The run ends without a checkpoint-format assertion."""

from __future__ import annotations

import re

from mbridge_skills.card.model import CriterionSpec
from mbridge_skills.criteria.base import Criterion, JudgedRun, Judgement, failed, not_judged, passed
from mbridge_skills.criteria.ending import ending

# What the releases raise when a checkpoint format cannot hold a Megatron FSDP model, or the reverse:
# Megatron-Bridge ConfigContainer.validate (0.3.0 to 0.6.2), Megatron-LM arguments.py, and megatron-core
# DistributedOptimizer.sharded_state_dict (0.16.1 to 0.19.2).
_REFUSALS = re.compile(
    r"only supports fsdp_dtensor checkpoint format"
    r"|requires the fsdp_dtensor checkpointing format"  # Megatron-Bridge, from 0.5.0 on
    r"|fsdp_dtensor checkpoint format only supports"
    r"|fsdp_dtensor (checkpoint format|sharding type) is only supported"
    r"|sharding_type \S+ is not supported with Megatron FSDP"
    r"|(requires|supported with|together with) ckpt_format="
    r"|Checkpoint format '?\S+?'? (is )?not supported"
)


def judge(run: JudgedRun, spec: CriterionSpec) -> Judgement:
    """Failed where a traceback says so; passed only for a run that reached its end."""
    limit = "no checkpoint-format error"
    for traceback in run.log.tracebacks:
        if _REFUSALS.search(traceback.message):
            return failed(f"{traceback.exception}: {' '.join(traceback.message.split())}", limit)
    for failure in run.log.pytest_failures:
        if _REFUSALS.search(failure.reason):
            return failed(failure.reason, limit)
    if not ending(run).clean:
        return not_judged("the run did not reach its end", limit)
    formats = sorted({event.format for event in run.log.checkpoints if event.format})
    return passed(f"none ({', '.join(formats)})" if formats else "none (no checkpoint in this run)", limit)


CRITERION = Criterion("no-checkpoint-format-error", "No checkpoint-format assertion", judge)
