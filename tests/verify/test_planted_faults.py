"""Each planted fault is seen by the criterion that is there for it."""

import re
from importlib import metadata

import pytest

from mbridge_skills.card.versions import satisfies

pytestmark = pytest.mark.training


def test_the_unharmed_program_passes_all_that_tier_cpu_can_judge(verify, criteria):
    code, report, _ = verify("--tier", "cpu", "--", "--iterations", "4")
    found = criteria(report)
    assert {name: record["verdict"] for name, record in found.items()} == dict.fromkeys(found, "passed")
    assert set(found) == {
        "final-loss-finite",
        "no-checkpoint-format-error",
        "every-iteration-finite",
        "save-resume",
        "parity",
        "clean-exit",
    }
    assert code == 0
    assert "fsdp_dtensor" in found["no-checkpoint-format-error"]["value"]


def test_a_nan_loss(make_bundle, verify, criteria):
    code, report, _ = verify("--tier", "cpu", bundle=make_bundle("nan_loss"))
    found = criteria(report)
    assert code == 1
    assert found["every-iteration-finite"]["verdict"] == "failed"
    assert "first at iteration 3" in found["every-iteration-finite"]["detail"]


def test_a_skipped_reduction(make_bundle, verify, criteria):
    code, report, _ = verify("--tier", "cpu", bundle=make_bundle("skipped_reduction"))
    found = criteria(report)
    assert code == 1
    failed = {name for name, record in found.items() if record["verdict"] == "failed"}
    assert failed == {"parity"}, "every loss is finite: parity alone shows it"


def test_backward_driven_by_hand(make_bundle, verify, criteria):
    """Without the schedule's finalize, ``optim`` trains on unreduced gradients (in 0.16 even with it)."""
    code, report, _ = verify(
        "--tier", "cpu", "--", "--strategy", "optim", bundle=make_bundle("driven_by_hand")
    )
    found = criteria(report)
    assert code == 1
    assert {name for name, record in found.items() if record["verdict"] == "failed"} == {"parity"}


def test_the_minimal_override_alone_in_bf16(make_bundle, verify, criteria):
    """From megatron-core 0.19 it accumulates gradients in bf16, which the tight limit for bf16 shows."""
    bundle = make_bundle()
    (card,) = bundle.glob("skills/*/card.yaml")
    text, count = re.subn(
        r'  - when: \{megatron-core: ">=0\.19"\}\n.*?(?=  - when)', "", card.read_text(), flags=re.DOTALL
    )
    assert count == 1
    card.write_text(text)
    layout = ["--dtype", "bf16", "--microbatches", "4"]
    code, report, _ = verify("--tier", "cpu", "--", *layout, bundle=bundle)
    in_bf16 = satisfies(">=0.19", metadata.version("megatron-core"))
    assert criteria(report)["parity"]["verdict"] == ("failed" if in_bf16 else "passed")
    assert code == (1 if in_bf16 else 0)


def test_a_corrupt_checkpoint_shard(make_bundle, verify, criteria):
    code, report, _ = verify("--tier", "cpu", bundle=make_bundle("corrupt_shard"))
    assert code == 1
    assert criteria(report)["save-resume"]["verdict"] == "failed"


def test_a_checkpoint_format_left_at_torch_dist(verify, criteria):
    code, report, _ = verify("--tier", "cpu", "--", "--ckpt-format", "torch_dist")
    found = criteria(report)["no-checkpoint-format-error"]
    assert code == 1
    assert found["verdict"] == "failed"
    assert "not supported with Megatron FSDP" in found["value"]


def test_a_rank_that_dies(make_bundle, verify, criteria):
    code, report, _ = verify("--tier", "cpu", bundle=make_bundle("rank_dies"))
    found = criteria(report)
    assert code == 1
    assert found["clean-exit"]["verdict"] == "failed"
    assert "rank 1 ended with signal SIGKILL" in found["clean-exit"]["value"]
    assert found["final-loss-finite"]["verdict"] == "failed"
    assert found["parity"]["verdict"] == "not judged"


def test_a_rank_that_hangs(make_bundle, verify, criteria, alive):
    code, report, _ = verify("--tier", "cpu", "--stall", "10", bundle=make_bundle("rank_hangs"))
    found = criteria(report)["clean-exit"]
    assert code == 1
    assert found["verdict"] == "failed"
    assert found["value"].startswith("hang: no output")
    assert "last line of rank 1: rank 1 stops here" in found["detail"]
    assert "last line of rank 0:" in found["detail"]
    assert not alive("planted/rank_hangs.py")


def test_a_run_over_its_time_limit(make_bundle, verify, criteria, alive):
    code, report, _ = verify("--tier", "cpu", "--timeout", "8", bundle=make_bundle("deaf_to_sigterm"))
    assert code == 1
    assert criteria(report)["clean-exit"]["value"].startswith("time limit reached")
    assert not alive("planted/deaf_to_sigterm.py")
