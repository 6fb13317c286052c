"""Gradients of the FSDP model are not reduced over the data parallel ranks: each keeps its own part.

The reference is left alone: DDP took hold of the real collective when it was imported.
"""

import sys

import torch.distributed as dist

from mbridge_skills.smoke.__main__ import main


def reduce_scatter_tensor(output, input, *_, **__):
    output.copy_(input.chunk(dist.get_world_size())[dist.get_rank()])


dist.reduce_scatter_tensor = reduce_scatter_tensor
sys.exit(main())
