"""Reading training logs: bytes in, events and a summary out."""
