"""Synthetic batches: the same tokens for the same seed, iteration, microbatch and data parallel rank,
on every device and in every phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from mbridge_skills.smoke import shape

DEFAULT_SEED = 1234


@dataclass(frozen=True)
class Batch:
    """One microbatch. ``tokens`` and ``positions`` are [micro batch, sequence / cp], int64;
    ``mask`` is [1, 1, sequence, sequence], True where attention is not allowed."""

    tokens: torch.Tensor
    positions: torch.Tensor
    mask: torch.Tensor


@dataclass(frozen=True)
class DataSource:
    """Makes the batches of one rank."""

    device: torch.device
    data_parallel_rank: int
    microbatches: int
    seed: int
    cp_size: int = 1
    cp_rank: int = 0

    def batches(self, iteration: int) -> Iterator[Batch]:
        """The microbatches of ``iteration`` (which counts from 1) for this rank."""
        length = shape.SEQUENCE_LENGTH
        mask = torch.triu(torch.ones(1, 1, length, length, dtype=torch.bool), 1).to(self.device)
        positions = torch.arange(length).unsqueeze(0).expand(shape.MICRO_BATCH_SIZE, -1)
        for microbatch in range(self.microbatches):
            tokens = self._tokens(iteration, microbatch)
            yield Batch(self._mine(tokens), self._mine(positions), mask)

    def _tokens(self, iteration: int, microbatch: int) -> torch.Tensor:
        offset = (iteration - 1) * 1000 + microbatch * 10 + self.data_parallel_rank
        generator = torch.Generator("cpu").manual_seed(offset + self.seed - DEFAULT_SEED)
        size = (shape.MICRO_BATCH_SIZE, shape.SEQUENCE_LENGTH)
        return torch.randint(0, shape.VOCABULARY, size, generator=generator)

    def _mine(self, whole: torch.Tensor) -> torch.Tensor:
        """This context parallel rank's part of the sequence: chunk r and its mirror, as causal attention
        under Megatron's context parallelism expects (both halves together cost every rank the same)."""
        if self.cp_size > 1:
            chunks = whole.chunk(2 * self.cp_size, dim=1)
            whole = torch.cat([chunks[self.cp_rank], chunks[2 * self.cp_size - 1 - self.cp_rank]], dim=1)
        return whole.contiguous().to(self.device)
