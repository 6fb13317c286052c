from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mbridge_skills import __version__
from mbridge_skills.checking.report import CheckReport, Located
from mbridge_skills.checking.reporters import render
from mbridge_skills.config.view import Origin

Make = Callable[..., Located]
ReportOf = Callable[..., CheckReport]


def run_of(report: CheckReport) -> dict[str, Any]:
    log = json.loads(render(report, "sarif"))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    assert log["$schema"].endswith("/sarif-schema-2.1.0.json")
    run: dict[str, Any] = log["runs"][0]
    return run


def fingerprints(report: CheckReport) -> list[str]:
    return [result["partialFingerprints"]["mbridgeSkillsFinding/v1"] for result in run_of(report)["results"]]


def test_each_rule_that_occurs_is_listed_once(report: CheckReport, make: Make) -> None:
    report = replace(report, findings=(*report.findings, make("MB101", config="other")))
    run = run_of(report)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["MB101", "MB220", "MB501", "MB601"]
    assert len(run["results"]) == 5
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_a_rule(report: CheckReport) -> None:
    driver = run_of(report)["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("mbridge-skills", __version__)
    text = "First paragraph, in two lines.\n\nSecond one."
    assert driver["rules"][1] == {
        "id": "MB220",
        "shortDescription": {"text": "Switched off"},
        "fullDescription": {"text": "First paragraph, in two lines."},
        "help": {"text": text, "markdown": text},
        "helpUri": "https://example.org/4246",
        "defaultConfiguration": {"level": "note"},
        "properties": {
            "precision": "very-high",
            "problem.severity": "recommendation",
            "tags": ["MB2xx", "silent"],
            "sources": ["Bridge 0.6.2: training/config.py", "https://example.org/4246"],
        },
    }


def test_a_result(report: CheckReport) -> None:
    fails, _, perhaps, optional = run_of(report)["results"]
    assert fails["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "train.py", "uriBaseId": "SRCROOT"},
                "region": {"startLine": 3, "startColumn": 2},
            },
            "logicalLocations": [{"name": "llama"}],
        }
    ]
    assert fails["message"]["text"].splitlines()[:2] == ["Only fsdp_dtensor is saved", "in: llama"]
    assert fails["properties"]["exception"] == "AssertionError"
    assert "relatedLocations" not in fails
    # The setting is in a launch script, the configuration in a recipe.
    related = perhaps["relatedLocations"][0]["physicalLocation"]
    assert related == {"artifactLocation": {"uri": "train.py", "uriBaseId": "SRCROOT"}}
    assert perhaps["properties"]["unknowns"] == ["env:A", "world_size"]
    assert optional["locations"] == [{"logicalLocations": [{"name": "--overrides"}]}]


@pytest.mark.parametrize(
    ("severity", "possible", "level"),
    [
        ("error", False, "error"),
        ("warning", False, "warning"),
        ("info", False, "note"),
        ("error", True, "error"),
        ("warning", True, "warning"),
        ("info", True, "note"),
    ],
)
def test_levels(severity: str, possible: bool, level: str, make: Make, report_of: ReportOf) -> None:
    run = run_of(report_of(make("MB101", {"severity": severity}, possible=possible)))
    assert run["results"][0]["level"] == level


@pytest.mark.parametrize(
    ("path", "uri", "base"),
    [
        ("sub/a b%.py", "sub/a%20b%25.py", "SRCROOT"),
        ("sub/../ü.py", "%C3%BC.py", "SRCROOT"),
        ("\udcff.py", "%FF.py", "SRCROOT"),
        ("/elsewhere/a b.py", "file:///elsewhere/a%20b.py", None),
    ],
)
def test_uris(path: str, uri: str, base: str | None, make: Make, report_of: ReportOf) -> None:
    run = run_of(report_of(make("MB101", origin=Origin(Path(path), 1))))
    artifact = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert (artifact["uri"], artifact.get("uriBaseId")) == (uri, base)
    assert set(run["originalUriBaseIds"]) == {"SRCROOT"}


def test_no_path_of_this_machine_is_in_it(folder: Path, make: Make, report_of: ReportOf) -> None:
    path = folder / "train.py"
    one = make("MB101", source=path, config=str(path), origin=Origin(path, 3, 2))
    assert str(folder) not in render(report_of(one), "sarif")


def test_fingerprints_stay_when_lines_move(folder: Path, make: Make, report_of: ReportOf) -> None:
    before = fingerprints(report_of(make("MB101"), make("MB102")))
    moved = [make(code, origin=Origin(Path("train.py"), 30, 8)) for code in ("MB102", "MB101")]
    assert fingerprints(report_of(*reversed(moved))) == before
    assert fingerprints(report_of(*moved)) == before[::-1]
    absolute = folder / "train.py"
    assert fingerprints(report_of(make("MB101", source=absolute, origin=Origin(absolute, 3)))) == before[:1]


def test_fingerprints_tell_findings_apart(make: Make, report_of: ReportOf) -> None:
    found = fingerprints(
        report_of(
            make("MB101"),
            make("MB101"),
            make("MB102"),
            make("MB101", config="other"),
            make("MB101", source=Path("other.py")),
            make("MB101", conditions=("FSDP == 1",)),
        )
    )
    assert len(set(found)) == 6


def test_unreadable_files_are_notifications(report: CheckReport) -> None:
    run = run_of(report)
    invocation = run["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"] == [
        {
            "descriptor": {"id": "unreadable", "index": 0},
            "level": "error",
            "message": {"text": "expected a mapping"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "bad.yaml", "uriBaseId": "SRCROOT"},
                        "region": {"startLine": 7},
                    }
                }
            ],
        }
    ]
    assert run["tool"]["driver"]["notifications"][0]["id"] == "unreadable"


def test_no_findings(report_of: ReportOf) -> None:
    run = run_of(report_of())
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    assert run["properties"]["configs"] == 3


def test_a_hostile_file_breaks_nothing(hostile_report: CheckReport) -> None:
    assert len(run_of(hostile_report)["results"]) == 2
