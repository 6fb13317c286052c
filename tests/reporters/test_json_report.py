from __future__ import annotations

import json

from mbridge_skills.reporters import render
from mbridge_skills.verify.report import VerifyReport


def test_keys_are_stable(report: VerifyReport) -> None:
    record = json.loads(render(report, "json"))
    assert list(record) == ["format", "skill", "date", "status", "exit_code", "blocks"]
    assert record["format"] == "mbridge-skills-verify/1"
    for block in record["blocks"]:
        assert list(block) == [
            "block", "title", "tier", "status", "asked", "reason", "remedy", "label", "seconds",
            "criteria", "versions", "command", "notes", "log", "evidence",
        ]  # fmt: skip
        for criterion in block["criteria"]:
            assert list(criterion) == ["id", "title", "required", "verdict", "value", "limit", "detail"]


def test_a_block_that_ran(report: VerifyReport) -> None:
    record = json.loads(render(report, "json"))
    assert (record["status"], record["exit_code"]) == ("failed", 1)
    block = record["blocks"][1]
    assert (block["block"], block["status"], block["asked"], block["label"], block["seconds"]) == (
        "cpu",
        "failed",
        True,
        "cpu-simulated",
        12.3,
    )
    assert block["versions"] == {"torch": "2.13.0", "megatron-core": "0.19.2"}
    assert block["command"] == ["{python}", "-m", "example"]
    assert (block["log"], block["evidence"]) == ("/tmp/somewhere/cpu.log", "/tmp/somewhere/cpu.json")
    assert [(each["id"], each["verdict"], each["required"]) for each in block["criteria"]] == [
        ("final-loss-finite", "passed", True),
        ("parity", "failed", True),
        ("save-resume", "failed", False),
        ("clean-exit", "not judged", True),
    ]
    assert block["criteria"][1]["detail"] == "loss: 2 against 1"


def test_a_block_that_did_not_run(report: VerifyReport) -> None:
    block = json.loads(render(report, "json"))["blocks"][0]
    assert (block["status"], block["asked"], block["reason"], block["remedy"]) == (
        "not verified",
        False,
        "no checkout",
        "--bridge DIR",
    )
    for key in ("label", "seconds", "versions", "command", "log", "evidence"):
        assert block[key] is None
    assert block["criteria"] == []


def test_texts_are_kept(hostile_report: VerifyReport, hostile: str) -> None:
    block = json.loads(render(hostile_report, "json"))["blocks"][0]
    assert block["reason"] == block["criteria"][0]["value"] == hostile


def test_width_and_colour_change_nothing(report: VerifyReport) -> None:
    assert render(report, "json", width=20, colour=True) == render(report, "json")
