from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from mbridge_skills.checking.report import CheckReport, Located
from mbridge_skills.checking.reporters import render
from mbridge_skills.config.view import UNKNOWN

FINDING = [
    "code", "severity", "confidence", "phase", "title", "config", "source", "location", "possible",
    "unknowns", "conditions", "exception", "message", "becomes", "fix",
]  # fmt: skip


def test_keys_are_stable(report: CheckReport) -> None:
    record = json.loads(render(report, "json"))
    assert list(record) == ["format", "release", "summary", "findings", "unreadable"]
    assert record["format"] == "mbridge-skills-check/1"
    for finding in record["findings"]:
        assert list(finding) == FINDING
        assert list(finding["location"]) == ["path", "line", "column", "note"]


def test_the_whole(report: CheckReport) -> None:
    record = json.loads(render(report, "json"))
    assert record["release"] == {
        "megatron-bridge": "0.6.2",
        "megatron-core": "0.19.2",
        "source": "assumed",
        "assumed": True,
    }
    assert record["summary"] == {
        "findings": 4, "error": 1, "warning": 2, "info": 1, "possible": 1, "suppressed": 1, "unlikely": 5,
        "configs": 3, "files": 2, "unknown_values": 4, "unreadable": 1,
    }  # fmt: skip
    assert record["unreadable"] == [{"path": "bad.yaml", "line": 7, "message": "expected a mapping"}]


def test_findings(report: CheckReport) -> None:
    fails, changed, perhaps, optional = json.loads(render(report, "json"))["findings"]
    assert (fails["exception"], fails["message"]) == ("AssertionError", "requires the fsdp_dtensor format!")
    assert fails["location"] == {"path": "train.py", "line": 3, "column": 2, "note": None}
    assert fails["fix"] == {
        "set": {"checkpoint.ckpt_format": "fsdp_dtensor"},
        "environment": {},
        "safe": True,
        "note": None,
    }
    assert changed["becomes"] == {
        "ddp.average_in_collective": {"value": False},
        "model.dtype": {"same_as": "model.params_dtype"},
    }
    assert changed["fix"] is None
    assert perhaps["possible"] is True
    assert (perhaps["unknowns"], perhaps["conditions"]) == (
        ["env:A", "world_size"],
        ["FSDP == 1", "TP > 1"],
    )
    assert perhaps["fix"]["environment"] == {"A": "8", "B": None}
    assert (optional["source"], optional["location"]["note"]) == (None, "--overrides")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, {"value": None}),
        (UNKNOWN, {"unknown": True}),
        (float("inf"), {"value": "inf"}),
        ((1, "x"), {"value": [1, "x"]}),
        ({"a": 1}, {"value": {"a": 1}}),
    ],
)
def test_values(
    value: object,
    written: object,
    make: Callable[..., Located],
    report_of: Callable[..., CheckReport],
) -> None:
    record = json.loads(render(report_of(make("MB220", becomes={"a.b": value})), "json"))
    assert record["findings"][0]["becomes"] == {"a.b": written}


def test_texts_are_kept(hostile_report: CheckReport) -> None:
    finding = json.loads(render(hostile_report, "json"))["findings"][0]
    assert finding["message"] == hostile_report.findings[0].finding.message
