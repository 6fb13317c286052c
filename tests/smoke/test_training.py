"""Real training on two CPU processes: layouts against their reference, release by release."""

import re
from importlib import metadata

import pytest

from mbridge_skills.card.versions import satisfies

pytestmark = pytest.mark.training

CORE = metadata.version("megatron-core")

# Faults of released megatron-core, each seen with the same figures on two GPUs: layout -> releases.
PARITY_FAULTS = {
    # The norm counts every replica: too large by the square root of the data parallel size.
    "no_shard": "<0.18",
    # The reduced shard is added to the rank's own gradient instead of replacing it.
    "optim": "<0.17",
    # A gradient group of one rank (EP = DP; in 0.16 DP = 1 as well) gets gradients of the wrong size, ...
    "one-rank gradient group": "<0.17",
    # ... and with EP = DP loses what it accumulated over microbatches (Megatron-LM issue 6660).
    "one-rank gradient group, accumulated": "<0.20",
}


def has_fault(name: str) -> bool:
    return bool(satisfies(PARITY_FAULTS[name], CORE))


@pytest.mark.parametrize("microbatches", [1, 4])
@pytest.mark.parametrize("strategy", ["no_shard", "optim", "optim_grads", "optim_grads_params"])
def test_sharding_strategies(verify, criteria, strategy, microbatches):
    code, report, _ = verify(
        *("--tier", "cpu", "--"),
        *("--strategy", strategy, "--microbatches", str(microbatches), "--iterations", "4"),
    )
    found = criteria(report)
    faulty = strategy in PARITY_FAULTS and has_fault(strategy)
    assert found["parity"]["verdict"] == ("failed" if faulty else "passed"), found["parity"]
    others = {record["verdict"] for name, record in found.items() if name != "parity"}
    assert others == {"passed"}
    assert code == (1 if faulty else 0)


@pytest.mark.parametrize(
    ("layout", "fault"),
    [
        ("--tp 2", "one-rank gradient group"),
        ("--experts 4 --microbatches 4", None),
        ("--experts 4 --ep 2", "one-rank gradient group"),
        ("--experts 4 --ep 2 --microbatches 4", "one-rank gradient group, accumulated"),
    ],
)
def test_model_and_expert_parallelism(verify, criteria, layout, fault):
    code, report, _ = verify("--tier", "cpu", "--", "--iterations", "4", *layout.split())
    faulty = fault is not None and has_fault(fault)
    assert criteria(report)["parity"]["verdict"] == ("failed" if faulty else "passed")
    assert code == (1 if faulty else 0)


@pytest.mark.parametrize("microbatches", [1, 4])
def test_bf16(verify, criteria, microbatches):
    code, report, _ = verify(
        *("--tier", "cpu", "--"),
        *("--dtype", "bf16", "--microbatches", str(microbatches), "--iterations", "4"),
    )
    assert criteria(report)["parity"]["verdict"] == "passed"
    assert code == 0


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        ("--tp 3", "does not divide the world size"),
        ("--cp 2", "Transformer Engine"),
        ("--tp 2 --experts 4", "sequence parallelism"),
        ("--experts 3 --ep 3", "does not divide"),
        ("--transformer-impl transformer_engine", "need a GPU"),
        ("--experts 4 --ep 2 --dispatcher alltoall", "uneven all-to-all"),
    ],
)
def test_layouts_that_cannot_run_here_are_not_verified(verify, layout, reason):
    code, report, _ = verify("--tier", "cpu", "--", *layout.split())
    (block,) = [block for block in report["blocks"] if block["asked"]]
    assert (code, block["status"]) == (3, "not verified")
    assert re.search(reason, block["reason"])
