"""The size of the smoke model and of its batches: small enough for two CPU cores, large enough to shard."""

from __future__ import annotations

NUM_LAYERS = 2
HIDDEN_SIZE = 64
NUM_ATTENTION_HEADS = 4
VOCABULARY = 128
SEQUENCE_LENGTH = 32
MICRO_BATCH_SIZE = 2
LEARNING_RATE = 1e-3
