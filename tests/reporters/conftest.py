from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mbridge_skills.criteria.base import CriterionResult, failed, not_judged, passed
from mbridge_skills.verify.report import BlockReport, Status, VerifyReport

HOSTILE = 'a < b & "c" \x1b[31mred\x1b[0m \x00\x07 \ufffe ü 損失'


@pytest.fixture
def hostile() -> str:
    """What a log may hold: markup, escape sequences, control characters, and letters of other scripts."""
    return HOSTILE


@pytest.fixture
def report() -> VerifyReport:
    """A report with every kind of block and every kind of criterion."""
    good = CriterionResult("final-loss-finite", "The loss is finite", True, passed("4.4 at 8 of 8", "finite"))
    bad = CriterionResult("parity", "Parity", True, failed("loss 1.0e-01", "1e-05", "loss: 2 against 1"))
    bad_optional = CriterionResult("save-resume", "Resume", False, failed("loss 2.0e-01", "1e-05"))
    open_one = CriterionResult(
        "clean-exit", "Clean exit", True, not_judged("no end in the log", "exit code 0")
    )
    evidence: dict[str, Any] = {
        "versions": {"torch": "2.13.0", "megatron-core": "0.19.2"},
        "command": ["{python}", "-m", "example"],
        "run": {"deviations": ["ddp.gradient_reduce_div_fusion=False: gloo cannot"]},
    }
    return VerifyReport(
        "example-skill",
        "2026-11-30T20:00:00+00:00",
        (
            BlockReport(
                "bridge",
                "Upstream's test",
                "bridge",
                Status.NOT_VERIFIED,
                False,
                "no checkout",
                "--bridge DIR",
            ),
            BlockReport(
                "cpu",
                "Train on CPU",
                "cpu",
                Status.FAILED,
                True,
                label="cpu-simulated",
                criteria=(good, bad, bad_optional, open_one),
                notes=("a note",),
                seconds=12.34,
                log=Path("/tmp/somewhere/cpu.log"),
                evidence=evidence,
                evidence_file=Path("/tmp/somewhere/cpu.json"),
            ),
            BlockReport(
                "gpu", "Train on GPUs", "gpu", Status.NOT_VERIFIED, True, "needs 2 GPUs, none visible"
            ),
            BlockReport("other", "Passed", "cpu", Status.PASSED, True, criteria=(good,), seconds=1.0),
        ),
    )


@pytest.fixture
def hostile_report() -> VerifyReport:
    """A report whose every text comes from a hostile log."""
    found = (
        CriterionResult("parity", "Parity", True, failed(HOSTILE, HOSTILE, HOSTILE)),
        CriterionResult("clean-exit", "Clean exit", True, not_judged(HOSTILE, HOSTILE, HOSTILE)),
        CriterionResult("save-resume", "Resume", False, failed(HOSTILE, HOSTILE, HOSTILE)),
    )
    block = BlockReport(
        "cpu",
        "Train",
        "cpu",
        Status.NOT_VERIFIED,
        True,
        reason=HOSTILE,
        label=HOSTILE,
        criteria=found,
        notes=(HOSTILE,),
        evidence={"versions": {"torch": HOSTILE}, "run": {"deviations": [HOSTILE]}},
    )
    return VerifyReport("example-skill", "2026-11-30T20:00:00+00:00", (block,))
