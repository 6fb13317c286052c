"""What follows from the runs in a card's evidence. Only a passed run counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mbridge_skills.card.versions import newest_last


def passed_runs(evidence: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The entries that are runs and passed."""
    return [entry for entry in evidence if entry.get("type") == "run" and entry.get("verdict") == "passed"]


def validated_on(evidence: Sequence[Mapping[str, Any]]) -> str | None:
    """The date of the newest passed run, None where there is none."""
    return max((str(run["date"]) for run in passed_runs(evidence)), default=None)


def validated_with(evidence: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[str]]]:
    """Label -> package -> the versions of it that a run passed with, oldest first."""
    seen: dict[str, dict[str, set[str]]] = {}
    for run in passed_runs(evidence):
        packages = seen.setdefault(run["label"], {})
        for package, version in run["versions"].items():
            packages.setdefault(package, set()).add(version)
    return {
        label: {package: newest_last(versions) for package, versions in sorted(packages.items())}
        for label, packages in sorted(seen.items())
    }


def last_validation(evidence: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """For the bundle's card: the newest date and the labels of all passed runs, None where there is none."""
    newest = validated_on(evidence)
    if newest is None:
        return None
    return {"on": newest, "labels": sorted({run["label"] for run in passed_runs(evidence)})}
