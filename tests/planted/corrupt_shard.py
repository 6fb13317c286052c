"""One shard of the checkpoint is damaged after it was written."""

import sys

import torch.distributed as dist

from mbridge_skills.smoke import checkpoint
from mbridge_skills.smoke.__main__ import main

real_save = checkpoint.save


def save(trainee, folder, ckpt_format):
    real_save(trainee, folder, ckpt_format)
    if dist.get_rank() == 0:
        shard = max(folder.glob("*.distcp"), key=lambda path: path.stat().st_size)
        data = bytearray(shard.read_bytes())
        middle = len(data) // 2
        data[middle : middle + 4096] = bytes(byte ^ 0x3F for byte in data[middle : middle + 4096])
        shard.write_bytes(data)
    dist.barrier()


checkpoint.save = save
sys.exit(main())
