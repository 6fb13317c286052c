"""What a criterion sees and says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mbridge_skills.card.model import CriterionSpec, Expect
from mbridge_skills.logs.summary import LogSummary
from mbridge_skills.verify.launcher import Outcome

# The phases of the smoke program, by the names of its markers. A log without markers has one phase, "".
TRAIN, RESUME, REFERENCE = "train", "resume", "reference"


class Verdict(StrEnum):
    """Not judged is a result: the log, or the run, does not say."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class JudgedRun:
    """A run as far as it is known: its log, how it ended (None for a log alone), what was expected of it."""

    log: LogSummary
    outcome: Outcome | None
    expect: Expect
    processes: int | None = None

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that the smoke program states; empty where it states none. A log may hold anything."""
        options = (self.log.environment or {}).get("options")
        return options if isinstance(options, Mapping) else {}

    @property
    def dtype(self) -> str:
        """The parameter dtype that the smoke program states; tolerances hang on it."""
        return str(self.options.get("dtype", "fp32"))

    @property
    def world_size(self) -> int | None:
        """The number of ranks that the smoke program states; None where it states none."""
        size = (self.log.environment or {}).get("world_size")
        return size if type(size) is int and size > 0 else None


@dataclass(frozen=True)
class Judgement:
    """One criterion's answer: the value found, the limit it was held against, and what else helps."""

    verdict: Verdict
    value: str
    limit: str
    detail: str | None = None


@dataclass(frozen=True)
class CriterionResult:
    """A judgement with the criterion it belongs to."""

    id: str
    title: str
    required: bool
    judgement: Judgement

    @property
    def verdict(self) -> Verdict:
        """The judgement's verdict."""
        return self.judgement.verdict


@dataclass(frozen=True)
class Criterion:
    """A success criterion: an id, what it demands in one line, and how it is judged."""

    id: str
    title: str
    judge: Callable[[JudgedRun, CriterionSpec], Judgement]

    def apply(self, run: JudgedRun, spec: CriterionSpec) -> CriterionResult:
        """Judge ``run`` with the limits of ``spec``."""
        return CriterionResult(self.id, self.title, spec.required, self.judge(run, spec))


def passed(value: str, limit: str, detail: str | None = None) -> Judgement:
    """Shorthand for a passed judgement."""
    return Judgement(Verdict.PASSED, value, limit, detail)


def failed(value: str, limit: str, detail: str | None = None) -> Judgement:
    """Shorthand for a failed judgement."""
    return Judgement(Verdict.FAILED, value, limit, detail)


def not_judged(value: str, limit: str, detail: str | None = None) -> Judgement:
    """Shorthand for a judgement that could not be made; ``value`` says why."""
    return Judgement(Verdict.NOT_JUDGED, value, limit, detail)
