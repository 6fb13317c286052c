"""The loss series of a run, and comparing two of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mbridge_skills.criteria.base import TRAIN, JudgedRun, Judgement, failed, not_judged, passed
from mbridge_skills.logs.events import Iteration
from mbridge_skills.logs.phases import PhaseSeries

METRICS = ("loss", "grad_norm")
# Limits of a comparison where the card states none; relative.
DEFAULT_TOLERANCE: Mapping[str, Mapping[str, float]] = {
    "fp32": {"loss": 1e-5, "grad_norm": 1e-5},
    "bf16": {"loss": 2e-5, "grad_norm": 2e-4},
}


@dataclass(frozen=True)
class Difference:
    """The largest relative difference of one metric, and where it is."""

    metric: str
    value: float
    limit: float
    iteration: int
    ours: float | None
    theirs: float | None

    @property
    def within(self) -> bool:
        """Whether it is no larger than the limit; a nan is not."""
        return self.value <= self.limit

    @property
    def name(self) -> str:
        """The metric in words."""
        return self.metric.replace("_", " ")

    def __str__(self) -> str:
        return f"{self.name} {self.value:.1e}"

    @property
    def figures(self) -> str:
        """The two values behind it."""
        ours, theirs = ("none" if value is None else f"{value:.9g}" for value in (self.ours, self.theirs))
        return f"{self.name} at iteration {self.iteration}: {ours} against {theirs}"


def main_series(run: JudgedRun) -> PhaseSeries | None:
    """The series of the training itself: the phase "train", or all of a log without phases."""
    return run.log.phases.get(TRAIN) or run.log.phases.get("")


def expected_last(run: JudgedRun, series: PhaseSeries) -> int | None:
    """The number of the last iteration: as planned, else as the log states it."""
    return run.expect.iterations or series.total


def is_whole(run: JudgedRun, series: PhaseSeries | None) -> bool:
    """Whether the series reaches the last iteration, with a complete record."""
    if series is None or series.last is None or not series.last.complete:
        return False
    return series.last.iteration == expected_last(run, series)


def compare(
    ours: PhaseSeries, theirs: PhaseSeries, limits: Mapping[str, float]
) -> tuple[list[Difference], list[int]]:
    """The largest difference per metric over the iterations that both have, and those iterations.

    One that is no number counts as larger than any.
    """
    mine = {record.iteration: record for record in ours.records if record.complete}
    other = {record.iteration: record for record in theirs.records if record.complete}
    shared = sorted(mine.keys() & other.keys())
    differences = []
    for metric in METRICS:
        found = [_difference(metric, mine[number], other[number], limits[metric]) for number in shared]
        if found:
            differences.append(max(found, key=lambda each: (math.isnan(each.value), each.value)))
    return differences, shared


def _difference(metric: str, ours: Iteration, theirs: Iteration, limit: float) -> Difference:
    left, right = _metric(ours, metric), _metric(theirs, metric)
    return Difference(metric, relative_difference(left, right), limit, ours.iteration, left, right)


def relative_difference(ours: float | None, theirs: float | None) -> float:
    """|ours - theirs| / |theirs|; nan where a value is missing or no finite number."""
    if ours is None or theirs is None or not math.isfinite(ours) or not math.isfinite(theirs):
        return math.nan
    if ours == theirs:
        return 0.0
    return abs(ours - theirs) / abs(theirs) if theirs else math.inf


def describe_limits(limits: Mapping[str, float]) -> str:
    """The limits of a comparison in one line."""
    return f"loss {limits['loss']:g}, grad norm {limits['grad_norm']:g} (relative)"


def judge_differences(differences: list[Difference], shared: list[int], limit: str) -> Judgement:
    """Passed where every difference is within its limit; the worst figures where one is not."""
    if not shared:
        return not_judged("no iteration can be compared", limit)
    value = f"{', '.join(map(str, differences))}; iterations {shared[0]} to {shared[-1]}"
    if all(difference.within for difference in differences):
        return passed(value, limit)
    return failed(value, limit, "\n".join(each.figures for each in differences if not each.within))


def tolerance(run: JudgedRun, stated: Mapping[str, Mapping[str, float]]) -> Mapping[str, float]:
    """The limits for the run's dtype: the card's, else the default."""
    return {**DEFAULT_TOLERANCE.get(run.dtype, DEFAULT_TOLERANCE["fp32"]), **stated.get(run.dtype, {})}


def _metric(record: Iteration, metric: str) -> float | None:
    return record.loss if metric == "loss" else record.grad_norm
