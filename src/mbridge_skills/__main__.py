"""Entry point of ``skill``, ``mbridge-skills`` and ``python -m mbridge_skills``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    from mbridge_skills.cli.main import run

    sys.exit(run())


if __name__ == "__main__":
    main()
