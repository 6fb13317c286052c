"""Which gotcha explains the failure that a log shows."""
