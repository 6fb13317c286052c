"""Training through Megatron-Core's own forward-backward schedule.

The schedule decides when gradients are reduced and calls ``finalize_model_grads``; driving backward by hand
instead leaves ``optim`` and ``no_shard`` with unreduced gradients, which no finite loss reveals.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.pipeline_parallel import get_forward_backward_func

from mbridge_skills.smoke import shape
from mbridge_skills.smoke.data import Batch, DataSource
from mbridge_skills.smoke.trainee import Trainee


@dataclass(frozen=True)
class StepResult:
    """One iteration: the loss averaged over microbatches and data parallel ranks, in nats per token; the
    gradient norm before clipping; the time in milliseconds."""

    iteration: int
    loss: float
    grad_norm: float
    skipped: bool
    milliseconds: float

    @property
    def nan(self) -> bool:
        """Whether the loss is no number."""
        return math.isnan(self.loss)


def run_iterations(
    trainee: Trainee, data: DataSource, iterations: range, report: Callable[[StepResult], None]
) -> None:
    """Train for ``iterations`` (numbers from 1), reporting each as it ends."""
    for iteration in iterations:
        report(train_step(trainee, data, iteration))


def train_step(trainee: Trainee, data: DataSource, iteration: int) -> StepResult:
    """One iteration: forward and backward of all microbatches, gradient reduction, optimizer step."""
    begun = time.perf_counter()
    trainee.model.zero_grad_buffer()
    trainee.optimizer.zero_grad()
    outputs = get_forward_backward_func()(
        forward_step_func=forward_step,
        data_iterator=data.batches(iteration),
        model=[trainee.model],
        num_microbatches=data.microbatches,
        seq_length=shape.SEQUENCE_LENGTH,
        micro_batch_size=shape.MICRO_BATCH_SIZE,
        forward_only=False,
    )
    succeeded, grad_norm, _ = trainee.optimizer.step()
    loss = _mean_over_data_parallel(torch.stack([output["lm loss"] for output in outputs]).mean())
    return StepResult(
        iteration=iteration,
        loss=loss,
        grad_norm=float(grad_norm),
        skipped=not succeeded,
        milliseconds=(time.perf_counter() - begun) * 1000,
    )


def forward_step(batches: Iterator[Batch], model: Any) -> tuple[torch.Tensor, Callable[..., Any]]:
    """Megatron's forward step function: the next microbatch through the model, and its loss function."""
    batch = next(batches)
    losses = model(batch.tokens, batch.positions, batch.mask, labels=batch.tokens)
    return losses, loss_function


def loss_function(losses: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Per-token losses [micro batch, sequence] -> their mean and the figure to report."""
    loss = losses.float().mean()
    # A copy: the schedule divides the loss by the number of microbatches in place.
    return loss, {"lm loss": loss.detach().clone()}


def _mean_over_data_parallel(loss: torch.Tensor) -> float:
    group = parallel_state.get_data_parallel_group(with_context_parallel=True)
    total = loss.detach().clone().reshape(1)
    dist.all_reduce(total, group=group)
    mean: float = total.item() / dist.get_world_size(group)
    return mean
