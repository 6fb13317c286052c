"""SARIF 2.1.0, for code scanning: rules with their help, results, and notifications.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
import os
import re
import urllib.parse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mbridge_skills import __version__
from mbridge_skills.checking.report import CheckReport, Located, Unreadable
from mbridge_skills.checking.reporters.jsontext import dumps
from mbridge_skills.checking.reporters.place import (
    Place,
    config_name,
    place_of,
    place_of_unreadable,
    relative,
)
from mbridge_skills.checking.reporters.plain import line, plain, prose
from mbridge_skills.checking.reporters.wording import explanation, summary
from mbridge_skills.gotchas.gotcha import Gotcha

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "SRCROOT"
_FINGERPRINT = "mbridgeSkillsFinding/v1"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_PRECISIONS = {"proved": "very-high", "reported": "high", "inferred": "medium"}
_PROBLEMS = {"error": "error", "warning": "warning", "info": "recommendation"}


def render(report: CheckReport, *, width: int | None, colour: bool) -> str:
    """A log with one run. URIs are relative to the current folder where files are below it."""
    rules = {located.code: located.finding.gotcha for located in report.findings}
    codes = sorted(rules)
    return dumps(
        {
            "$schema": _SCHEMA,
            "version": "2.1.0",
            "runs": [
                {
                    "tool": {
                        "driver": {
                            "name": "mbridge-skills",
                            "version": __version__,
                            "rules": [_rule(rules[code]) for code in codes],
                            "notifications": [
                                {
                                    "id": "unreadable",
                                    "shortDescription": {"text": "A file could not be read"},
                                }
                            ],
                        }
                    },
                    "columnKind": "unicodeCodePoints",
                    "originalUriBaseIds": {
                        _ROOT: {"description": {"text": "The folder that the check was started in"}}
                    },
                    "invocations": [
                        {
                            # A file that was not read makes the results incomplete.
                            "executionSuccessful": not report.unreadable,
                            "toolExecutionNotifications": [_notification(one) for one in report.unreadable],
                        }
                    ],
                    "results": _results(report, codes),
                    "properties": _properties(report),
                }
            ],
        }
    )


def _rule(gotcha: Gotcha) -> dict[str, Any]:
    body = prose(gotcha.body)
    first = body.partition("\n\n")[0]
    rule = {
        "id": gotcha.code,
        "shortDescription": {"text": line(gotcha.title)},
        "fullDescription": {"text": first or line(gotcha.title)},
        "help": {"text": body or line(gotcha.title), "markdown": body or line(gotcha.title)},
        "defaultConfiguration": {"level": _LEVELS[gotcha.severity]},
        "properties": {
            "precision": _PRECISIONS[gotcha.confidence],
            "problem.severity": _PROBLEMS[gotcha.severity],
            "tags": [f"{gotcha.code[:3]}xx", gotcha.phase],
            "sources": [line(source) for source in gotcha.sources],
        },
    }
    link = next((source for source in gotcha.sources if re.fullmatch(r"https?://\S+", source)), None)
    return rule if link is None else {**rule, "helpUri": link}


def _results(report: CheckReport, codes: list[str]) -> Iterable[dict[str, Any]]:
    seen: Counter[str] = Counter()
    results = []
    for located in report.findings:
        identity = "\0".join(
            [
                located.code,
                _uri(located.source)[0] if located.source else "",
                config_name(located),
                *located.conditions,
            ]
        )
        seen[identity] += 1
        results.append(_result(located, report, codes, f"{identity}\0{seen[identity]}"))
    return results


def _result(located: Located, report: CheckReport, codes: list[str], identity: str) -> dict[str, Any]:
    gotcha = located.finding.gotcha
    place = place_of(located)
    result: dict[str, Any] = {
        "ruleId": located.code,
        "ruleIndex": codes.index(located.code),
        "level": _LEVELS[gotcha.severity],
        "message": {"text": "\n".join(explanation(located, report))},
        "locations": [_location(place, config_name(located))],
        # Made of what a moved line leaves as it is.
        "partialFingerprints": {_FINGERPRINT: _digest(identity)},
        "properties": {
            "possible": located.possible,
            "unknowns": [plain(path) for path in located.unknowns],
            "conditions": [line(condition) for condition in located.conditions],
            "phase": gotcha.phase,
            "exception": located.finding.exception,
        },
    }
    if located.source is not None and place.path != located.source:
        related = {"id": 1, "message": {"text": "The configuration that was checked"}}
        result["relatedLocations"] = [{**related, **_location(Place(located.source))}]
    return result


def _location(place: Place, config: str | None = None) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if place.path is not None:
        uri, below = _uri(place.path)
        artifact = {"uri": uri, "uriBaseId": _ROOT} if below else {"uri": uri}
        location["physicalLocation"] = {"artifactLocation": artifact}
        if place.line is not None:
            region = {"startLine": place.line}
            if place.column is not None:
                region["startColumn"] = place.column
            location["physicalLocation"]["region"] = region
    if config is not None:
        location["logicalLocations"] = [{"name": config}]
    return location


def _uri(path: Path) -> tuple[str, bool]:
    """The URI of ``path``, and whether it is relative to the current folder."""
    below = relative(path)
    if below is not None:
        return urllib.parse.quote(os.fsencode(below.as_posix())), True
    return Path(os.path.normpath(Path.cwd() / path)).as_uri(), False


def _digest(identity: str) -> str:
    return hashlib.sha256(identity.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _notification(unreadable: Unreadable) -> dict[str, Any]:
    return {
        "descriptor": {"id": "unreadable", "index": 0},
        "level": "error",
        "message": {"text": line(unreadable.message)},
        "locations": [_location(place_of_unreadable(unreadable))],
    }


def _properties(report: CheckReport) -> dict[str, Any]:
    return {
        "summary": summary(report),
        "megatronBridge": report.bridge,
        "megatronCore": report.core,
        "releaseSource": plain(report.release_source),
        "configs": report.configs,
        "files": report.files,
        "unknownValues": report.unknown_values,
        "suppressed": report.suppressed,
        "unlikely": report.unlikely,
    }
