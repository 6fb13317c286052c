"""Checking files: readers -> configurations -> gotchas -> located findings -> reporters."""
