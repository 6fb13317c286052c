"""One view of a training configuration, whatever it was written in: dotted path -> value or unknown."""
