"""The smoke program's options: which layout to train, for how long, on which device."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from mbridge_skills.errors import InputError

STRATEGIES = ("no_shard", "optim", "optim_grads", "optim_grads_params")
CHECKPOINT_FORMATS = ("fsdp_dtensor", "torch_dist")


@dataclass(frozen=True)
class Options:
    """What to run. Sizes count ranks; the data parallel size follows from the world size."""

    device: str  # cpu: the CPU device layer over gloo; cuda: GPUs over NCCL
    beside_cuda: bool
    card: Path  # where the recommended settings come from
    work: Path  # an existing folder for checkpoints
    strategy: str | None  # None: the card's
    ckpt_format: str | None  # None: the card's
    tp: int
    cp: int
    ep: int
    experts: int  # 0: a dense model
    dispatcher: str
    transformer_impl: str
    microbatches: int
    iterations: int
    dtype: str  # fp32 or bf16
    seed: int


def parse(argv: Sequence[str] | None = None) -> Options:
    """Read the command line (default: this process's).

    Raises:
        InputError: an option is unknown, has a wrong value, or does not go with another.
    """
    options = Options(**vars(_parser().parse_args(argv)))
    if options.iterations < 2:
        raise InputError("--iterations must be at least 2: a checkpoint is saved half-way")
    if options.ep > 1 and not options.experts:
        raise InputError("--ep needs a mixture of experts", remedy="give --experts as well")
    if options.experts % options.ep:
        raise InputError(f"--experts={options.experts} is not divisible by --ep={options.ep}")
    return options


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Let the caller decide what becomes of a wrong option."""
        raise InputError(message, remedy=f"python -m {self.prog} --help lists the options")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="mbridge_skills.smoke",
        description="Train a small GPT with Megatron FSDP and a DDP reference.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--device", choices=("cpu", "cuda"), required=True, help="cpu: simulated, over gloo; cuda: over NCCL")
    add("--beside-cuda", action="store_true", help="simulate on the CPU although CUDA is available")
    add("--card", type=Path, required=True, help="card.yaml with the recommended settings")
    add("--work", type=Path, required=True, help="folder for checkpoints")
    add("--strategy", choices=STRATEGIES, help="data parallel sharding strategy (default: the card's)")
    add("--ckpt-format", choices=CHECKPOINT_FORMATS, help="checkpoint format (default: the card's)")
    add("--tp", type=_size, default=1, help="tensor parallel size")
    add("--cp", type=_size, default=1, help="context parallel size (needs Transformer Engine)")
    add("--ep", type=_size, default=1, help="expert parallel size")
    add("--experts", type=int, default=0, help="number of experts; 0: a dense model")
    add("--dispatcher", choices=("allgather", "alltoall"), default="allgather", help="MoE token dispatcher")
    add(
        "--transformer-impl",
        choices=("local", "transformer_engine"),
        default="local",
        help="layers: Megatron-Core's own, or Transformer Engine's (GPU only)",
    )
    add("--microbatches", type=_size, default=1, help="microbatches per iteration")
    add("--iterations", type=int, default=8, help="iterations to train")
    add("--dtype", choices=("fp32", "bf16"), default="fp32", help="parameter dtype")
    add("--seed", type=int, default=1234, help="seed of weights and data")
    return parser


def _size(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value
