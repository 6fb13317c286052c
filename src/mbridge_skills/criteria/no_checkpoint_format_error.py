"""The run ends without a checkpoint-format assertion."""

from __future__ import annotations

import re

from mbridge_skills.card.model import CriterionSpec
from mbridge_skills.criteria.base import Criterion, JudgedRun, Judgement, failed, not_judged, passed
from mbridge_skills.criteria.ending import ending

# What the releases say when a checkpoint format cannot hold a Megatron FSDP model, or the reverse.
_REFUSALS = re.compile(
    "|".join(
        (
            # Megatron-Bridge ConfigContainer.validate: up to 0.4.2, from 0.5.0, and the reverse in all.
            "only supports fsdp_dtensor checkpoint format",
            "requires the `?fsdp_dtensor`? checkpointing format",  # Megatron-LM arguments.py as well
            "fsdp_dtensor checkpoint format only supports",
            # Megatron-Bridge checkpointing.py.
            r"Checkpoint format '?\S+?'? (is )?not supported",
            "differs from inferred format",
            # Megatron-LM arguments.py.
            "fsdp_dtensor is only tested with",
            # megatron-core DistributedOptimizer.sharded_state_dict, 0.16.1 to 0.19.2.
            r"sharding_type \S+ is not supported with Megatron FSDP",
            "fsdp_dtensor sharding type is only supported with",
        )
    )
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
