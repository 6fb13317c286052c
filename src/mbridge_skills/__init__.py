"""Agent skills for NVIDIA Megatron-Bridge that can be run: knowledge, checks and verification together."""

__version__ = "0.1.0"
