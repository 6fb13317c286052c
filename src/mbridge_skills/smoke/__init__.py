"""The smoke program: trains a small GPT with real Megatron-Core FSDP. The only place that imports torch.

Started by torchrun, one process per rank: ``python -m torch.distributed.run ... -m mbridge_skills.smoke``.
"""
