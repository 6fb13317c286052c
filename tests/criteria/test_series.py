from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from mbridge_skills.card.model import Expect
from mbridge_skills.criteria.base import JudgedRun, Verdict
from mbridge_skills.criteria.series import (
    DEFAULT_TOLERANCE,
    compare,
    describe_limits,
    expected_last,
    is_whole,
    judge_differences,
    main_series,
    relative_difference,
    tolerance,
)
from mbridge_skills.logs.events import Iteration
from mbridge_skills.logs.phases import PhaseSeries

NAN, INF = math.nan, math.inf
LIMITS = {"loss": 0.5, "grad_norm": 0.25}


def series(
    *losses: float | None, first: int = 1, total: int | None = 4, complete: bool = True
) -> PhaseSeries:
    found = PhaseSeries("train")
    for number, loss in enumerate(losses, first):
        values = {} if loss is None else {"lm loss": loss}
        found.add(Iteration(number, None, number, total, values, grad_norm=1.0, complete=complete))
    return found


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (2.0, 2.0, 0.0),
        (0.0, 0.0, 0.0),
        (-2.0, 2.0, 2.0),
        (3.0, 2.0, 0.5),
        (2.0, -4.0, 1.5),
        (1.0, 0.0, INF),
        (0.0, 4.0, 1.0),
        (None, 2.0, NAN),
        (2.0, None, NAN),
        (None, None, NAN),
        (NAN, 2.0, NAN),
        (2.0, NAN, NAN),
        (NAN, NAN, NAN),
        (INF, INF, NAN),  # the same value, and still no agreement
        (-INF, 1.0, NAN),
    ],
)
def test_relative_difference(ours: float | None, theirs: float | None, expected: float) -> None:
    assert relative_difference(ours, theirs) == pytest.approx(expected, nan_ok=True)


class TestCompare:
    def test_the_largest_difference_counts(self) -> None:
        (loss, grad_norm), shared = compare(series(1.0, 3.0, 1.5), series(1.0, 2.0, 1.0), LIMITS)
        assert (loss.iteration, loss.value, loss.ours, loss.theirs) == (2, 0.5, 3.0, 2.0)
        assert (grad_norm.metric, grad_norm.value, grad_norm.iteration) == ("grad_norm", 0.0, 1)
        assert shared == [1, 2, 3]

    @pytest.mark.parametrize("broken", [NAN, INF, -INF, None])
    @pytest.mark.parametrize("position", [0, 1, 3])
    @pytest.mark.parametrize("whose", ["ours", "theirs"])
    def test_no_number_is_larger_than_any(self, broken: float | None, position: int, whose: str) -> None:
        good: list[float | None] = [1.0, 2.0, 3.0, 4.0]
        bad = [*good[:position], broken, *good[position + 1 :]]
        pair = (bad, good) if whose == "ours" else (good, bad)
        (loss, _), _ = compare(series(*pair[0]), series(*pair[1]), LIMITS)
        assert math.isnan(loss.value)
        assert loss.iteration == position + 1
        assert not loss.within

    @pytest.mark.parametrize(
        ("ours", "theirs", "expected"),
        [
            (series(), series(1.0), []),
            (series(1.0), series(), []),
            (series(1.0, 1.0), series(1.0, first=3), []),
            (series(1.0, 1.0, 1.0), series(1.0, 1.0, first=2), [2, 3]),
            (series(1.0, complete=False), series(1.0), []),  # what is cut off is not compared
        ],
    )
    def test_only_what_both_have(self, ours: PhaseSeries, theirs: PhaseSeries, expected: list[int]) -> None:
        differences, shared = compare(ours, theirs, LIMITS)
        assert shared == expected
        assert len(differences) == (2 if expected else 0)


class TestJudgeDifferences:
    def test_within(self) -> None:
        found = judge_differences(*compare(series(3.0), series(2.0), LIMITS), "limit")
        assert (found.verdict, found.value, found.detail) == (
            Verdict.PASSED,
            "loss 5.0e-01, grad norm 0.0e+00; iterations 1 to 1",
            None,
        )

    def test_beyond(self) -> None:
        found = judge_differences(*compare(series(3.0, 5.0), series(2.0, 2.0), LIMITS), "limit")
        assert found.verdict is Verdict.FAILED
        assert found.detail == "loss at iteration 2: 5 against 2"

    def test_nothing_to_compare_passes_nothing(self) -> None:
        assert judge_differences(*compare(series(), series(), LIMITS), "limit").verdict is Verdict.NOT_JUDGED


class TestTolerance:
    @pytest.mark.parametrize(
        ("dtype", "stated", "expected"),
        [
            ("fp32", {}, DEFAULT_TOLERANCE["fp32"]),
            ("bf16", {}, DEFAULT_TOLERANCE["bf16"]),
            ("fp8", {}, DEFAULT_TOLERANCE["fp32"]),  # unknown: the strictest
            ("fp32", {"fp32": {"loss": 1.0, "grad_norm": 2.0}}, {"loss": 1.0, "grad_norm": 2.0}),
            ("fp32", {"fp32": {"loss": 1.0}}, {"loss": 1.0, "grad_norm": 1e-5}),
            ("fp32", {"bf16": {"loss": 1.0}}, DEFAULT_TOLERANCE["fp32"]),
            ("bf16", {"bf16": {"grad_norm": 1.0}}, {"loss": 2e-5, "grad_norm": 1.0}),
        ],
    )
    def test_of_a_dtype(
        self,
        smoke_log: Callable[..., str],
        run_of: Callable[..., JudgedRun],
        dtype: str,
        stated: dict[str, Any],
        expected: dict[str, float],
    ) -> None:
        assert tolerance(run_of(smoke_log(dtype=dtype)), stated) == expected

    @pytest.mark.parametrize(
        ("limits", "text"),
        [
            ({"loss": 1e-5, "grad_norm": 2e-4}, "loss 1e-05, grad norm 0.0002 (relative)"),
            ({"loss": 2.5e-5, "grad_norm": 0.02}, "loss 2.5e-05, grad norm 0.02 (relative)"),
        ],
    )
    def test_in_words(self, limits: dict[str, float], text: str) -> None:
        assert describe_limits(limits) == text


class TestEnd:
    @pytest.mark.parametrize(
        ("found", "planned", "last", "whole"),
        [
            (series(1.0, 1.0, 1.0, 1.0), None, 4, True),
            (series(1.0, 1.0, 1.0, 1.0), 4, 4, True),
            (series(1.0, 1.0, 1.0, 1.0), 8, 8, False),  # the plan counts, not what the log calls its total
            (series(1.0, 1.0, 1.0, 1.0), 2, 2, False),
            (series(1.0, 1.0), None, 4, False),
            (series(1.0, 1.0, total=None), None, None, False),  # no total, no end
            (series(1.0, 1.0, 1.0, 1.0, complete=False), None, 4, False),
            (series(), None, None, False),
        ],
    )
    def test_of_a_series(
        self, found: PhaseSeries, planned: int | None, last: int | None, whole: bool
    ) -> None:
        run = JudgedRun(None, None, Expect(iterations=planned))  # type: ignore[arg-type]
        assert expected_last(run, found) == last
        assert is_whole(run, found) is whole

    def test_of_no_series(self, smoke_log: Callable[..., str], run_of: Callable[..., JudgedRun]) -> None:
        run = run_of(smoke_log(train=None))
        assert main_series(run) is None
        assert is_whole(run, None) is False

    def test_a_log_without_phases_has_one(
        self, line: Callable[..., str], run_of: Callable[..., JudgedRun]
    ) -> None:
        found = main_series(run_of(line(1)))
        assert found is not None
        assert (found.name, found.count) == ("", 1)
