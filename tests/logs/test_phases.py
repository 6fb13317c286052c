from __future__ import annotations

import math
from typing import Any

import pytest

from mbridge_skills.logs.events import Iteration
from mbridge_skills.logs.phases import MOST_NON_FINITE, MOST_RECORDS, PhaseSeries


def record(iteration: int, loss: float = 1.0, **more: Any) -> Iteration:
    return Iteration(
        line=1,
        rank=None,
        iteration=iteration,
        total=more.pop("total", None),
        losses={"lm loss": loss},
        **more,
    )


def series(*records: Iteration) -> PhaseSeries:
    found = PhaseSeries("a")
    for item in records:
        found.add(item)
    return found


def test_empty() -> None:
    empty = series()
    assert (empty.count, empty.first, empty.last, empty.total, empty.records) == (0, None, None, None, [])
    assert not empty.truncated


def test_counts() -> None:
    items = [record(1, total=9, skipped=1, nan=0), record(2, skipped=2, nan=3), record(3, complete=False)]
    found = series(*items)
    assert (found.count, found.first, found.last, found.total) == (3, items[0], items[2], 9)
    assert (found.skipped, found.nan, found.incomplete) == (3, 3, 1)
    assert found.records == items


def test_order() -> None:
    found = series(*(record(number) for number in (1, 2, 2, 3, 1, 2)))
    assert (found.duplicates, found.out_of_order) == (1, 1)


@pytest.mark.parametrize(
    ("item", "bad"),
    [
        (record(1), False),
        (record(1, math.nan), True),
        (record(1, math.inf), True),
        (record(1, grad_norm=math.nan), True),
        (record(1, grad_norm=0.0, params_norm=-math.inf), True),
        (record(1, loss_scale=math.inf), False),
    ],
)
def test_non_finite(item: Iteration, bad: bool) -> None:
    assert (series(item).non_finite == [item], series(item).non_finite_count) == (bad, int(bad))


def test_keeps_some_non_finite_and_counts_all() -> None:
    found = series(*(record(number, math.nan) for number in range(100)))
    assert len(found.non_finite) == MOST_NON_FINITE
    assert found.non_finite_count == 100


def test_keeps_both_ends() -> None:
    found = series(*(record(number) for number in range(MOST_RECORDS)))
    assert [item.iteration for item in found.records] == list(range(MOST_RECORDS))
    assert not found.truncated
    for number in range(MOST_RECORDS, MOST_RECORDS + 7):
        found.add(record(number))
    half = MOST_RECORDS // 2
    assert [item.iteration for item in found.records] == [*range(half), *range(half + 7, MOST_RECORDS + 7)]
    assert found.truncated
