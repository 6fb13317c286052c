from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mbridge_skills.card.model import CriterionSpec, Expect
from mbridge_skills.criteria import criterion
from mbridge_skills.criteria.base import JudgedRun, Judgement
from mbridge_skills.logs import markers
from mbridge_skills.logs.summary import summarise_chunks, summarise_file
from mbridge_skills.verify.launcher import Outcome

Point = tuple[float | str, float | str]  # loss and gradient norm of one iteration
Phase = Mapping[int, Point]

TOTAL = 4
SAVED = 2
# Powers of two, so that limits are met exactly.
CURVE: Phase = {1: (4.0, 2.0), 2: (3.0, 1.5), 3: (2.0, 1.0), 4: (1.0, 0.5)}
AFTER_THE_SAVE: Phase = {number: CURVE[number] for number in (3, 4)}


def _line(
    iteration: int,
    loss: float | str,
    grad_norm: float | str,
    total: int = TOTAL,
    skipped: int = 0,
    nan: int = 0,
) -> str:
    """One record, as ``mbridge_skills.smoke.report`` prints it."""
    loss = f"{loss:.9E}" if isinstance(loss, float) else loss
    grad_norm = f"{grad_norm:.9g}" if isinstance(grad_norm, float) else grad_norm
    fields = [
        f" [2026-11-30 20:00:{iteration:02d}] iteration {iteration:8d}/{total:8d}",
        f"consumed samples: {iteration * 16:12d}",
        "elapsed time per iteration (ms): 501.0",
        "learning rate: 1.000000E-03",
        "global batch size:    16",
        f"lm loss: {loss}",
        "loss scale: 1.0",
        f"grad norm: {grad_norm}",
        f"number of skipped iterations: {skipped:3d}",
        f"number of nan iterations: {nan:3d}",
    ]
    return " | ".join(fields) + " |"


@pytest.fixture(scope="session")
def line() -> Callable[..., str]:
    """One iteration record in the smoke program's format."""

    def make(
        iteration: int,
        loss: float | str = 1.0,
        grad_norm: float | str = 0.5,
        *,
        total: int = TOTAL,
        skipped: int = 0,
        nan: int = 0,
    ) -> str:
        return _line(iteration, loss, grad_norm, total, skipped, nan)

    return make


@pytest.fixture(scope="session")
def smoke_log() -> Callable[..., str]:
    """A whole log of the smoke program: a good run, but for what is asked for. None leaves a part out."""

    def make(
        *,
        train: Phase | None = CURVE,
        resume: Phase | None = AFTER_THE_SAVE,
        reference: Phase | None = CURVE,
        dtype: str = "fp32",
        environment: Mapping[str, Any] | None = None,
        saved: bool = True,
        loaded: int | None = SAVED,
        finished: Iterable[int] = (1, 0),
    ) -> str:
        stated = {"world_size": 2, "label": "cpu-simulated", "options": {"dtype": dtype, "iterations": TOTAL}}
        lines = [f"[default0]:{markers.line(markers.ENVIRONMENT, **{**stated, **(environment or {})})}"]
        for name, phase in (("train", train), ("resume", resume), ("reference", reference)):
            if phase is None:
                continue
            lines.append(f"[default1]:{markers.line(markers.PHASE, phase=name)}")
            if name == "resume" and loaded is not None:
                place = "/ckpt/iter_0000002"
                lines.append(
                    f"[default0]:  successfully loaded checkpoint from {place} at iteration {loaded}"
                )
            for number, (loss, grad_norm) in phase.items():
                lines.append(f"[default1]:{_line(number, loss, grad_norm)}")
                if name == "train" and saved and number == SAVED:
                    place = f"at iteration {SAVED:7d} to /ckpt/iter_0000002 in fsdp_dtensor format"
                    lines.append(f"[default0]:saving checkpoint {place}")
                    place = f"from iteration {SAVED:7d} to /ckpt/iter_0000002"
                    lines.append(f"[default0]:  successfully saved checkpoint {place}")
        lines += [f"[default{rank}]:{markers.line(markers.FINISHED, rank=rank)}" for rank in finished]
        return "".join(f"{text}\n" for text in lines)

    return make


@pytest.fixture(scope="session")
def run_of() -> Callable[..., JudgedRun]:
    """A run, from the text of its log or from its file."""

    def make(
        log: str | Path,
        outcome: Outcome | None = None,
        expect: Expect = Expect(iterations=TOTAL),  # noqa: B008 - frozen
        processes: int | None = None,
    ) -> JudgedRun:
        summary = summarise_file(log) if isinstance(log, Path) else summarise_chunks([log.encode()])
        return JudgedRun(summary, outcome, expect, processes)

    return make


@pytest.fixture(scope="session")
def judged(run_of: Callable[..., JudgedRun]) -> Callable[..., Judgement]:
    """What the criterion of this id says of a log; ``tolerance`` as a card states it."""

    def judge(
        name: str, log: str | Path, *, tolerance: Mapping[str, Mapping[str, float]] | None = None, **run: Any
    ) -> Judgement:
        spec = CriterionSpec(name, tolerance=tolerance or {})
        return criterion(name).apply(run_of(log, **run), spec).judgement

    return judge


@pytest.fixture(scope="session")
def curve() -> Phase:
    """The losses and gradient norms of the good run."""
    return CURVE


@pytest.fixture(scope="session")
def real() -> Callable[[str], Path]:
    """The one real log with this word in its name: of the smoke program, or of upstream's."""

    def path(word: str) -> Path:
        here = Path(__file__).parent
        (found,) = [
            *(here / "logs").glob(f"*{word}*.log"),
            *(here.parent / "fixtures" / "logs").glob(f"bridge-*{word}*.log"),
        ]
        return found

    return path
