"""Where a verification can run: one module per tier, each with ``prepare(block, request)``."""
