from __future__ import annotations

from typing import Any

import pytest

from mbridge_skills.card.model import CriterionSpec, Expect
from mbridge_skills.criteria.base import (
    Criterion,
    JudgedRun,
    Verdict,
    failed,
    not_judged,
    passed,
)
from mbridge_skills.logs.summary import LogSummary


def run(environment: dict[str, Any] | None) -> JudgedRun:
    log = LogSummary()
    log.environment = environment
    return JudgedRun(log, None, Expect())


@pytest.mark.parametrize(
    ("environment", "dtype"),
    [
        (None, "fp32"),
        ({}, "fp32"),
        ({"options": {}}, "fp32"),
        ({"options": {"dtype": "bf16"}}, "bf16"),
        # A log may hold anything; what is no set of options states none.
        ({"options": None}, "fp32"),
        ({"options": ["dtype", "bf16"]}, "fp32"),
        ({"options": {"dtype": ["bf16"]}}, "['bf16']"),
    ],
)
def test_dtype(environment: dict[str, Any] | None, dtype: str) -> None:
    assert run(environment).dtype == dtype


@pytest.mark.parametrize(
    ("environment", "size"),
    [
        (None, None),
        ({}, None),
        ({"world_size": 2}, 2),
        ({"world_size": 0}, None),
        ({"world_size": -1}, None),
        ({"world_size": True}, None),
        ({"world_size": "2"}, None),
        ({"world_size": 2.0}, None),
        ({"world_size": None}, None),
    ],
)
def test_world_size(environment: dict[str, Any] | None, size: int | None) -> None:
    assert run(environment).world_size == size


@pytest.mark.parametrize(
    ("make", "verdict"),
    [(passed, Verdict.PASSED), (failed, Verdict.FAILED), (not_judged, Verdict.NOT_JUDGED)],
)
@pytest.mark.parametrize("required", [True, False])
def test_apply_keeps_the_judgement(make: Any, verdict: Verdict, required: bool) -> None:
    wanted = make("found", "limit", "more")
    seen: list[tuple[JudgedRun, CriterionSpec]] = []

    def judge(judged: JudgedRun, spec: CriterionSpec) -> Any:
        seen.append((judged, spec))
        return wanted

    some_run, spec = run(None), CriterionSpec("clean-exit", required=required)
    result = Criterion("clean-exit", "Title", judge).apply(some_run, spec)
    assert seen == [(some_run, spec)]
    assert (result.id, result.title, result.required) == ("clean-exit", "Title", required)
    assert (result.judgement, result.verdict) == (wanted, verdict)
    assert (wanted.value, wanted.limit, wanted.detail) == ("found", "limit", "more")
