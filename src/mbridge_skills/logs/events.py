"""What a training log says, one frozen record each. ``line`` counts from 1; ``rank`` is the global rank,
None where the log does not tell whose line it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Event:
    """Base of all events."""

    line: int
    rank: int | None


@dataclass(frozen=True)
class Iteration(Event):
    """One iteration record, as Megatron-LM and Megatron-Bridge print it."""

    iteration: int
    total: int | None  # the run's last iteration
    losses: Mapping[str, float]  # "lm loss" and others (load_balancing_loss, "mtp_1 loss"); may be nan or inf
    phase: str | None = None
    grad_norm: float | None = None  # may be nan or inf
    params_norm: float | None = None
    learning_rate: float | None = None
    loss_scale: float | None = None
    skipped: int | None = None  # iterations skipped since the last record
    nan: int | None = None  # iterations with a nan loss since the last record
    step_time_ms: float | None = None
    tflops: float | None = None  # model TFLOP/s per GPU
    consumed_samples: int | None = None
    global_batch_size: int | None = None
    complete: bool = True  # False where the record is cut off (no closing "nan iterations" field)

    @property
    def loss(self) -> float | None:
        """The language-model loss; where there is none, the only loss; else None."""
        if "lm loss" in self.losses:
            return self.losses["lm loss"]
        return next(iter(self.losses.values())) if len(self.losses) == 1 else None


@dataclass(frozen=True)
class Phase(Event):
    """The smoke program begins a phase: the iterations that follow belong to it."""

    name: str


@dataclass(frozen=True)
class Environment(Event):
    """Versions and device, as the smoke program saw them."""

    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Finished(Event):
    """The smoke program's last line on one rank."""


@dataclass(frozen=True)
class CannotRun(Event):
    """The smoke program says that the run is impossible here, which is not the same as having failed."""

    reason: str


@dataclass(frozen=True)
class TrainingDone(Event):
    """Megatron's own "after training is done" line."""


@dataclass(frozen=True)
class PytestSession(Event):
    """A pytest process began."""


@dataclass(frozen=True)
class PytestSummary(Event):
    """A pytest process's closing line."""

    counts: Mapping[str, int]  # passed, failed, error, skipped, xfailed, xpassed, deselected, warnings
    seconds: float | None


@dataclass(frozen=True)
class PytestFailure(Event):
    """One line of pytest's short summary: FAILED or ERROR."""

    node_id: str
    outcome: Literal["failed", "error"]
    reason: str


@dataclass(frozen=True)
class Checkpoint(Event):
    """A checkpoint save or load began, was handed to the background (after it began), or was finished."""

    action: Literal["save", "load"]
    stage: Literal["started", "scheduled", "finished"]
    iteration: int | None
    path: str | None
    format: str | None  # torch_dist, fsdp_dtensor, torch_dcp, ...


@dataclass(frozen=True)
class Frame:
    """One frame of a traceback."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Traceback(Event):
    """A Python traceback with the exception that ended it."""

    exception: str  # class name without its module, for instance EinopsError
    message: str  # all lines of it, bounded
    frames: tuple[Frame, ...] = ()  # innermost last, bounded
    launcher: bool = False  # torchrun's own report that a child failed, not a cause


@dataclass(frozen=True)
class ChildFailure:
    """One entry of torchrun's failure block."""

    rank: int | None
    exit_code: int | None  # negative: the signal that ended it
    pid: int | None
    host: str | None
    time: str | None
    message: str  # its "traceback" field


@dataclass(frozen=True)
class LauncherFailure(Event):
    """torchrun's failure block: the first observed failure and the others."""

    root_cause: ChildFailure
    others: tuple[ChildFailure, ...] = field(default=())


@dataclass(frozen=True)
class Fault(Event):
    """A recognised fault of the device or the communication library."""

    kind: Literal["out-of-memory", "nccl", "gloo", "timeout"]
    message: str
