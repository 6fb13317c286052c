"""Launch scripts in bash and for Slurm. They are parsed and followed as far as they decide; nothing is
run."""

from __future__ import annotations

from mbridge_skills.readers.shell.reader import read_shell

__all__ = ["read_shell"]
