from __future__ import annotations

from typing import Any

from mbridge_skills.card import derive


def _run(date: str, label: str = "gpu", verdict: str = "passed", **versions: str) -> dict[str, Any]:
    return {"type": "run", "date": date, "label": label, "verdict": verdict, "versions": versions}


RUNS = [
    _run("2026-11-30", torch="2.11", core="0.19.2"),
    _run("2026-11-28", torch="2.9", core="0.19.2"),
    _run("2026-12-01", "cpu-simulated", torch="2.13"),
    _run("2026-12-05", verdict="failed", torch="2.14"),
    {"type": "url", "id": "a", "url": "https://example.org"},
]


def test_newest_passed_run_counts() -> None:
    assert derive.validated_on(RUNS) == "2026-12-01"


def test_versions_per_label_sorted_by_release() -> None:
    assert derive.validated_with(RUNS) == {
        "cpu-simulated": {"torch": ["2.13"]},
        "gpu": {"core": ["0.19.2"], "torch": ["2.9", "2.11"]},
    }


def test_last_validation() -> None:
    assert derive.last_validation(RUNS) == {"on": "2026-12-01", "labels": ["cpu-simulated", "gpu"]}


def test_nothing_follows_from_a_failed_run() -> None:
    assert derive.validated_on(RUNS[3:]) is None
    assert derive.validated_with(RUNS[3:]) == {}
    assert derive.last_validation(RUNS[3:]) is None
